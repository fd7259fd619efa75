//! `use_template`, `mcpkg template use`: creates a workflow from a template.

use std::collections::BTreeMap;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::arguments;
use super::fill::Filling;
use super::form::{Parameter, ParameterType, Template};
use super::library::{TEMPLATES, require};
use crate::answer::VERSION;
use crate::check::checked;
use crate::commands::{Reachable, reachable};
use crate::definition::{Definition, NamedInput};
use crate::fixture::form::Fixture;
use crate::resolve;
use crate::saved::model;
use crate::spec::CommandSpec;
use crate::text::sample::{Sample, Sampled, sample, samples};
use crate::{GROUP, answer};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Rate, Reply, Shape};

/// Make a workflow from a template
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Use {
    /// Template name
    #[arg(add = TEMPLATES)]
    name: String,
    /// Template parameters, keyed by name
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = sample)]
    #[serde(default, deserialize_with = "samples")]
    #[schemars(with = "Option<Map<String, Value>>")]
    parameters: Vec<Sample>,
}

/// A workflow that was created from a template
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
pub struct FilledTemplate {
    /// Text of the workflow
    yaml: String,
    /// Findings that keep the workflow from running
    errors: Vec<Map<String, Value>>,
    /// Findings that do not keep the workflow from running
    warnings: Vec<Map<String, Value>>,
    /// Fixtures of the workflow, keyed by name, if the template has any
    fixtures: Option<Map<String, Value>>,
}

impl Operation for Use {
    const TOOL: &'static str = "use_template";
    const CLI: &'static [&'static str] = &["template", "use"];
    const TITLE: &'static str = "Make a workflow from a template";
    const ABOUT: &'static str = "Make a workflow from a template, and check the workflow";
    const HELP: &'static str = "mcpkg does not store the workflow: write the text to a file, or propose it as a draft. For an \
        argument that you leave out, mcpkg uses a value from the previous step's output whose tags match the argument. Other required \
        arguments become inputs of the workflow.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg template use create_and_wait --set create=hosting:apps:create --set wait=hosting:apps:info > app.yaml",
    ];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = FilledTemplate;

    fn run(self, context: &Context) -> Result<Reply> {
        let template = require(context, &self.name)?.template;
        let parameters = template.parameters()?;
        let commands = reachable(context);
        let (values, inputs) = values(&template, &parameters, self.parameters, &commands)?;
        let paths = parameters.iter().filter(|(_, parameter)| parameter.r#type == ParameterType::Path);
        let filling = Filling { values: &values, paths: paths.map(|(name, _)| *name).collect() };
        let definition = definition(&filling.fill(&Value::Object(template.workflow.clone())), inputs)?;
        let yaml = definition.to_yaml()?;
        let findings = checked(&yaml, &commands)?.findings;
        let mut fixtures = BTreeMap::new();
        for (name, content) in &template.fixtures {
            let content = content.iter().map(|(key, value)| (key.clone(), filling.fill(value)));
            fixtures.insert(name, Fixture::of(content.collect())?);
        }
        let found = model::split(&findings);
        let mut data = json!({ "yaml": yaml, "errors": found["errors"], "warnings": found["warnings"] });
        if !fixtures.is_empty() {
            data["fixtures"] = answer::data(&fixtures)?;
        }
        let reply = Reply::new(Body::Text(yaml + "\n"), data);
        Ok(if context.is_shell() { reply.warn(model::lines(&findings)) } else { reply })
    }
}

/// Returns the values of all parameters, and the new inputs that their commands need.
fn values(
    template: &Template,
    parameters: &[(&str, Parameter)],
    said: Vec<Sample>,
    commands: &Reachable<'_>,
) -> Result<(Map<String, Value>, Vec<NamedInput>)> {
    let mut values = Map::new();
    for Sample { name, value } in said {
        let known = parameters.iter().find(|(known, _)| *known == name);
        let Some((_, parameter)) = known else {
            let what = format!("Template '{}' has no parameter '{}'", template.name, name.escape_debug());
            let error = Error::new(Code::InvalidArgument, what).with_details(json!({ "parameter": name }));
            return Err(error.suggest(
                &name,
                parameters.iter().map(|(name, _)| *name),
                "list templates with `mcpkg template list`",
            ));
        };
        let value = match value {
            Sampled::Json(value) => value,
            Sampled::Typed(text) => parameter.r#type.typed(&text),
        };
        if !parameter.r#type.takes(&value) {
            let what = format!("The parameter '{name}' must be {}", parameter.r#type.word());
            return Err(Error::new(Code::InvalidArgument, what).with_details(json!({ "parameter": name })));
        }
        values.insert(name, value);
    }
    for (name, parameter) in parameters {
        if let Some(default) = &parameter.default {
            values.entry(*name).or_insert_with(|| default.clone());
        }
    }
    let open: Vec<&str> = parameters
        .iter()
        .filter(|(name, of)| of.of.is_none() && !values.contains_key(*name))
        .map(|(name, _)| *name)
        .collect();
    if !open.is_empty() {
        let what = format!("Template '{}' needs values for its parameters: {}", template.name, open.join(", "));
        return Err(Error::new(Code::InputsRequired, what)
            .hint_for("pass the values with `--set NAME=VALUE`", "pass the values as parameters")
            .with_details(json!({ "inputs_required": open })));
    }
    let mut specs: BTreeMap<&str, Arc<CommandSpec>> = BTreeMap::new();
    for (name, _) in parameters.iter().filter(|(_, parameter)| parameter.r#type == ParameterType::Command) {
        let spec = resolve::require(commands, values[*name].as_str().unwrap_or_default())?;
        values.insert((*name).to_owned(), json!(spec.id));
        specs.insert(name, spec);
    }
    let mut inputs: Vec<NamedInput> = Vec::new();
    for (name, parameter) in parameters.iter().filter(|(_, parameter)| parameter.of.is_some()) {
        let Some(spec) = parameter.of.as_deref().and_then(|of| specs.get(of)) else { continue };
        if values.contains_key(*name) {
            continue;
        }
        let after = parameter.after.as_deref().and_then(|step| Some((step, &**specs.get(step)?)));
        let given = arguments::of_command(spec, after, commands)?;
        values.insert((*name).to_owned(), Value::Object(given.with));
        for (id, input) in given.inputs {
            if inputs.iter().all(|known| known.id != id) {
                inputs.push(NamedInput { id, input });
            }
        }
    }
    Ok((values, inputs))
}

/// Returns the filled-in workflow, with the new inputs that its commands need.
fn definition(workflow: &Value, inputs: Vec<NamedInput>) -> Result<Definition> {
    let read = serde_json::from_value::<Definition>(workflow.clone());
    let mut definition = read.map_err(|error| super::form::wrong(&format!("its workflow: {error}")))?;
    for named in inputs {
        if definition.inputs.get(&named.id).is_none() {
            definition.inputs.list.push(named);
        }
    }
    Ok(definition)
}
