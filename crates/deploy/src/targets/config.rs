//! Holds the configuration of a target in a config repo or a project.

use serde_json::{Map, Value};

use super::target::Target;

/// Which table of paths applies to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// The paths that agentpack, the original tool of contract 000, writes to. Config repos expect these paths.
    Original,
    /// The paths that agents read today.
    Current,
}

#[derive(Clone, Debug)]
pub struct TargetConfig {
    pub target: Target,
    /// Whether files are written to the user's own folders.
    pub user: bool,
    /// Whether files are written below the deploy root.
    pub project: bool,
    pub layout: Layout,
    /// The options, named as in agentpack.yaml.
    pub options: Map<String, Value>,
}

impl TargetConfig {
    /// Returns the option `name` if it is a boolean, 0 or 1, or a word for a boolean; else `default`.
    pub fn flag(&self, name: &str, default: bool) -> bool {
        match self.options.get(name) {
            Some(Value::Bool(value)) => *value,
            Some(Value::Number(number)) if number.as_i64() == Some(1) => true,
            Some(Value::Number(number)) if number.as_i64() == Some(0) => false,
            Some(Value::String(text)) => match text.trim().to_ascii_lowercase().as_str() {
                "true" | "yes" | "1" => true,
                "false" | "no" | "0" => false,
                _ => default,
            },
            _ => default,
        }
    }

    /// Returns the option `name` if it is a text and not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        self.options.get(name)?.as_str().filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn options_that_are_not_booleans_take_the_default() {
        let options = json!({ "on": "Yes", "off": 0, "odd": 7, "path": "/c", "empty": "" });
        let Value::Object(options) = options else { unreachable!("it is an object") };
        let config =
            TargetConfig { target: Target::all()[0], user: true, project: true, layout: Layout::Original, options };
        assert!(config.flag("on", false) && !config.flag("off", true));
        assert!(config.flag("odd", true) && !config.flag("odd", false) && config.flag("gone", true));
        assert_eq!((config.text("path"), config.text("empty"), config.text("gone")), (Some("/c"), None, None));
    }
}
