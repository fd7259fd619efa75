//! `mcpkg workflow run`.

use std::time::Instant;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::arguments::Typed;
use super::{gates, plan, reply};
use crate::consent::nonce::Held;
use crate::error::{Code, Error, Result};
use crate::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use crate::workflow::GROUP;
use crate::workflow::answer::VERSION;
use crate::workflow::check::checked;
use crate::workflow::commands::reachable;
use crate::workflow::engine::{Asked, begin};
use crate::workflow::given::typed;
use crate::workflow::text::argument::{Text, text};

/// Runs a workflow.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Run {
    /// The file with the workflow, YAML or JSON; `-` is standard input
    #[arg(value_name = "FILE", value_parser = text)]
    #[serde(skip, default = "nothing")]
    file: Text,
    /// The value of an input; that of a secret is a reference, such as env:NAME
    #[arg(short, long, value_name = "NAME=VALUE")]
    #[serde(skip)]
    input: Vec<Typed>,
}

/// What an agent would give: it has `execute`.
fn nothing() -> Text {
    Text::Agent(String::new())
}

impl Operation for Run {
    const TOOL: &'static str = "run_workflow";
    const CLI: &'static [&'static str] = &["workflow", "run"];
    const TITLE: &'static str = "Run a workflow";
    const ABOUT: &'static str = "Run a workflow, once you have seen what it does";
    const HELP: &'static str = "Shows what it does and asks; --yes does not answer for you. Each attempt at a step is noted before its \
        request leaves: what is interrupted goes on with `mcpkg workflow resume`, and no step that succeeded is repeated.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg workflow run app.yaml --input region=eu", "mcpkg workflow run app.yaml --input token=env:API_TOKEN"];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.file.name().into_owned()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        gates::policy(context)?;
        let text = self.file.read_or_saved(context)?;
        let plan = plan::of_text(context, &text, inputs(context, &text, &self.input)?)?;
        let consent = gates::consent(context, &plan, Held::Nothing)?;
        let asked = Asked { program: &plan.program, definition: &plan.definition, plan_hash: &plan.hash };
        let begun = begin(context, asked, &consent)?;
        reply::carry(context, plan, begun, Instant::now())
    }
}

/// Returns typed values by name, each read as its input's type.
fn inputs(context: &Context, text: &str, given: &[Typed]) -> Result<Map<String, Value>> {
    let checked = checked(text, &reachable(context))?;
    let mut inputs = Map::new();
    for Typed { name, value } in given {
        let value = match checked.definition() {
            Some(definition) => typed(definition, name, value),
            None => Value::String(value.clone()),
        };
        if inputs.insert(name.clone(), value).is_some() {
            return Err(Error::new(
                Code::InvalidArgument,
                format!("The input '{}' is given twice", name.escape_debug()),
            ));
        }
    }
    Ok(inputs)
}
