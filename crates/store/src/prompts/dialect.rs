//! The placeholder syntaxes of prompts.

use serde::{Deserialize, Serialize};

use crate::engine::Row;
use mcpkg_base::error::Result;

/// The agent whose placeholder syntax a template uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dialect {
    /// Claude Code: `$0` is the first word, and `$name` an argument that the front matter declares.
    Claude,
    /// OpenCode: `$1` is the first word, and the highest number takes the rest of the line.
    OpenCode,
}

impl Dialect {
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::OpenCode => "opencode",
        }
    }

    /// Reads the dialect from its column. The schema allows only the words of these dialects.
    pub(super) fn from_row(row: &Row<'_>, column: usize) -> Result<Option<Self>> {
        let word: Option<&str> = row.get(column)?;
        Ok([Self::Claude, Self::OpenCode].into_iter().find(|dialect| word == Some(dialect.word())))
    }
}
