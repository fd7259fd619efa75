//! A definition as text: the same definition always gives the same bytes.

use super::definition::Definition;
use mcpkg_base::error::{Error, Result};

/// Returns a definition as YAML: its fields in their order, the author's order in `inputs`, `with` and `body`; nothing that is
/// null, empty or usual. There is no line end after the last line.
pub fn rendered(definition: &Definition) -> Result<String> {
    let options = serde_saphyr::ser_options! {
        compact_list_indent: false,
        // A template stays on one line however long it is, so that what is found in it has a place.
        folded_wrap_chars: 1_000_000,
    };
    let mut text = serde_saphyr::to_string_with_options(definition, options)
        .map_err(|error| Error::internal("a workflow cannot be written as YAML").with_source(error))?;
    text.truncate(text.trim_end_matches('\n').len());
    Ok(text)
}
