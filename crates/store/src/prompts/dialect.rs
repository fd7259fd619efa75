//! The placeholder syntaxes of prompts.

use serde::{Deserialize, Serialize};

use crate::engine::Row;
use mcpkg_base::error::Result;

/// The agent that a template's placeholders belong to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Claude Code: `$0` is the first word, `$name` one that front matter names.
    Claude,
    /// OpenCode: `$1` is the first word, the highest number takes all that is left.
    OpenCode,
}

impl Dialect {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::OpenCode => "opencode",
        }
    }

    /// Reads a column that the schema checks.
    pub(super) fn from_row(row: &Row<'_>, column: usize) -> Result<Option<Self>> {
        let word: Option<&str> = row.get(column)?;
        Ok([Self::Claude, Self::OpenCode].into_iter().find(|dialect| word == Some(dialect.word())))
    }
}
