//! SHIM
use super::definition::Definition; use crate::error::Result;
pub fn rendered(d: &Definition) -> Result<String> { Ok(serde_json::to_string_pretty(d).unwrap_or_default()) }
