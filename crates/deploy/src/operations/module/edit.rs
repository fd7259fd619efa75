//! Changes the settings of a module, for `set` and `add`.

use crate::module::Kind;
use crate::project::catalog;
use crate::project::stored_module::{Item, StoredModule};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::Db;
use mcpkg_store::modules::{self, Row};
use mcpkg_store::projects::Project;

/// Changes the type of a module. Fails if the module cannot have this type.
pub(super) fn set_kind(module: &StoredModule, row: &mut Row, kind: Kind) -> Result<()> {
    let what = format!("Module '{}'", module.id);
    let source = module.parts.first().map(|part| &part.source);
    let (default, allowed) = match source {
        Some(Item::Prompt(prompt)) if prompt.attributes.template && kind == Kind::Instructions => {
            return Err(unfit(&format!("{what}, a template,"), kind, "command or prompt"));
        }
        Some(Item::Prompt(_)) => (Some(Kind::Command), &[Kind::Command, Kind::Prompt, Kind::Instructions][..]),
        _ if module.kind == Kind::Skill => (Some(Kind::Skill), &[Kind::Skill][..]),
        _ if module.kind == Kind::Subagent => (Some(Kind::Subagent), &[Kind::Subagent][..]),
        _ if module.is_added() => (None, &[Kind::Instructions, Kind::Prompt][..]),
        _ => (Some(Kind::Instructions), &[Kind::Instructions, Kind::Prompt][..]),
    };
    if !allowed.contains(&kind) {
        let words: Vec<_> = allowed.iter().map(|kind| kind.word()).collect();
        return Err(unfit(&what, kind, &words.join(" or ")));
    }
    row.kind = Some(kind).filter(|kind| Some(*kind) != default).map(|kind| kind.word().to_owned());
    Ok(())
}

/// Returns the error for a type that a module cannot have.
pub(super) fn unfit(what: &str, kind: Kind, instead: &str) -> Error {
    Error::new(Code::InvalidArgument, format!("{what} cannot have the type {}; it can be {instead}", kind.word()))
}

/// Stores a module's settings. Deletes the row if it contains only defaults.
pub(super) fn keep(db: &Db<'_>, project: &Project, row: &Row) -> Result<StoredModule> {
    if *row == (Row { item: row.item.clone(), enabled: true, ..Row::default() }) {
        modules::delete(db, project.id, &row.item)?;
    } else {
        modules::put(db, project.id, row)?;
    }
    written(db, project, row)
}

/// Returns the module after the write. Fails if another module has the same id, because the list of modules then omits
/// this module.
pub(super) fn written(db: &Db<'_>, project: &Project, row: &Row) -> Result<StoredModule> {
    let (listed, _) = catalog::list(db, project)?;
    listed.into_iter().find(|module| module.row.item == row.item).ok_or_else(|| {
        Error::new(Code::AlreadyExists, "Another module of this type already uses this name; nothing was changed")
            .hint("`mcpkg module list` shows the other module")
    })
}
