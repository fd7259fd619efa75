//! The source of commands that were imported: rows of the database, and nothing else.

use super::catalog::Catalog;
use crate::error::Result;
use crate::op::Context;
use crate::store::catalogs;
use crate::workflow::source::{Brief, CommandSource};
use crate::workflow::spec::{CommandEffect, CommandSpec, SourceKind};

/// The commands of all catalogs.
#[derive(Clone, Copy, Debug)]
pub struct Catalogs;

impl CommandSource for Catalogs {
    fn kind(&self) -> SourceKind {
        SourceKind::Catalogs
    }

    fn stamp(&self, context: &Context) -> Result<String> {
        context.store.read(catalogs::stamp)
    }

    fn briefs(&self, context: &Context) -> Result<Vec<Brief>> {
        context.store.read(|db| {
            let mut briefs = Vec::new();
            catalogs::briefs(db, |row| {
                briefs.push(Brief {
                    id: row.id.to_owned(),
                    summary: row.summary.to_owned(),
                    words: row.words.to_owned(),
                    aliases: serde_json::from_str(row.aliases).unwrap_or_default(),
                    effect: match row.effect {
                        "read" => CommandEffect::Read,
                        "write" => CommandEffect::Write,
                        _ => CommandEffect::Destroy,
                    },
                    deprecated: row.deprecated,
                    lists: row.lists,
                });
                Ok(())
            })?;
            Ok(briefs)
        })
    }

    fn spec(&self, context: &Context, id: &str) -> Result<Option<CommandSpec>> {
        Ok(find(context, id)?.map(|(_, spec)| spec))
    }
}

/// Returns the command of an id with its catalog, as [`super::call::call`] takes them.
///
/// # Errors
/// `E_DAMAGED`, `E_DB_BUSY`, `E_DB_CORRUPT`, `E_STORAGE`.
pub fn find(context: &Context, id: &str) -> Result<Option<(Catalog, CommandSpec)>> {
    let Some((catalog, row)) = context.store.read(|db| catalogs::find(db, id))? else { return Ok(None) };
    let catalog = Catalog::of(catalog)?;
    let spec = catalog.command(&row)?;
    Ok(Some((catalog, spec)))
}
