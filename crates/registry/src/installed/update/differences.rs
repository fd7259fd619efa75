//! Compares two versions of a tool, so that the differences can be shown before an update.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::package::manifest::{Action, Manifest};

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Differences {
    /// Actions that only one version has.
    pub actions: Sides,
    /// MCP tools that only one version has.
    pub mcp_tools: Sides,
    /// Changed schemas of the actions that both versions have.
    pub schemas: Vec<SchemaChange>,
    /// Variables without a default that only the newer version requires.
    pub required_variables: Vec<String>,
    /// Permissions beyond the sandbox that the older version had and the newer one does not have.
    pub lost_grants: Vec<String>,
}

/// Items that only one of the two versions has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sides {
    pub added: Vec<String>,
    pub removed: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemaChange {
    pub action: String,
    pub of: &'static str,
    /// Properties that only one of the two schemas has.
    pub properties: Sides,
    /// Properties that are in both schemas, but are defined differently.
    pub changed: Vec<String>,
    /// Properties that only the newer schema requires.
    pub required: Vec<String>,
}

impl Sides {
    /// Returns the items that only one of two lists has, sorted.
    pub fn of(before: Vec<String>, now: Vec<String>) -> Self {
        let (before, now): (BTreeSet<String>, BTreeSet<String>) =
            (before.into_iter().collect(), now.into_iter().collect());
        let only = |these: &BTreeSet<String>, others| these.difference(others).cloned().collect();
        Self { added: only(&now, &before), removed: only(&before, &now) }
    }

    fn data(&self) -> Value {
        json!({ "added": self.added, "removed": self.removed })
    }

    fn lines(&self, what: &str, lines: &mut Vec<String>) {
        lines.extend(self.added.iter().map(|name| format!("new {what} {name}")));
        lines.extend(self.removed.iter().map(|name| format!("{what} {name} was removed")));
    }
}

impl Differences {
    /// Compares two manifests.
    pub fn between(before: &Manifest, now: &Manifest) -> Self {
        let names = |manifest: &Manifest| manifest.actions.iter().map(|action| action.name.clone()).collect();
        let actions = Sides::of(names(before), names(now));
        let both = now.actions.iter().filter_map(|action| {
            let before = before.actions.iter().find(|old| old.name == action.name)?;
            Some((before, action))
        });
        let schemas = both.flat_map(|(before, now)| changes(before, now)).collect();
        let asked: BTreeSet<&str> =
            before.env.iter().filter(|variable| variable.required).map(|variable| variable.name.as_str()).collect();
        let required = now.env.iter().filter(|variable| variable.required && variable.default.is_none());
        let new = required.filter(|variable| !asked.contains(variable.name.as_str()));
        let required_variables = new.map(|variable| variable.name.clone()).collect();
        Self { actions, schemas, required_variables, ..Self::default() }
    }

    /// Describes the differences for people, one per line.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.actions.lines("action", &mut lines);
        self.mcp_tools.lines("MCP tool", &mut lines);
        lines.extend(self.schemas.iter().map(SchemaChange::line));
        lines.extend(self.required_variables.iter().map(|name| format!("the tool now needs the variable {name}")));
        lines.extend(self.lost_grants.iter().map(|grant| format!("the tool loses its permission: {grant}")));
        lines
    }

    /// Returns the differences as JSON.
    pub fn data(&self) -> Value {
        json!({
            "actions": self.actions.data(),
            "mcp_tools": self.mcp_tools.data(),
            "schemas": self.schemas.iter().map(SchemaChange::data).collect::<Vec<_>>(),
            "required_variables": self.required_variables,
            "lost_grants": self.lost_grants,
        })
    }
}

/// Returns the schema changes of an action.
fn changes(before: &Action, now: &Action) -> Vec<SchemaChange> {
    let pairs =
        [("input", &before.input_schema, &now.input_schema), ("output", &before.output_schema, &now.output_schema)];
    let differing = pairs.into_iter().filter(|(_, before, now)| before != now);
    differing.map(|(of, before, after)| SchemaChange::new(&now.name, of, before.as_ref(), after.as_ref())).collect()
}

impl SchemaChange {
    /// Compares two schemas of an action, either of which may be missing.
    fn new(action: &str, of: &'static str, before: Option<&Value>, now: Option<&Value>) -> Self {
        let (old, new) = (properties(before), properties(now));
        let texts = |properties: &BTreeMap<&str, &Value>| properties.keys().map(|name| (*name).to_owned()).collect();
        let changed = new.iter().filter(|(name, schema)| old.get(*name).is_some_and(|before| before != *schema));
        let required = Sides::of(required(before), required(now)).added;
        Self {
            action: action.to_owned(),
            of,
            properties: Sides::of(texts(&old), texts(&new)),
            changed: changed.map(|(name, _)| (*name).to_owned()).collect(),
            required,
        }
    }

    fn line(&self) -> String {
        let list = |what: &str, names: &[String]| {
            (!names.is_empty())
                .then(|| format!("{what} {}", names.iter().map(|name| shown(name)).collect::<Vec<_>>().join(", ")))
        };
        let parts = [
            list("new", &self.properties.added),
            list("removed", &self.properties.removed),
            list("changed", &self.changed),
            list("now required", &self.required),
        ];
        let parts: Vec<String> = parts.into_iter().flatten().collect();
        let what = if parts.is_empty() { "changed".to_owned() } else { parts.join("; ") };
        format!("{} schema of {}: {what}", self.of, self.action)
    }

    fn data(&self) -> Value {
        json!({
            "action": self.action,
            "of": self.of,
            "properties": self.properties.data(),
            "changed": self.changed,
            "required": self.required,
        })
    }
}

/// Quotes and escapes a property's name, which is untrusted text.
fn shown(name: &str) -> String {
    format!("'{}'", name.escape_debug())
}

fn properties(schema: Option<&Value>) -> BTreeMap<&str, &Value> {
    let listed = schema.and_then(|schema| schema.get("properties")).and_then(Value::as_object);
    listed.into_iter().flatten().map(|(name, schema)| (name.as_str(), schema)).collect()
}

fn required(schema: Option<&Value>) -> Vec<String> {
    let listed = schema.and_then(|schema| schema.get("required")).and_then(Value::as_array);
    listed.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(value: Value) -> Manifest {
        Manifest::from_json(&value).expect("a manifest")
    }

    #[test]
    fn differences_are_reported_by_action_and_property() {
        let before = manifest(json!({
            "name": "alice/x", "version": "1.0.0", "description": "X",
            "scripts": { "one": ["true"], "two": { "command": ["true"], "inputSchema": {
                "type": "object", "properties": { "a": { "type": "string" }, "b": {} }, "required": ["a"],
            } } },
            "env": { "KEPT": { "required": true }, "FREE": {} },
        }));
        let now = manifest(json!({
            "name": "alice/x", "version": "1.1.0", "description": "X",
            "scripts": { "three": ["true"], "two": { "command": ["true"], "inputSchema": {
                "type": "object", "properties": { "a": { "type": "integer" }, "c": {} }, "required": ["a", "c"],
            }, "outputSchema": { "type": "object" } } },
            "env": { "KEPT": { "required": true }, "FREE": { "required": true } },
        }));
        let found = Differences::between(&before, &now);
        assert_eq!(
            found.lines(),
            [
                "new action three",
                "action one was removed",
                "input schema of two: new 'c'; removed 'b'; changed 'a'; now required 'c'",
                "output schema of two: changed",
                "the tool now needs the variable FREE",
            ]
        );
        assert_eq!(found.data()["schemas"][0]["properties"], json!({ "added": ["c"], "removed": ["b"] }));
        assert_eq!(Differences::between(&now, &now), Differences::default());
    }

    #[test]
    fn untrusted_text_is_shown_on_one_line() {
        let change = SchemaChange::new(
            "main",
            "input",
            None,
            Some(&json!({ "type": "object", "properties": { "a\u{1b}[2J\nb": {} } })),
        );
        assert_eq!(change.line(), "input schema of main: new 'a\\u{1b}[2J\\nb'");
    }
}
