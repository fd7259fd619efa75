//! A plugin's name, version and description, and the manifests that contain them.

use serde_json::{Map, Value, json};

use super::making::Content;
use super::manifest;
use mcpkg_agents::commands::skill;
use mcpkg_base::error::{Code, Error, Result};

/// The schema of a root `plugin.json` that follows the Agent Plugins specification.
const SCHEMA: &str = "https://agent-plugins.org/schemas/1.0.0/plugin.schema.json";

/// The version in Gemini's manifest if the plugin has none, because Gemini requires one. Gemini looks for updates by
/// commit.
const NO_VERSION: &str = "0.0.0";

/// The name, version, description and owner that the user wants a plugin to have.
#[derive(Clone, Debug, Default)]
pub struct Wish {
    pub name: Option<String>,
    pub version: Option<String>,
    pub description: Option<String>,
    /// The person or team that offers the plugin, if the manifest of an imported plugin does not name its author.
    pub owner: Option<String>,
}

/// What a plugin's manifests contain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    pub name: String,
    /// Without a version, Claude Code treats each commit as a new version.
    pub version: Option<String>,
    pub description: Option<String>,
    /// Other fields, such as the license, from the manifest of an imported plugin. If that manifest names no author,
    /// the owner that the user gave is the author.
    more: Map<String, Value>,
}

impl About {
    /// Returns the user's wishes, completed from the project's name and from the manifest of an imported plugin.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` for a name or a version that some agent does not accept.
    pub fn new(wish: &Wish, content: &Content) -> Result<Self> {
        let name = match &wish.name {
            Some(name) if skill::is_name(name) => name.clone(),
            Some(name) => {
                let why = format!(
                    "'{}' is not a valid plugin name: use up to 64 of a-z, 0-9 and single hyphens",
                    name.escape_debug()
                );
                return Err(Error::new(Code::InvalidArgument, why).hint(format!("use --name {}", named(name))));
            }
            None => named(&content.project),
        };
        let is_version = |version: &&String| {
            let is_letter = |c: char| c.is_ascii_alphanumeric() || ".+-".contains(c);
            version.starts_with(|c: char| c.is_ascii_digit()) && version.len() <= 64 && version.chars().all(is_letter)
        };
        if let Some(version) = wish.version.as_ref().filter(|version| !is_version(version)) {
            let why = format!("'{}' is not a valid version", version.escape_debug());
            return Err(Error::new(Code::InvalidArgument, why).hint("use a version such as 1.2.0"));
        }
        let mut more = imported(content);
        let described = match more.shift_remove("description") {
            Some(Value::String(text)) => Some(text),
            _ => None,
        };
        if let Some(owner) = wish.owner.as_ref().filter(|_| !more.contains_key("author")) {
            more.insert("author".to_owned(), json!({ "name": owner }));
        }
        let (version, description) = (wish.version.clone(), wish.description.clone().or(described));
        Ok(Self { name, version, description, more })
    }

    /// Returns the manifests with their paths.
    pub(super) fn manifests(&self) -> [(&'static str, Value); 2] {
        let own = self.fields();
        let mut portable = Map::new();
        portable.insert("$schema".to_owned(), SCHEMA.into());
        portable.extend(own.clone());
        [(".claude-plugin/plugin.json", own.into()), ("plugin.json", portable.into())]
    }

    /// Returns Gemini's manifest.
    pub(super) fn gemini(&self, servers: Map<String, Value>) -> Value {
        let version = self.version.as_deref().unwrap_or(NO_VERSION);
        let mut manifest = json!({ "name": self.name, "version": version });
        if let Some(description) = &self.description {
            manifest["description"] = description.as_str().into();
        }
        if !servers.is_empty() {
            manifest["mcpServers"] = servers.into();
        }
        manifest
    }

    /// Returns the fields that [`Self::manifests`] writes to both manifests.
    pub(super) fn fields(&self) -> Map<String, Value> {
        let mut fields = Map::new();
        fields.insert("name".to_owned(), self.name.as_str().into());
        let optional = [("version", &self.version), ("description", &self.description)];
        for (key, value) in optional {
            fields.extend(value.as_ref().map(|value| (key.to_owned(), Value::from(value.as_str()))));
        }
        fields.extend(self.more.clone());
        fields
    }
}

fn named(text: &str) -> String {
    match text.contains(|c: char| c.is_ascii_alphanumeric()) {
        true => skill::name(text),
        false => "plugin".to_owned(),
    }
}

/// Returns those fields of an imported plugin's manifest that every agent accepts.
fn imported(content: &Content) -> Map<String, Value> {
    let Some(mut manifest) = manifest::best(&content.items) else { return Map::new() };
    let mut fields = Map::new();
    for key in ["description", "author", "homepage", "repository", "license", "keywords"] {
        let value = match (key, manifest.shift_remove(key)) {
            ("author", Some(Value::Object(author))) => {
                let is_said = |key: &str, value: &Value| ["name", "email", "url"].contains(&key) && value.is_string();
                let said: Map<_, _> = author.into_iter().filter(|(key, value)| is_said(key, value)).collect();
                (!said.is_empty()).then(|| Value::from(said))
            }
            ("keywords", Some(Value::Array(words))) => words.iter().all(Value::is_string).then(|| Value::from(words)),
            ("author" | "keywords", _) => None,
            (_, value) => value.filter(Value::is_string),
        };
        fields.extend(value.map(|value| (key.to_owned(), value)));
    }
    fields
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::item::{Entry, Origin, What};
    use mcpkg_store::agent_files::Kind;

    #[test]
    fn a_name_is_one_that_every_agent_accepts() {
        let of = |project: &str, name: Option<&str>| {
            let wish = Wish { name: name.map(str::to_owned), ..Wish::default() };
            let content = Content { project: project.to_owned(), ..Content::default() };
            About::new(&wish, &content).map(|about| about.name)
        };
        assert_eq!(of("My Project.v2", None).unwrap(), "my-project-v2");
        assert_eq!(of("設計", None).unwrap(), "plugin");
        assert_eq!(of("x", Some("web-tools")).unwrap(), "web-tools");
        for bad in ["", "Web", "a--b", "a.b", "-a", "a_b", "../a", &"a".repeat(65)] {
            assert_eq!(of("x", Some(bad)).unwrap_err().code(), Code::InvalidArgument, "{bad}");
        }
        for bad in ["", "v1", "1/2", "1 2", "..", "1\n"] {
            let wish = Wish { version: Some(bad.to_owned()), ..Wish::default() };
            assert!(About::new(&wish, &Content::default()).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_imported_manifest_says_who_wrote_the_plugin() {
        let manifest = br#"{"name":"old","version":"3","description":"d","author":{"name":"Me","x":1},"license":3,
            "keywords":["a"],"agents":["./a.md"],"homepage":"https://h"}"#;
        let what = What::AgentFile { holds: Kind::Plugin, executable: false };
        let entry = Entry { name: ".claude-plugin/plugin.json".to_owned(), what, origin: Origin::default() };
        let items = vec![(entry, manifest.to_vec().into())];
        let content = Content { project: "p".to_owned(), items, ..Content::default() };
        let about = About::new(&Wish::default(), &content).unwrap();
        let expected = json!({ "name": "p", "description": "d", "author": { "name": "Me" }, "homepage": "https://h", "keywords": ["a"] });
        assert_eq!(Value::from(about.fields()), expected);
    }
}
