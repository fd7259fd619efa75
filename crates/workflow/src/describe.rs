//! `mcpkg workflow describe`: lists what a workflow consists of, as rows of a form.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::answer::data;
use super::argument::{self, Argument};
use super::check::{Surveyed, surveyed};
use super::commands::reachable;
use super::completions::WORKFLOWS;
use super::definition::{Input, NamedInput, Origin, Step};
use super::set::words_of;
use super::spec::{CommandEffect, CommandSpec};
use super::suggest::unbroken;
use super::text::argument::{Text, text};
use super::yaml::places::{Places, below};
use super::{GROUP, SHAPE};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Entry, Faces, NoOutput, Operation, Reply, Shape, Table, cell};

pub(super) const OPS: &[Entry] = &[Entry::of::<Describe>()];

/// List the parts of a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Describe {
    /// Name of a saved workflow, or a YAML or JSON file (`-` is standard input); the text can contain mistakes
    #[arg(value_name = "NAME|FILE", value_parser = text, add = WORKFLOWS)]
    yaml: Text,
}

/// A value that a form can show: an input, an argument, or another field of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
struct Field {
    /// The JSON pointer for `mcpkg workflow set`.
    pointer: String,
    name: String,
    /// The accepted types; empty for a field that is neither an input nor an argument of the command.
    r#type: String,
    needed: bool,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    values: Vec<Value>,
    /// The default of an argument or an input, as [`words_of`] writes it, or a description of its origin.
    #[serde(skip_serializing_if = "Option::is_none")]
    default: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    about: Option<String>,
    /// The value as [`words_of`] writes it, or the size of a mapping or list.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<String>,
    /// Whether a form cannot edit the value: it is a mapping, a list, or a text of several lines.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    is_text: bool,
    #[serde(flatten)]
    at: At,
}

/// The position of a part in the text: where its key starts, and the line on which it ends. Empty for a part that the text
/// does not have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
struct At {
    #[serde(skip_serializing_if = "Option::is_none")]
    line: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    column: Option<usize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    end_line: Option<usize>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct DescribedStep {
    pointer: String,
    id: String,
    /// The command as the text names it.
    run: String,
    /// The command's id, if the command is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    command: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    effect: Option<CommandEffect>,
    #[serde(skip_serializing_if = "Option::is_none")]
    method: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    path: Option<String>,
    /// The ids of the steps that it runs after, because `depends_on` or a reference names them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    needs: Vec<String>,
    arguments: Vec<Field>,
    /// The other fields that the text has, such as `if`, but not `id`, `run` and `with`.
    fields: Vec<Field>,
    #[serde(flatten)]
    at: At,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
struct Described {
    workflow: String,
    inputs: Vec<Field>,
    steps: Vec<DescribedStep>,
    /// The workflow's output, if the text has one.
    fields: Vec<Field>,
}

impl Operation for Describe {
    const TOOL: &'static str = "describe_workflow";
    const CLI: &'static [&'static str] = &["workflow", "describe"];
    const TITLE: &'static str = "List the parts of a workflow";
    const ABOUT: &'static str = "List a workflow's inputs, steps, arguments and values";
    const HELP: &'static str = "mcpkg ignores mistakes in the text; `mcpkg workflow validate` shows them. With --json, each part \
        includes its position and the JSON pointer that `mcpkg workflow set` takes.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg workflow describe app.yaml", "mcpkg workflow describe app_with_db --json"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let text = self.yaml.read_or_saved(context)?;
        let whole = unbroken(&text, None);
        let surveyed = surveyed(&whole, &reachable(context))?.ok_or_else(|| {
            Error::new(Code::WorkflowInvalid, "The text cannot be read as a workflow")
                .hint("see why with `mcpkg workflow validate`")
        })?;
        let described = Described::of(&surveyed);
        Ok(Reply::new(Body::Several(described.tables()), data(&described)?))
    }
}

impl Described {
    fn of(surveyed: &Surveyed) -> Self {
        let (definition, places) = (&surveyed.definition, &surveyed.places);
        let inputs = definition.inputs.list.iter().enumerate();
        let steps = definition.steps.iter().zip(&surveyed.specs).enumerate();
        let needs = |at| surveyed.graph.of(at).iter().map(|other| definition.steps[*other].id.clone()).collect();
        let output =
            definition.final_output.iter().map(|value| Field::written("", "final_output", Some(value), places));
        Self {
            workflow: definition.workflow.clone(),
            inputs: inputs.map(|(at, named)| Field::input(&definition.inputs.pointer(at), named, places)).collect(),
            steps: steps
                .map(|(at, (step, spec))| DescribedStep {
                    needs: needs(at),
                    ..DescribedStep::of(at, step, spec.as_deref(), places)
                })
                .collect(),
            fields: output.collect(),
        }
    }

    fn tables(&self) -> Vec<Body> {
        let row = |field: &Field| {
            let need = if field.needed { "needed" } else { "" };
            let value = field.value.as_deref().unwrap_or_default();
            let default = field.default.as_deref().unwrap_or_default();
            [&field.name, &field.r#type, need, value, default].map(|text| cell(text).into_owned()).to_vec()
        };
        let table = |fields: &[&Field], empty: &str| {
            Body::Table(Table {
                columns: &["NAME", "TYPE", "NEEDED", "VALUE", "DEFAULT"],
                rows: fields.iter().map(|field| row(field)).collect(),
                empty: empty.to_owned(),
            })
        };
        let mut bodies =
            vec![Body::lines(["Inputs"]), table(&self.inputs.iter().collect::<Vec<_>>(), "The workflow has no inputs")];
        for (at, step) in self.steps.iter().enumerate() {
            let does = step.effect.map(CommandEffect::does).unwrap_or("unknown command");
            let request = step.method.iter().chain(&step.path).cloned().collect::<Vec<_>>().join(" ");
            let after = match step.needs.join(", ") {
                needs if needs.is_empty() => needs,
                needs => format!("after {needs}"),
            };
            let parts = [&*step.id, &*step.run, &*request, does, &*after];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            bodies.push(Body::lines([String::new(), format!("Step {}: {}", at + 1, parts.join("  "))]));
            let fields: Vec<&Field> = step.fields.iter().chain(&step.arguments).collect();
            bodies.push(table(&fields, "It takes no arguments"));
        }
        bodies
    }
}

impl DescribedStep {
    fn of(index: usize, step: &Step, spec: Option<&CommandSpec>, places: &Places) -> Self {
        let pointer = format!("/steps/{index}");
        let with = format!("{pointer}/with");
        let known = spec.into_iter().flat_map(argument::all);
        let mut arguments: Vec<Field> =
            known.map(|argument| Field::argument(&with, &argument, step.with.get(argument.name), places)).collect();
        // Also list arguments that the command does not have: they are mistakes, and a person has to see them to remove them.
        let is_known = |name: &String| spec.is_some_and(|spec| argument::named(spec, name).is_some());
        let others = step.with.iter().filter(|(name, _)| !is_known(name));
        arguments.extend(others.map(|(name, value)| Field::written(&with, name, Some(value), places)));
        let names = ["description", "depends_on", "if", "when", "body", "repeat", "output_contract"];
        let of_step = serde_json::to_value(step).unwrap_or_default();
        let field = |name: &str| {
            let key = if name == "when" { "if" } else { name };
            places.get(&below(&pointer, name)).map(|_| Field::written(&pointer, name, of_step.get(key), places))
        };
        Self {
            id: step.id.clone(),
            run: step.run.clone(),
            command: spec.map(|spec| spec.id.clone()),
            summary: spec.map(|spec| spec.summary.clone()),
            effect: spec.map(|spec| spec.effect),
            method: spec.and_then(|spec| spec.method.clone()),
            path: spec.and_then(|spec| spec.path.clone()),
            needs: Vec::new(),
            arguments,
            fields: names.into_iter().filter_map(field).collect(),
            at: At::of(&pointer, places),
            pointer,
        }
    }
}

impl Field {
    fn input(pointer: &str, NamedInput { id, input }: &NamedInput, places: &Places) -> Self {
        Self {
            pointer: pointer.to_owned(),
            name: id.clone(),
            r#type: input.r#type.name().to_owned(),
            needed: input.is_required() && input.default.is_none(),
            values: input.choices().to_vec(),
            default: default(input),
            about: input.description.clone(),
            value: None,
            is_text: false,
            at: At::of(pointer, places),
        }
    }

    fn argument(with: &str, argument: &Argument<'_>, value: Option<&Value>, places: &Places) -> Self {
        Self {
            r#type: argument.takes(),
            needed: argument.required,
            values: argument.values.to_vec(),
            default: argument.default.and_then(words_of),
            about: argument.about.map(str::to_owned),
            ..Self::written(with, argument.name, value, places)
        }
    }

    /// Returns a field with its value in the text, but without its type, allowed values and default.
    fn written(above: &str, name: &str, value: Option<&Value>, places: &Places) -> Self {
        let pointer = below(above, name);
        let is_text = match value {
            Some(Value::String(text)) => text.contains('\n'),
            Some(value) => value.is_object() || value.is_array(),
            None => false,
        };
        Self {
            name: name.to_owned(),
            // In the text, `key:` without a value means that the value is still missing.
            value: value.filter(|value| !value.is_null()).map(shown),
            is_text,
            at: At::of(&pointer, places),
            pointer,
            ..Self::default()
        }
    }
}

impl At {
    fn of(pointer: &str, places: &Places) -> Self {
        let Some(place) = places.get(pointer) else { return Self::default() };
        let key = place.key.unwrap_or(place.value);
        let end = place.value.end_line.max(key.line);
        // The span of a block ends at the start of the line after the block.
        let end = if place.value.end_column == 1 && end > key.line { end - 1 } else { end };
        Self { line: Some(key.line), column: Some(key.column), end_line: Some(end) }
    }
}

/// Returns the default of an input for people.
fn default(input: &Input) -> Option<String> {
    let default = input.default.as_ref()?;
    let value = default.value.as_ref().map(shown).unwrap_or_default();
    let name = default.text().unwrap_or_default();
    Some(match default.from {
        Origin::Literal => value,
        Origin::Env => format!("env.{name}"),
        Origin::History => "the last run's".to_owned(),
        Origin::WorkflowOutput => format!("output of {name}"),
    })
}

/// Returns a value as [`words_of`] writes it. For a mapping or a list, returns only its size.
fn shown(value: &Value) -> String {
    match value {
        Value::Object(map) => plural::count(map.len(), "field"),
        Value::Array(list) => plural::count(list.len(), "element"),
        value => words_of(value).unwrap_or_default(),
    }
}
