//! Records what a plan depends on apart from its definition, and compares the records when a run is resumed.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};

use super::plan::Plan;
use crate::spec::CommandSpec;
use mcpkg_base::redact::redact;

/// The key under which a run's record stores what the plan depends on.
const MADE_OF: &str = "made_of";

/// Something that has changed since a run started.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Change {
    /// The kind: `definition`, `project`, `input`, `env` or `command`.
    what: &'static str,
    /// The name of the changed input, variable or command.
    #[serde(skip_serializing_if = "String::is_empty")]
    name: String,
    /// The changed property of a command: `effect`, `idempotency`, `method`, `path` or `base_url`. Absent if the
    /// command's arguments or output changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    field: Option<String>,
    /// The value when the run started.
    #[serde(skip_serializing_if = "Value::is_null")]
    before: Value,
    #[serde(skip_serializing_if = "Value::is_null")]
    after: Value,
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.what)?;
        if !self.name.is_empty() {
            write!(f, " {}", self.name)?;
        }
        match &self.field {
            None if self.what == "command" => f.write_str(": its arguments or its output changed"),
            None if self.what == "definition" => f.write_str(" has changed"),
            field => {
                let field = field.as_ref().map(|field| format!("{field} ")).unwrap_or_default();
                write!(f, ": {field}was {}, is {}", shown(&self.before), shown(&self.after))
            }
        }
    }
}

fn shown(value: &Value) -> String {
    match value {
        Value::Null => "not there".to_owned(),
        Value::String(text) => redact(text),
        other => redact(&other.to_string()),
    }
}

/// Returns the record to store with a run: its definition, and what its plan depends on.
pub fn record(plan: &Plan) -> Value {
    let mut record = plan.definition.clone();
    record[MADE_OF] = made_of(plan);
    record
}

fn made_of(plan: &Plan) -> Value {
    let commands = plan.program.steps.iter().map(|step| (step.spec.id.clone(), command(&step.spec)));
    json!({
        "project": plan.project,
        "input": plan.program.kept_inputs(),
        "env": plan.program.kept_env(),
        "command": Map::from_iter(commands),
    })
}

/// Returns the properties of a command that a person wants to see if they change, and a hash of the others.
fn command(spec: &CommandSpec) -> Value {
    json!({
        "effect": spec.effect,
        "idempotency": spec.idempotency,
        "method": spec.method,
        "path": spec.path,
        "base_url": spec.base_url,
        "spec_hash": spec.hash(),
    })
}

/// Compares the record of a run with the run's current plan.
pub fn between(begun: &Value, now: &Plan) -> Vec<Change> {
    let mut changes = Vec::new();
    let of = |what, name: &str, before: &Value, after: &Value| Change {
        what,
        name: name.to_owned(),
        field: None,
        before: before.clone(),
        after: after.clone(),
    };
    if ["command", "with", "workflow", "step", "earlier"].iter().any(|key| begun.get(key) != now.definition.get(key)) {
        changes.push(of("definition", "", &Value::Null, &Value::Null));
    }
    let (before, after) = (&begun[MADE_OF], made_of(now));
    if before.is_null() {
        return changes;
    }
    if before["project"] != after["project"] {
        changes.push(of("project", "", &before["project"], &after["project"]));
    }
    for what in ["input", "env"] {
        for (name, before, after) in pairs(&before[what], &after[what]).filter(|(_, before, after)| before != after) {
            changes.push(of(what, name, before, after));
        }
    }
    for (name, before, after) in pairs(&before["command"], &after["command"]) {
        let differ = pairs(before, after).filter(|(field, before, after)| *field != "spec_hash" && before != after);
        let fields: Vec<Change> = differ
            .map(|(field, was, is)| Change { field: Some(field.to_owned()), ..of("command", name, was, is) })
            .collect();
        if fields.is_empty() && before != after {
            changes.push(of("command", name, &Value::Null, &Value::Null));
        }
        changes.extend(fields);
    }
    changes
}

/// Pairs the entries of two mappings by key; a missing entry is null.
fn pairs<'v>(before: &'v Value, after: &'v Value) -> impl Iterator<Item = (&'v str, &'v Value, &'v Value)> {
    let keys = |value: &'v Value| value.as_object().into_iter().flat_map(|map| map.keys());
    let more = keys(after).filter(|key| before.get(key.as_str()).is_none());
    keys(before).chain(more).map(|key| (key.as_str(), &before[key.as_str()], &after[key.as_str()]))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::runner::program::Program;
    use crate::spec::SourceKind;

    fn plan(base_url: &str, summary: &str) -> Plan {
        let spec = CommandSpec {
            base_url: Some(base_url.to_owned()),
            summary: summary.to_owned(),
            ..CommandSpec::new("apps:list", SourceKind::Catalogs)
        };
        let mut program = Program::of_command(Arc::new(spec), Map::new());
        program.env.insert("REGION".to_owned(), json!(summary));
        Plan {
            program,
            definition: json!({ "command": "apps:list", "with": {} }),
            hash: String::new(),
            summary: String::new(),
            effects: Vec::new(),
            project: "p".to_owned(),
            may_be_confirmed: false,
        }
    }

    #[test]
    fn each_change_is_reported_by_name() {
        let begun = record(&plan("https://a.example", "x"));
        let told = |plan: &Plan| between(&begun, plan).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(told(&plan("https://a.example", "x")).is_empty());
        assert_eq!(
            told(&plan("https://b.example", "x")),
            ["command apps:list: base_url was https://a.example, is https://b.example"]
        );
        assert_eq!(
            told(&plan("https://a.example", "y")),
            ["env REGION: was x, is y", "command apps:list: its arguments or its output changed"]
        );
        let elsewhere = Plan { project: String::new(), definition: json!({}), ..plan("https://a.example", "x") };
        assert_eq!(told(&elsewhere), ["definition has changed", "project: was p, is "]);
    }
}
