//! Parses the JSON or YAML text of an API document.

use serde_json::Value;

use super::places::{self, Format};
use super::violation::{Rule, Violation};

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
        Format::Json => json(&text),
        Format::Yaml => yaml(&text),
    };
    Ok((text, format, value?))
}

fn json(text: &str) -> Result<Value, Violation> {
    serde_json::from_str(text).map_err(|error| {
        let why = error.to_string();
        let why = why.split(" at line ").next().unwrap_or(&why).to_owned();
        Violation::of_text(Rule::Syntax, format!("it is not valid JSON: {why}"), error.line(), error.column().max(1))
    })
}

fn yaml(text: &str) -> Result<Value, Violation> {
    let options = serde_saphyr::options! {
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            flow_nesting_limit: DEEPEST,
            max_nodes: MOST_NODES,
            max_events: 2 * MOST_NODES,
            max_documents: 1,
        },
        alias_limits: serde_saphyr::alias_limits! { max_total_replayed_events: MOST_NODES },
        strict_booleans: true,
        with_snippet: false,
    };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let place = error.location().unwrap_or(serde_saphyr::Location::UNKNOWN);
        let number = |number: u64| usize::try_from(number).unwrap_or_default().max(1);
        let why = error.to_string();
        let why = why.lines().next().unwrap_or_default();
        // The message begins with a position that the violation reports itself.
        let why = why.strip_prefix("error: line ").and_then(|rest| rest.split_once(": ")).map_or(why, |(_, why)| why);
        let why = why.split(" at line ").next().unwrap_or(why);
        let (line, column) = (number(place.line()), number(place.column()));
        Violation::of_text(Rule::Syntax, format!("it is not valid YAML: {why}"), line, column)
    })
}
