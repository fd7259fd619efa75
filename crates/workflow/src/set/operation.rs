//! Implements `mcpkg workflow set`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::edit::{Change, edit};
use super::words::value_of;
use crate::argument::{self, Argument};
use crate::check::{Surveyed, surveyed};
use crate::commands::{Reachable, reachable};
use crate::completions::WORKFLOWS;
use crate::definition::{Form, Input, is_identifier};
use crate::finding::{Fix, mended_by};
use crate::infer::step_name;
use crate::resolve::require;
use crate::text::argument::{Text, text};
use crate::yaml::places::below;
use crate::{GROUP, SHAPE};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// Change a value in a workflow's text
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// Name of a saved workflow, or a YAML or JSON file (`-` is standard input)
    #[arg(value_name = "NAME|FILE", value_parser = text, add = WORKFLOWS)]
    yaml: Text,
    /// JSON pointer of the value, such as /steps/1/with/app; /steps/- adds a step
    #[arg(value_name = "POINTER")]
    pointer: String,
    /// The new value: an expression such as inputs.app, JSON, or text. For /steps/-, the id of a command
    #[arg(value_name = "VALUE", required_unless_present = "remove", allow_hyphen_values = true)]
    value: Option<String>,
    /// Remove the value
    #[arg(long, conflicts_with = "value")]
    #[serde(default)]
    remove: bool,
    /// Also add the input that the value names, unless the workflow has it
    #[arg(long, conflicts_with = "remove")]
    #[serde(default)]
    new_input: bool,
    /// Change the file instead of printing the changed text
    #[arg(long)]
    #[serde(skip)]
    write: bool,
}

impl Operation for Set {
    const TOOL: &'static str = "set_workflow_value";
    const CLI: &'static [&'static str] = &["workflow", "set"];
    const TITLE: &'static str = "Change a value in a workflow's text";
    const ABOUT: &'static str =
        "Print a workflow's text with one value changed, added or removed, and with its comments and formatting";
    const HELP: &'static str = "Prints the changed text; --write changes the file instead. NAME is the name of a workflow in the \
        project, whose stored text does not change: pipe the output to `mcpkg workflow import - --update` to store it. In quotes, \
        a value is always text: '\"inputs.app\"'.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow set app.yaml /steps/1/with/app steps.create_app.output.id --write",
        "mcpkg workflow set app.yaml /steps/- mcpkg:prompt:list",
        "mcpkg workflow set app.yaml /steps/1/with/note --remove",
        "mcpkg workflow set app_with_db /inputs/region/default us | mcpkg workflow import - --update",
    ];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn writes_files(&self) -> bool {
        self.write
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let text = self.yaml.read_or_saved(context)?;
        let commands = reachable(context);
        let surveyed = surveyed(&text, &commands)?.ok_or_else(|| {
            Error::new(Code::WorkflowInvalid, "The text cannot be read as a workflow; nothing was changed")
                .hint("see why with `mcpkg workflow validate`")
        })?;
        let edits = self.edits(&text, &surveyed, &commands)?;
        let edited = mended_by(&text, edits.iter().collect()).0;
        if self.write {
            let Some(path) = self.yaml.path() else {
                return Err(Error::new(Code::InvalidArgument, "--write needs a file"));
            };
            disk::replace(path, edited.as_bytes())?;
        }
        let data = json!({ "pointer": self.pointer, "edits": edits, "yaml": edited });
        let body = match self.write {
            true => Body::Sentence(format!("Changed {} in {}", self.pointer, self.yaml.name())),
            false => Body::Text(edited),
        };
        Ok(Reply::new(body, data))
    }
}

impl Set {
    fn edits(&self, text: &str, surveyed: &Surveyed, commands: &Reachable<'_>) -> Result<Vec<Fix>> {
        let of = |pointer: &str, change| edit(text, pointer, change).ok_or_else(|| elsewhere(pointer));
        if self.remove {
            return Ok(vec![of(&self.pointer, Change::Remove)?]);
        }
        let words = self.value.as_deref().unwrap_or_default();
        let argument = argument_at(surveyed, &self.pointer);
        let (pointer, value) = self.target(surveyed, commands, words, argument.as_ref())?;
        let mut edits = vec![of(&pointer, Change::Set(&value))?];
        let input = words.strip_prefix("inputs.").filter(|name| self.new_input && is_identifier(name));
        if let Some(name) = input.filter(|name| surveyed.definition.inputs.get(name).is_none()) {
            let input = argument.as_ref().map(|argument| argument.input(commands)).transpose()?.unwrap_or_default();
            let (pointer, value) = new_input(surveyed, name, &input)?;
            edits.push(of(&pointer, Change::Set(&value))?);
        }
        edits.sort_by_key(|edit| edit.span.start);
        Ok(edits)
    }

    /// Returns the pointer at which to set the value, and the value as the text needs it there: for `/steps/-`, a whole step.
    fn target(
        &self,
        surveyed: &Surveyed,
        commands: &Reachable<'_>,
        words: &str,
        argument: Option<&Argument<'_>>,
    ) -> Result<(String, Value)> {
        let pointer = self.pointer.clone();
        let parts: Vec<&str> = pointer.split('/').skip(1).collect();
        Ok(match parts.as_slice() {
            ["steps", "-"] => {
                let spec = require(commands, words)?;
                (pointer, json!({ "id": free_step(surveyed, &step_name(&spec.id)), "run": spec.id }))
            }
            ["steps", _, "run"] => (pointer, require(commands, words)?.id.clone().into()),
            ["inputs", "-"] => new_input(surveyed, words, &Input::default())?,
            // A default is a mapping with its origin, so a bare value is wrapped as a literal.
            ["inputs", _, "default"] => {
                let value = value_of(words, None);
                let inside = below(&pointer, "value");
                match value.is_object() {
                    true => (pointer, value),
                    false if surveyed.places.get(&inside).is_some() => (inside, value),
                    false => (pointer, json!({ "from": "literal", "value": value })),
                }
            }
            _ => (pointer, value_of(words, argument)),
        })
    }
}

/// Returns the argument of a command that a pointer such as `/steps/1/with/app` names.
fn argument_at<'s>(surveyed: &'s Surveyed, pointer: &str) -> Option<Argument<'s>> {
    let parts: Vec<&str> = pointer.split('/').skip(1).collect();
    let ["steps", step, "with", name] = parts.as_slice() else { return None };
    let spec = surveyed.specs.get(step.parse::<usize>().ok()?)?.as_deref()?;
    argument::named(spec, &name.replace("~1", "/").replace("~0", "~"))
}

/// Returns the pointer and the value that add an input, in the form that the text has: a mapping or a list of inputs.
fn new_input(surveyed: &Surveyed, name: &str, input: &Input) -> Result<(String, Value)> {
    if !is_identifier(name) {
        return Err(Error::new(Code::InvalidArgument, format!("'{}' is not a valid input name", name.escape_debug()))
            .hint("use letters, digits, - and _, beginning with a letter or _, up to 64 characters"));
    }
    let fields = crate::answer::data(input)?.as_object().cloned().unwrap_or_default();
    Ok(match surveyed.definition.inputs.form {
        Form::Map => (below("/inputs", name), Value::Object(fields)),
        Form::List => {
            let named: Map<String, Value> = [("name".to_owned(), name.into())].into_iter().chain(fields).collect();
            ("/inputs/-".to_owned(), Value::Object(named))
        }
    })
}

/// Returns a step id that the workflow does not have yet: `wanted`, `wanted_2` and so on.
fn free_step(surveyed: &Surveyed, wanted: &str) -> String {
    let numbered = (2_usize..).map(|number| format!("{wanted}_{number}"));
    let mut names = std::iter::once(wanted.to_owned()).chain(numbered);
    names.find(|name| surveyed.definition.step(name).is_none()).unwrap_or_else(|| wanted.to_owned())
}

/// Returns the error for a value that no single edit of the text can change.
fn elsewhere(pointer: &str) -> Error {
    let what = format!("The value at '{}' cannot be changed by itself", pointer.escape_debug());
    Error::new(Code::InvalidArgument, what)
        .hint("the place does not exist, or its value comes from an alias: change the text in an editor")
        .with_details(json!({ "pointer": pointer }))
}
