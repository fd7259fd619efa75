//! Renders a workflow definition as canonical YAML: equal definitions give the same bytes.

use super::definition::Definition;
use mcpkg_base::error::{Error, Result};

/// Renders a definition as YAML. Null, empty and default values are omitted, `inputs`, `with` and `body` keep the author's
/// order, and there is no final newline.
pub fn rendered(definition: &Definition) -> Result<String> {
    let options = serde_saphyr::ser_options! {
        compact_list_indent: false,
        // Never wrap a template: findings point to positions inside it.
        folded_wrap_chars: 1_000_000,
    };
    let mut text = serde_saphyr::to_string_with_options(definition, options)
        .map_err(|error| Error::internal("a workflow cannot be written as YAML").with_source(error))?;
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}
