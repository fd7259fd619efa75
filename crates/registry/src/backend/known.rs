//! The registries in the database, in the order in which they are asked.

use std::path::Path;

use super::directory::Directory;
use super::http::Http;
use super::local::Local;
use super::registry::Registry;
use crate::backend::approval::Use;
use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::Context;
use mcpkg_store::tools::registries::{self, Kind, LOCAL, Place, RegistryRow};

/// The priority of this database. Registries with a lower number are asked before this database, all others after it.
pub const LOCAL_PRIORITY: i64 = 0;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    pub name: String,
    /// The location; `None` for this database.
    pub place: Option<Place>,
    /// When it was added; `None` for this database.
    pub added_at: Option<Millis>,
}

impl Known {
    pub fn all(context: &Context) -> Result<Vec<Self>> {
        let rows = context.store.read(registries::list)?;
        let mut known: Vec<Self> = rows.into_iter().map(Self::of).collect();
        let before = known.iter().take_while(|known| known.priority() < LOCAL_PRIORITY).count();
        known.insert(before, Self::local());
        Ok(known)
    }

    pub fn named(context: &Context, name: &str) -> Result<Self> {
        match name {
            LOCAL => Ok(Self::local()),
            name => Ok(Self::of(context.store.read(|db| registries::get(db, name))?)),
        }
    }

    /// Returns the registry called `name`; without a name, all registries.
    pub fn meant(context: &Context, name: Option<&str>) -> Result<Vec<Self>> {
        match name {
            Some(name) => Ok(vec![Self::named(context, name)?]),
            None => Self::all(context),
        }
    }

    /// Returns this database as a registry.
    pub fn local() -> Self {
        Self { name: LOCAL.to_owned(), place: None, added_at: None }
    }

    fn of(row: RegistryRow) -> Self {
        Self { name: row.place.name.clone(), place: Some(row.place), added_at: Some(row.added_at) }
    }

    /// Returns the priority; the registry with the lowest number is asked first.
    pub fn priority(&self) -> i64 {
        self.place.as_ref().map_or(LOCAL_PRIORITY, |place| place.priority)
    }

    pub fn is_remote(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.kind == Kind::Http)
    }

    /// Opens the registry, if this user approved it on this machine.
    ///
    /// # Errors
    /// `E_UNAPPROVED` if the user has not approved the registry and cannot be asked; `E_CONFIRM_REQUIRED` if a person
    /// refuses to approve it; `E_INVALID_ARGUMENT` for an invalid URL.
    pub fn open<'c>(&self, context: &'c Context) -> Result<Box<dyn Registry + 'c>> {
        let Some(place) = &self.place else { return Ok(Box::new(Local::new(context))) };
        Use(place).require(context)?;
        Ok(match place.kind {
            Kind::Directory => Box::new(Directory::new(context, &self.name, Path::new(&place.location))),
            Kind::Http => Box::new(Http::new(context, place)?),
        })
    }
}
