//! Which tools a variable is set for: by the patterns that trust is narrowed with.

pub use crate::registry::trust::pattern::{check, matches};
