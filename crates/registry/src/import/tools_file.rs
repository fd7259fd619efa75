//! Reads `tools.json`, `skills.json` and `mcp.json` of Enact, the program that contract 002 describes: the installed
//! tools, their aliases, and toolsets.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::home::Text;
use super::plan::LeftOut;
use mcpkg_base::error::Result;

/// The contents of `tools.json`, `skills.json` or `mcp.json`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ToolsFile {
    /// Tool names and their versions.
    pub tools: BTreeMap<String, String>,
    pub aliases: BTreeMap<String, String>,
    pub toolsets: BTreeMap<String, Vec<String>>,
    /// The toolset that limits what agents see.
    pub active_toolset: Option<String>,
    #[serde(flatten)]
    other: Map<String, Value>,
}

/// A parsed file and its name.
pub type File = (ToolsFile, String);

impl ToolsFile {
    /// Reads `tools.json`, `skills.json` or `mcp.json`, and reports unknown keys.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` with the line and column if it is malformed; defaults are not used in that case.
    pub fn read(text: &Text, left: &mut Vec<LeftOut>) -> Result<Self> {
        let read: Self = serde_json::from_str(&text.text).map_err(|error| text.malformed(error))?;
        for key in read.other.keys() {
            left.push(LeftOut::new(format!("'{}'", key.escape_debug()), &text.name, "mcpkg has no such setting"));
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_base::error::Code;

    fn read(text: &str) -> Result<(ToolsFile, Vec<LeftOut>)> {
        let (name, path) = ("tools.json".to_owned(), "/home/me/.enact/tools.json".into());
        let mut left = Vec::new();
        ToolsFile::read(&Text { name, path, text: text.to_owned() }, &mut left).map(|read| (read, left))
    }

    #[test]
    fn x55_malformed_json_is_refused_with_its_position() {
        for (bad, place) in [
            ("{\"tools\": {\"a/b\": \"1.0.0\",}}", "line 1 column 27"),
            ("{\n\"tools\": [\"a/b\"]}", "line 2 column 9"),
            ("", "line 1 column 0"),
            ("{\"tools\": {\"a/b\": 1}}", "expected a string"),
        ] {
            let error = read(bad).expect_err(bad);
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(error.message().contains(place), "{bad}: {}", error.message());
        }
    }

    #[test]
    fn known_keys_are_read_and_unknown_keys_are_reported() {
        let text = r#"{"tools": {"a/b": "1.0.0"}, "aliases": {"b": "a/b"}, "toolsets": {"x": ["a/b"]}, "activeToolset": null,
                      "colour": "red"}"#;
        let (read, left) = read(text).expect("a file");
        assert_eq!((read.tools["a/b"].as_str(), read.aliases["b"].as_str()), ("1.0.0", "a/b"));
        assert_eq!((read.toolsets["x"].as_slice(), &read.active_toolset), (&["a/b".to_owned()][..], &None));
        assert_eq!(left.len(), 1);
        assert!(left[0].what.contains("colour"));
    }
}
