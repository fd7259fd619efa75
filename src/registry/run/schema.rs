//! What of a value does not fit a JSON Schema.

use jsonschema::PatternOptions;
use serde_json::Value;

use crate::error::{Code, Error, Result};

/// The most misfits that are told of one value.
const MOST: usize = 50;

/// Returns what of `value` does not fit `schema`, each with its path.
///
/// # Errors
/// `E_TOOL_OUTPUT` where the schema itself is none.
pub fn errors(schema: &Value, value: &Value) -> Result<Vec<(String, String)>> {
    let options = jsonschema::options().offline().with_pattern_options(PatternOptions::regex());
    let validator = options
        .build(schema)
        .map_err(|error| Error::new(Code::ToolOutput, format!("The tool's output schema cannot be used: {error}")))?;
    let misfits = validator.iter_errors(value).take(MOST);
    Ok(misfits.map(|error| (error.instance_path().as_str().to_owned(), error.to_string())).collect())
}
