//! Validates the manifest and the skills of an Agent Plugin (version 1.0.0 of the specification).

use serde_json::{Map, Value};

use mcpkg_agents::forms::matter;

/// The beginning of the schema URLs of all versions.
const SCHEMAS: &str = "https://agent-plugins.org/schemas/";
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";
pub(super) const VERSION: &str = "1.0.0";

/// The optional text fields of a manifest.
const TEXTS: [&str; 5] = ["version", "description", "homepage", "repository", "license"];

/// A `plugin.json` at the top of a folder.
pub enum Manifest {
    /// The manifest of an Agent Plugin, and notes about fields that are ignored.
    Valid(Vec<String>),
    /// A manifest that names a schema of Agent Plugins but violates it or is not valid JSON, for this reason.
    Rejected(String),
    /// A manifest that names no schema, so it may be a vendor's manifest.
    Plain(Map<String, Value>),
}

/// Reads a `plugin.json`. Returns `None` if it is another program's file.
pub fn read(text: &[u8]) -> Option<Manifest> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    let manifest = match serde_json::from_slice(text) {
        Ok(Value::Object(manifest)) => manifest,
        Ok(_) => return None,
        // Invalid JSON counts as an Agent Plugin's manifest only if it mentions one of the schemas.
        Err(error) => {
            let is_meant = std::str::from_utf8(text).is_ok_and(|text| text.contains(SCHEMAS));
            return is_meant.then(|| Manifest::Rejected(format!("it is not valid JSON ({error})")));
        }
    };
    match manifest.get("$schema") {
        None => Some(Manifest::Plain(manifest)),
        Some(Value::String(schema)) if schema.starts_with(SCHEMAS) => Some(match check(&manifest, schema) {
            Ok(notes) => Manifest::Valid(notes),
            Err(why) => Manifest::Rejected(why),
        }),
        Some(_) => None,
    }
}

fn check(manifest: &Map<String, Value>, schema: &str) -> Result<Vec<String>, String> {
    if schema != SCHEMA {
        return Err(other_version(schema, "plugin"));
    }
    match manifest.get("name") {
        Some(Value::String(name)) => check_name(name)?,
        Some(_) => return Err("its `name` is not a string".to_owned()),
        None => return Err("it has no `name`".to_owned()),
    }
    let mut notes = Vec::new();
    for (key, value) in manifest {
        match key.as_str() {
            "$schema" | "name" => {}
            key if TEXTS.contains(&key) && value.is_string() => {}
            key if TEXTS.contains(&key) => return Err(format!("its `{key}` is not a string")),
            "author" => check_author(value)?,
            "keywords" => {
                if !value.as_array().is_some_and(|words| words.iter().all(Value::is_string)) {
                    return Err("its `keywords` is not a list of strings".to_owned());
                }
            }
            "extensions" => match value {
                Value::Object(extensions) if extensions.values().all(Value::is_object) => {}
                Value::Object(_) => return Err("its `extensions` has a value that is not an object".to_owned()),
                _ => notes.push("has `extensions` that are not an object; agents ignore the field".to_owned()),
            },
            key => notes.push(format!(
                "has the unknown field `{}`, which agents ignore",
                key.chars().take(64).collect::<String>().escape_debug()
            )),
        }
    }
    Ok(notes)
}

/// Returns the reason to reject a file whose schema is not the one of version 1.0.0.
pub(super) fn other_version(schema: &str, name: &str) -> String {
    let version = schema.strip_prefix(SCHEMAS).and_then(|rest| rest.strip_suffix(&format!("/{name}.schema.json")));
    let is_version = |version: &&str| {
        !version.is_empty()
            && version.len() < 20
            && version.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'.' || b == b'-')
    };
    match version.filter(is_version) {
        Some(version) => format!("it targets Agent Plugins {version}, and mcpkg supports {VERSION}"),
        None => "its `$schema` is not one of Agent Plugins".to_owned(),
    }
}

fn check_author(author: &Value) -> Result<(), String> {
    let Value::Object(author) = author else { return Err("its `author` is not an object".to_owned()) };
    let is_known =
        |(key, value): (&String, &Value)| matches!(key.as_str(), "name" | "email" | "url") && value.is_string();
    match author.iter().all(is_known) {
        true => Ok(()),
        false => Err("its `author` may have only the texts `name`, `email` and `url`".to_owned()),
    }
}

fn check_name(name: &str) -> Result<(), String> {
    let is_letter = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit();
    let is_good = (1..=64).contains(&name.len())
        && name.bytes().all(|b| is_letter(b) || matches!(b, b'-' | b'.'))
        && name.bytes().next().is_some_and(is_letter)
        && name.bytes().last().is_some_and(is_letter)
        && !name.contains("--")
        && !name.contains("..");
    match is_good {
        true => Ok(()),
        false => {
            Err("its `name` must have 1 to 64 characters of a-z, 0-9, `-` and `.`, begin and end with a letter or \
                      digit, and have no `--` or `..`"
                .to_owned())
        }
    }
}

/// The maximum lengths, in characters, of a skill's description and of its `compatibility`.
const MAX_DESCRIPTION: usize = 1024;
const MAX_COMPATIBILITY: usize = 500;

/// Checks a SKILL.md by the specification of Agent Skills. `folder` is the name of the skill's folder. The error says,
/// for people, why the file is not valid.
pub fn check_skill(folder: &str, text: &[u8]) -> Result<(), String> {
    let text = std::str::from_utf8(text).map_err(|_| "it is not UTF-8 text".to_owned())?;
    let split = matter::split(text).ok().flatten().ok_or("it has no front matter")?;
    let Ok(Value::Object(keys)) = matter::read(split.0) else {
        return Err("its front matter is not valid YAML".to_owned());
    };
    let name = match keys.get("name") {
        Some(Value::String(name)) => name,
        Some(_) => return Err("its `name` is not a text".to_owned()),
        None => return Err("it has no `name`".to_owned()),
    };
    let is_good = (1..=64).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if !is_good {
        return Err("its `name` must have 1 to 64 characters of a-z, 0-9 and single hyphens".to_owned());
    }
    if name != folder {
        return Err(format!("its `name` is `{name}`, and its folder is `{folder}`"));
    }
    let length = |text: &str| text.chars().count();
    match keys.get("description") {
        Some(Value::String(text)) if !text.trim().is_empty() && length(text) <= MAX_DESCRIPTION => {}
        Some(Value::String(text)) if text.trim().is_empty() => return Err("its `description` is empty".to_owned()),
        Some(Value::String(_)) => {
            return Err(format!("its `description` is longer than {MAX_DESCRIPTION} characters"));
        }
        Some(_) => return Err("its `description` is not a text".to_owned()),
        None => return Err("it has no `description`".to_owned()),
    }
    match keys.get("compatibility") {
        Some(Value::String(text)) if length(text) > MAX_COMPATIBILITY => {
            return Err(format!("its `compatibility` is longer than {MAX_COMPATIBILITY} characters"));
        }
        None | Some(Value::String(_) | Value::Null) => {}
        Some(_) => return Err("its `compatibility` is not a text".to_owned()),
    }
    match keys.get("metadata") {
        None | Some(Value::Object(_) | Value::Null) => Ok(()),
        Some(_) => Err("its `metadata` is not a mapping".to_owned()),
    }
}
