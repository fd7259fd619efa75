//! Converts a command's answer to a text that is the same in every run.

use serde_json::{Value, json};

use crate::deploy::place::Place;

impl Place {
    /// Returns the data and warnings of a command that must succeed. Each member and each list element has its own
    /// line. Everything that differs between runs is removed or replaced.
    #[track_caller]
    pub fn golden(&self, arguments: &[&str]) -> String {
        let envelope = self.envelope(arguments);
        assert_eq!(envelope["ok"], true, "mcpkg {}\n{envelope:#}", arguments.join(" "));
        let mut shown = serde_json::json!({ "command": envelope["command"], "data": envelope["data"] });
        if envelope["warnings"] != json!([]) {
            shown["warnings"] = envelope["warnings"].clone();
        }
        self.clean("", &mut shown);
        let mut text = String::new();
        render(&shown, "", &mut text);
        text
    }

    fn clean(&self, key: &str, value: &mut Value) {
        match value {
            Value::Object(members) => members.iter_mut().for_each(|(key, value)| self.clean(key, value)),
            Value::Array(values) => values.iter_mut().for_each(|value| self.clean(key, value)),
            Value::String(text) => {
                *text = match key {
                    "confirm_token" => "<TOKEN>".to_owned(),
                    "confirm_plan_hash" => "<HASH>".to_owned(),
                    "confirm_token_expires_at" | "created_at" => "<TIME>".to_owned(),
                    "branch" => text.rsplit_once('-').map_or(text.clone(), |(name, _)| format!("{name}-<TIME>")),
                    _ => self.cleaned(text),
                }
            }
            _ => {}
        }
    }

    /// Replaces the scratch folder and the database's location, hides ids, and shortens hashes.
    fn cleaned(&self, text: &str) -> String {
        let folder = self.scratch.path().display().to_string();
        let (prefix, hash) = text.split_at(text.strip_prefix("sha256:").map_or(0, |_| 7));
        if hash.len() == 64 && hash.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return format!("{prefix}{}", &hash[..8]);
        }
        if text.len() == 36 && text.bytes().filter(|byte| *byte == b'-').count() == 4 {
            return "<ID>".to_owned();
        }
        let text = text.replace(&self.scratch.db().display().to_string(), "<SCRATCH>/test.db");
        let text = text.replace(&format!("{folder}/root"), "<ROOT>").replace(&format!("{folder}/home"), "<HOME>");
        text.replace(&format!("{folder}/repo"), "<REPO>").replace(&folder, "<SCRATCH>")
    }
}

/// Writes a value with one line for each member, and for each element of a list of objects.
fn render(value: &Value, indent: &str, text: &mut String) {
    for (key, value) in value.as_object().expect("an object") {
        let is_list = value.as_array().is_some_and(|values| values.iter().any(Value::is_object));
        let is_deep = value.as_object().is_some_and(|members| {
            members.values().any(|value| value.is_object() || value.as_array().is_some_and(|list| !list.is_empty()))
        });
        if is_list {
            text.push_str(&format!("{indent}{key}:\n"));
            value.as_array().into_iter().flatten().for_each(|value| text.push_str(&format!("{indent}  {value}\n")));
        } else if is_deep || key == "data" {
            text.push_str(&format!("{indent}{key}:\n"));
            render(value, &format!("{indent}  "), text);
        } else {
            text.push_str(&format!("{indent}{key}: {value}\n"));
        }
    }
}
