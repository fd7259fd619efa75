//! `mcpkg target`: chooses which agents `all` includes.

pub mod list;
pub mod switch;

use crate::targets::Target;
use mcpkg_base::error::{Code, Error, Result};

/// Finds a target by the name that a user typed.
pub(super) fn named(word: &str) -> Result<Target> {
    Target::named(word).ok_or_else(|| {
        let names = Target::all_names();
        let why = format!("No target is called '{}'; the targets are {}", word.escape_debug(), names.join(", "));
        Error::new(Code::TargetUnsupported, why).suggest(word, names.iter().copied(), "")
    })
}
