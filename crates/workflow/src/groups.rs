//! The names of groups: one name space of catalogs, plugins and what is mcpkg's own.

use super::{operations, tools};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_store::Db;
use mcpkg_store::catalogs;

/// The most characters of a group that somebody names.
pub const LONGEST: usize = 64;

/// Groups that are nobody's to name.
const RESERVED: [&str; 3] = [operations::GROUP, tools::GROUP, "workflow"];

/// Refuses a name that could be taken for something else, or is reserved. `what` says what the name is to be.
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

/// Whether the commands of a plugin cannot have this group, since others have.
pub fn is_taken(db: &Db<'_>, name: &str) -> Result<bool> {
    Ok(check(name, "group of commands").is_err() || catalogs::has_group(db, name)?)
}
