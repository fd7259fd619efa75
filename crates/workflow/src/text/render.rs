//! `mcpkg workflow render`: writes a workflow in canonical form.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::argument::{Object, Text, object, text};
use crate::answer::Answer;
use crate::check::shaped;
use crate::completions::WORKFLOWS;
use crate::definition::{Definition, Form};
use crate::finding::{Finding, Kind, Severity};
use crate::{GROUP, SHAPE};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Reply, Shape};

/// Write a workflow in canonical form
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Render {
    /// The workflow's text, YAML or JSON
    #[arg(value_name = "NAME|FILE", value_parser = text, add = WORKFLOWS)]
    #[arg(required_unless_present = "draft", conflicts_with = "draft")]
    yaml: Option<Text>,
    /// The workflow as an object, instead of its text
    #[arg(long, value_name = "FILE", value_parser = object)]
    draft: Option<Object>,
}

/// A workflow in canonical form.
#[derive(JsonSchema)]
pub struct Rendered {
    /// The text
    #[expect(dead_code, reason = "only its schema is looked at")]
    yaml: Option<String>,
}

impl Operation for Render {
    const TOOL: &'static str = "render_yaml";
    const CLI: &'static [&'static str] = &["workflow", "render"];
    const TITLE: &'static str = "Write a workflow";
    const ABOUT: &'static str = "Write a workflow as canonical YAML: the same workflow always gives the same text";
    const HELP: &'static str = "mcpkg writes the fields in a fixed order, and leaves out null, empty and default values. Comments are \
        lost, so mcpkg never converts a text that you wrote unless you ask for it. --draft accepts a YAML or JSON file, as FILE does.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg workflow render app.yaml", "mcpkg workflow render - < draft.json"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    const ALWAYS_LISTED: bool = true;
    type Output = Answer<Rendered>;

    fn run(self, context: &Context) -> Result<Reply> {
        let text = match (self.yaml, self.draft) {
            (Some(text), None) => text.read_or_saved(context)?,
            (None, Some(draft)) => Value::Object(draft.read_draft()?).to_string(),
            _ => {
                let error = Error::new(Code::InvalidArgument, "Pass either `yaml` or `draft`, not both");
                return Err(error.hint("`draft` is an object with workflow, inputs and steps; `yaml` is text"));
            }
        };
        let (definition, findings) = shaped(&text)?;
        let errors: Vec<&Finding> = findings.iter().filter(|found| keeps_from(found)).collect();
        let definition = match definition {
            Some(definition) if errors.is_empty() => definition,
            _ => {
                let warnings: Vec<&Finding> = findings.iter().filter(|found| !keeps_from(found)).collect();
                let first = errors.first().map_or(String::new(), |found| {
                    format!("; line {}, column {}: {}", found.span.line, found.span.column, found.message)
                });
                let error = Error::new(Code::WorkflowInvalid, format!("Cannot write the workflow as YAML{first}"));
                return Err(error.with_details(json!({ "errors": errors, "warnings": warnings })));
            }
        };
        let yaml = definition.to_yaml()?;
        let mut data = Map::from_iter([("yaml".to_owned(), json!(yaml))]);
        data.extend(parts(&definition)?);
        if !findings.is_empty() {
            data.insert("warnings".to_owned(), json!(findings));
        }
        Ok(Reply::new(Body::Text(yaml + "\n"), Value::Object(data)))
    }
}

/// Returns whether the finding prevents rendering, because part of the text would be lost. A missing field does not.
fn keeps_from(found: &Finding) -> bool {
    found.severity == Severity::Error && found.code != Kind::MissingField
}

/// Returns the inputs and steps of a definition. The inputs keep their form: a mapping or a list.
fn parts(definition: &Definition) -> Result<Map<String, Value>> {
    let empty = match definition.inputs.form {
        Form::Map => json!({}),
        Form::List => json!([]),
    };
    let written = serde_json::to_value(definition)
        .map_err(|error| Error::internal("a workflow cannot be written as JSON").with_source(error))?;
    let part = |key: &str, empty: Value| (key.to_owned(), written.get(key).cloned().unwrap_or(empty));
    Ok(Map::from_iter([part("inputs", empty), part("steps", json!([]))]))
}
