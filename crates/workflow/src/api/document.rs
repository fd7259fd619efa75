//! Reads an OpenAPI document, and keeps its text so that errors can point to lines.
//!
//! The document stays a plain JSON value. Rust types would not fit: real documents omit required fields and have unknown ones.

use std::path::Path;

use serde_json::Value;

use super::files;
use super::parse::parse;
use super::places::{Format, Parsed, Part};
use super::swagger;
use super::violation::{Fault, Rule, Violation, invalid, placed};
use mcpkg_base::error::Result;

/// A parsed document.
#[derive(Debug)]
pub struct Document {
    text: String,
    format: Format,
    value: Value,
    files: Vec<Part>,
    /// The version of OpenAPI or Swagger.
    version: String,
}

impl Document {
    /// Reads a document. `from` names the document in messages. If the document is a file, mcpkg also reads the files that it
    /// refers to, if they are in the document's folder or below.
    pub fn read(from: &str, bytes: Vec<u8>, path: Option<&Path>) -> Result<Self> {
        let refused = |violation: Violation| invalid(from, &[violation]);
        let (text, format, value) = parse(bytes).map_err(refused)?;
        let mut document = Self { version: written_in(&value), value, text, format, files: Vec::new() };
        if let Some(fault) = document.version_fault() {
            return Err(invalid(from, &document.placed(&[(fault, None)])));
        }
        if let Some(path) = path {
            document.files = files::gather(&mut document.value, path);
        }
        if document.value.get("swagger").is_some() {
            document.value = swagger::converted(&document.value);
        }
        Ok(document)
    }

    /// Returns the other files that the document refers to.
    pub fn files(&self) -> &[Part] {
        &self.files
    }

    /// Adds line numbers to faults. Each fault may name the operation that is skipped because of it.
    pub fn placed(&self, faults: &[(Fault<'_>, Option<String>)]) -> Vec<Violation> {
        placed(Parsed { text: &self.text, format: self.format, value: &self.value }, &self.files, faults)
    }

    pub fn value(&self) -> &Value {
        &self.value
    }

    /// Returns the version of OpenAPI, such as `3.1.0`, or of Swagger, such as `2.0`.
    pub fn openapi(&self) -> String {
        self.version.clone()
    }

    /// Returns a fault if the version is missing or unsupported.
    fn version_fault(&self) -> Option<Fault<'_>> {
        let fault = |message: String, at| Some(Fault { rule: Rule::OpenapiVersion, message, at });
        let root = &self.value;
        if let Some(swagger) = root.get("swagger") {
            return match version(swagger).as_deref() {
                Some("2.0") => None,
                other => fault(format!("it is Swagger {}", other.unwrap_or_default()), swagger),
            };
        }
        match root.get("openapi") {
            None => fault("it does not declare `openapi: 3.x`".to_owned(), root),
            Some(openapi) => match version(openapi) {
                Some(text) if ["3.0", "3.1", "3.2"].iter().any(|known| is_of(&text, known)) => None,
                other => fault(format!("it is OpenAPI {}", other.unwrap_or_default()), openapi),
            },
        }
    }
}

fn written_in(root: &Value) -> String {
    root.get("swagger").or(root.get("openapi")).and_then(version).unwrap_or_default()
}

/// Returns whether a version is `known` or one of its patch releases.
fn is_of(version: &str, known: &str) -> bool {
    version.strip_prefix(known).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns a version as text; YAML parses `3.1` as a number.
fn version(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;

    fn refused(bytes: &[u8]) -> String {
        let error = Document::read("x", bytes.to_vec(), None).expect_err("refused");
        assert_eq!(error.code(), Code::CatalogInvalid);
        error.message().to_owned()
    }

    #[test]
    fn a_file_that_is_no_api_description_is_refused_with_the_position() {
        for (bytes, says) in [
            (&b""[..], "1:1: syntax: it is empty"),
            (b"\n \n", "it is empty"),
            (b"{\n  \xff", "2:3: syntax: it is not UTF-8 text"),
            (b"{\"openapi\": \"3.0.0\",}", "1:21: syntax: it is not valid JSON: trailing comma"),
            (
                b"openapi: 3.0.0\n\tx: [",
                "1:10: syntax: it is not valid YAML: while scanning a plain scalar, found a tab",
            ),
            (b"[]", "1:1: openapi_version: it does not declare"),
            (b"hello", "openapi_version"),
            (b"{\"swagger\": \"1.2\"}", "1:13: openapi_version: it is Swagger 1.2"),
            (b"openapi: 4.0.0\npaths: {}\n", "1:10: openapi_version: it is OpenAPI 4.0.0"),
            (b"openapi: 3.10.0\n", "it is OpenAPI 3.10.0"),
            (b"a: &a [x, x]\nb: *missing\n", "syntax"),
        ] {
            let message = refused(bytes);
            assert!(message.contains(says), "{}: {message}", String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn depth_and_aliases_are_bounded() {
        for deep in ["[".repeat(5000), format!("openapi: {}", "[".repeat(5000))] {
            assert!(refused(deep.as_bytes()).contains("syntax"));
        }
        let mut bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for n in 1..12 {
            let alias = format!("*a{}", n - 1);
            bomb.push_str(&format!("a{n}: &a{n} [{}]\n", [&*alias; 10].join(", ")));
        }
        assert!(refused(bomb.as_bytes()).contains("syntax"));
    }

    #[test]
    fn each_known_version_is_read_in_both_forms() {
        for version in ["3.0.0", "3.0.4", "3.1.1", "3.2.0"] {
            for text in [format!("{{\"openapi\": \"{version}\"}}"), format!("\u{feff}openapi: {version}\n")] {
                assert_eq!(Document::read("x", text.into_bytes(), None).expect("a document").openapi(), version);
            }
        }
        assert_eq!(Document::read("x", b"openapi: 3.1\n".to_vec(), None).expect("a document").openapi(), "3.1");
    }
}
