//! Compares the tools that a plugin lists now with those that a person has approved.

use serde_json::{Value, json};

use super::model::Plugin;
use super::tool::{Declaration, parsed};
use mcpkg_base::diff;
use mcpkg_base::error::Result;
use mcpkg_base::redact::redact;
use mcpkg_store::plugins::ToolRow;

#[derive(Debug, Default)]
pub struct Difference {
    /// New tools, each with the first line of its description.
    added: Vec<(String, String)>,
    /// Names of removed tools.
    removed: Vec<String>,
    /// Changed tools: the name, the changed properties, and a diff.
    changed: Vec<(String, Vec<&'static str>, String)>,
}

impl Difference {
    /// Compares the approved tools with those that are listed now.
    pub fn between(seen: &[ToolRow], listed: &[(String, String)]) -> Result<Self> {
        let mut difference = Self::default();
        for (name, now) in listed {
            let row = seen.iter().find(|row| row.name == *name);
            match row.and_then(|row| row.accepted.as_ref()) {
                Some(before) if before == now => {}
                Some(before) => {
                    let (before, now) = (parsed(before)?, parsed(now)?);
                    difference.changed.push((name.clone(), parts(&before, &now), shown(&before, &now)?));
                }
                None => {
                    let does = parsed(now)?.description.unwrap_or_default();
                    difference.added.push((name.clone(), does.lines().next().unwrap_or_default().to_owned()));
                }
            }
        }
        let is_gone = |row: &&ToolRow| row.accepted.is_some() && !listed.iter().any(|(name, _)| *name == row.name);
        difference.removed = seen.iter().filter(is_gone).map(|row| row.name.clone()).collect();
        difference.added.sort();
        Ok(difference)
    }

    pub fn is_empty(&self) -> bool {
        self.added.is_empty() && self.removed.is_empty() && self.changed.is_empty()
    }

    /// Returns lines of text for people: `+` added, `-` removed, `~` changed.
    pub fn lines(&self, plugin: &Plugin) -> Vec<String> {
        let group = plugin.name();
        let mut lines: Vec<String> =
            self.added.iter().map(|(name, does)| line(&format!("+ {group}:{name}  {does}"))).collect();
        lines.extend(self.removed.iter().map(|name| line(&format!("- {group}:{name}"))));
        for (name, parts, shown) in &self.changed {
            lines.push(line(&format!("~ {group}:{name}  {}", parts.join(", "))));
            lines.extend(shown.lines().map(|shown| line(&format!("    {shown}"))));
        }
        lines
    }

    pub fn data(&self) -> Value {
        let added: Vec<&str> = self.added.iter().map(|(name, _)| name.as_str()).collect();
        let changed: Vec<Value> = self
            .changed
            .iter()
            .map(|(name, parts, diff)| json!({ "name": name, "what": parts, "diff": diff }))
            .collect();
        json!({ "added": added, "removed": self.removed, "changed": changed })
    }
}

/// Removes passwords and secrets from a line, because the plugin wrote some of its text.
fn line(text: &str) -> String {
    redact(text).trim_end().to_owned()
}

/// Returns the names of the changed properties.
fn parts(before: &Declaration, now: &Declaration) -> Vec<&'static str> {
    let all = [
        ("title", before.title != now.title),
        ("description", before.description != now.description),
        ("arguments", before.input != now.input),
        ("answers", before.output != now.output),
        ("annotations", before.hints != now.hints),
    ];
    all.into_iter().filter(|(_, differs)| *differs).map(|(part, _)| part).collect()
}

/// Returns a diff of two descriptions of a tool.
fn shown(before: &Declaration, now: &Declaration) -> Result<String> {
    Ok(diff::unified(&written(before), &written(now), "approved", "now"))
}

/// Formats the description of a tool for a diff: its text unchanged, and everything else as JSON.
fn written(said: &Declaration) -> String {
    let description = said.description.as_deref().unwrap_or_default();
    let rest = Declaration { description: None, ..said.clone() };
    format!("{description}\n{:#}\n", json!(rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, accepted: Option<&str>) -> ToolRow {
        ToolRow { name: name.to_owned(), listed: None, accepted: accepted.map(str::to_owned) }
    }

    #[test]
    fn added_removed_and_changed_tools_are_reported() {
        let same = r#"{"description":"Adds.","input":{}}"#;
        let other = r#"{"description":"Adds.\nAnd sends it on.","input":{}}"#;
        let seen = [row("a", Some(same)), row("b", Some(same)), row("c", Some(same)), row("d", None)];
        let listed = [("a", same), ("b", other), ("d", same)].map(|(name, said)| (name.to_owned(), said.to_owned()));
        let difference = Difference::between(&seen, &listed).expect("a difference");
        let data = difference.data();
        assert_eq!((&data["added"], &data["removed"]), (&json!(["d"]), &json!(["c"])));
        assert_eq!((&data["changed"][0]["name"], &data["changed"][0]["what"]), (&json!("b"), &json!(["description"])));
        assert!(data["changed"][0]["diff"].as_str().is_some_and(|diff| diff.contains("+And sends it on.")));
        assert!(Difference::between(&seen[..1], &listed[..1]).expect("a difference").is_empty());
    }
}
