//! Creates a catalog from a document.

use super::{Read, check_groups, rows};
use crate::api::catalog::{ANSWER, Catalog, TIMEOUT};
use crate::api::fetch::Place;
use crate::api::import::Imported;
use crate::api::servers::Server;
use crate::groups;
use mcpkg_base::error::Result;
use mcpkg_base::http::{Reach, Url};
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::catalogs::{self, CommandRow};
use mcpkg_store::revisions::Author;

/// The options of an import.
#[derive(Debug)]
pub(super) struct Options {
    pub place: Place,
    /// The group of the catalog's commands; derived from the title if absent.
    pub prefix: Option<String>,
    /// The catalog's name. By default it is the group, or else derived from the title.
    pub name: Option<String>,
    /// The base URL; by default the first server of the document that mcpkg may call.
    pub base_url: Option<String>,
    /// Whether requests may go to private addresses.
    pub private: bool,
}

/// A catalog that is not stored yet.
#[derive(Debug)]
pub(super) struct NewCatalog {
    pub catalog: Catalog,
    pub imported: Imported,
    pub rows: Vec<CommandRow>,
}

impl NewCatalog {
    /// Reads a document, and makes a catalog from it.
    pub fn read(context: &Context, asked: Options) -> Result<Self> {
        for name in asked.prefix.iter().filter(|prefix| !prefix.is_empty()).chain(&asked.name) {
            groups::check(name, "group of commands")?;
        }
        let reach = if asked.private { Reach::Anywhere } else { Reach::Public };
        let read = Read::from(context, asked.place, reach)?;
        let prefix = asked.prefix.unwrap_or_else(|| read.name());
        let given = asked.name.or_else(|| Some(prefix.clone()).filter(|prefix| !prefix.is_empty()));
        let name = given.unwrap_or_else(|| read.name());
        let (imported, origin) = read.commands(&name, &prefix, &[])?;
        let is_asked = |server: &&Server| Url::parse(&server.url).is_some_and(|url| url.is_private());
        let served = || imported.servers.iter().find(is_asked).map(|server| server.url.clone());
        let now = context.clock.now();
        let catalog = Catalog {
            id: 0,
            name,
            prefix,
            title: imported.title.clone(),
            version: imported.version.clone(),
            openapi: imported.openapi.clone(),
            source: origin.place,
            sha256: origin.sha256,
            base_url: asked.base_url.or_else(served),
            servers: imported.servers.clone(),
            schemes: imported.schemes.clone(),
            headers: Default::default(),
            auth: Default::default(),
            private: asked.private,
            timeout: TIMEOUT,
            max_answer: ANSWER,
            imported_at: now,
            refreshed_at: now,
        };
        let rows = rows(&imported, &[])?;
        Ok(Self { catalog, imported, rows })
    }

    /// Refuses a name or a group that is in use, and reserved groups.
    pub fn check(&self, db: &Db<'_>) -> Result<()> {
        let name = &self.catalog.name;
        if catalogs::list(db)?.iter().any(|row| row.facts.name == *name) {
            return Err(catalogs::name_taken(name));
        }
        check_groups(db, 0, &self.imported)
    }

    pub fn keep(&self, context: &Context, db: &Db<'_>, author: Author<'_>) -> Result<()> {
        let id = catalogs::insert(db, &self.catalog.facts(), author.now)?;
        catalogs::replace(db, id, &self.rows)?;
        context.event(db, author, None, "catalog.import", &self.catalog.name)
    }
}
