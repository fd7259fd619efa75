//! Parses the JSON or YAML text of an API document.

use serde_json::Value;

use super::places::{self, Format};
use super::violation::{Rule, Violation};
use mcpkg_base::yaml;

pub const MOST_JSON: usize = 64 << 20;

pub const MOST_YAML: usize = 16 << 20;

/// Maximum number of YAML nodes after expanding aliases.
const MOST_NODES: usize = 4_000_000;

/// Maximum nesting of YAML values; serde_json has the same limit for JSON.
const DEEPEST: usize = 128;

/// Parses JSON or YAML. Returns the text without a byte order mark, its format and its value.
pub fn parse(bytes: Vec<u8>) -> Result<(String, Format, Value), Violation> {
    let text = String::from_utf8(bytes).map_err(|error| {
        let good = error.utf8_error().valid_up_to();
        let before = String::from_utf8_lossy(&error.as_bytes()[..good]).into_owned();
        let (line, column) = places::at(&before, before.len());
        Violation::of_text(Rule::Syntax, "it is not UTF-8 text", line, column)
    })?;
    let text = match text.strip_prefix('\u{feff}') {
        Some(rest) => rest.to_owned(),
        None => text,
    };
    let format = match text.trim_start().chars().next() {
        None => return Err(Violation::of_text(Rule::Syntax, "it is empty", 1, 1)),
        Some('{' | '[') => Format::Json,
        Some(_) => Format::Yaml,
    };
    let most = if format == Format::Json { MOST_JSON } else { MOST_YAML };
    if text.len() > most {
        let why = format!("it is {} bytes long; the limit is {most}", text.len());
        return Err(Violation::of_text(Rule::LimitExceeded, why, 0, 0));
    }
    let value = match format {
        Format::Json => in_json(&text),
        Format::Yaml => in_yaml(&text),
    };
    Ok((text, format, value?))
}

fn in_json(text: &str) -> Result<Value, Violation> {
    serde_json::from_str(text).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or(&why).to_owned();
        Violation::of_text(Rule::Syntax, format!("it is not valid JSON: {why}"), error.line(), error.column().max(1))
    })
}

fn in_yaml(text: &str) -> Result<Value, Violation> {
    let mut options = yaml::options(MOST_NODES);
    options.budget = serde_saphyr::budget! {
        max_depth: DEEPEST,
        flow_nesting_limit: DEEPEST,
        max_nodes: MOST_NODES,
        max_events: 2 * MOST_NODES,
        max_documents: 1,
    };
    yaml::read(text, options).map_err(|malformed| {
        let message = format!("it is not valid YAML: {}", malformed.why);
        Violation::of_text(Rule::Syntax, message, malformed.line(), malformed.column())
    })
}
