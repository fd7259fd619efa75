//! Validates the names of command groups. Catalogs, plugins and mcpkg's own commands share one namespace.

use super::{operations, tools};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::Db;
use mcpkg_store::catalogs;

/// Maximum length of a group name, in characters.
pub const LONGEST: usize = 64;

/// Group names that catalogs and plugins must not use.
const RESERVED: [&str; 3] = [operations::GROUP, tools::GROUP, "workflow"];

/// Refuses a name that is invalid or reserved. `what` describes the name in the error.
pub fn check(name: &str, what: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_' | '.');
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if RESERVED.contains(&name) {
        let why = format!("'{name}' cannot be used as a {what}: it is reserved for mcpkg's own commands");
        return Err(Error::new(Code::InvalidArgument, why).hint("choose another"));
    }
    if begins && name.len() <= LONGEST && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("'{}' is not a valid {what}", name.escape_debug()))
        .hint("use only a-z, 0-9, -, _ and ., as in `hosting`"))
}

/// Returns whether a plugin cannot use this group because it is invalid or reserved, or belongs to a catalog.
pub fn is_taken(db: &Db<'_>, name: &str) -> Result<bool> {
    Ok(check(name, "group of commands").is_err() || catalogs::has_group(db, name)?)
}
