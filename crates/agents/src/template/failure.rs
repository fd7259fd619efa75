//! Builds the errors of templates.

use minijinja::ErrorKind;

use mcpkg_base::error::{Code, Error};

/// Returns the error for a template that fails, with the line if it is known.
pub(super) fn failed(how: &str, error: &minijinja::Error) -> Error {
    let line = error.line();
    let place = line.map(|line| format!(" (line {line})")).unwrap_or_default();
    let why = match error.kind() {
        ErrorKind::OutOfFuel => "it takes too long to render".to_owned(),
        _ => error.detail().map_or_else(|| error.kind().to_string(), |detail| format!("{}: {detail}", error.kind())),
    };
    let failed = Error::new(Code::TemplateFailed, format!("The prompt template {how}: {why}{place}"));
    match line {
        Some(line) => failed.with_details(serde_json::json!({ "line": line })),
        None => failed,
    }
}
