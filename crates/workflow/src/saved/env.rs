//! `mcpkg workflow env ...`: manages the values that workflows of a project may read as `env.NAME`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::answer::VERSION;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact;
use mcpkg_base::secret;
use mcpkg_core::op::{
    Body, Changes, Context, Effect, Faces, Name, Names, NoOutput, Operation, Reply, Shape, Table, cell,
};
use mcpkg_store::workflows::{self, Variable};

/// Maximum size of a value, in bytes.
const MAX_VALUE: usize = 64 << 10;

/// Shell completion for the names of the variables that are set.
const SET: Names = Names::Stored(|typed| {
    let names = workflows::variable_names(typed.db, typed.selection)?.into_iter();
    Ok(names.filter(|name| name.starts_with(typed.prefix)).take(typed.limit).map(Name::from).collect())
});

/// Let workflows read a value
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// Name of the variable
    name: String,
    /// Value to set; it is stored in plain text, so do not give a secret
    #[arg(allow_hyphen_values = true)]
    value: String,
}

impl Operation for Set {
    const TOOL: &'static str = "set_workflow_env";
    const CLI: &'static [&'static str] = &["workflow", "env", "set"];
    const TITLE: &'static str = "Let workflows read a value";
    const ABOUT: &'static str = "Set a value that the project's workflows can read as env.NAME";
    const HELP: &'static str = "Workflows can read only values that you set with this command, never the environment variables of the \
        mcpkg process. Agents can see these values, so do not store a secret in a value. Instead, set up the secret in the API or \
        plugin that needs it.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow env set REGION eu"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        check(&self.name, &self.value)?;
        let variable = Variable { name: self.name, value: self.value, set_at: context.clock.now() };
        let project = context.write("workflow.env.set", &variable.name, |db, project, _| {
            workflows::set_variable(db, project.id, &variable)?;
            Ok(project.name.clone())
        })?;
        let sentence = format!("Workflows of project '{project}' can now read env.{}", variable.name);
        Ok(Reply::sentence(sentence, data(&variable)))
    }
}

/// Remove a value for workflows
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Unset {
    /// Name of the variable
    #[arg(add = SET)]
    name: String,
}

impl Operation for Unset {
    const TOOL: &'static str = "unset_workflow_env";
    const CLI: &'static [&'static str] = &["workflow", "env", "unset"];
    const TITLE: &'static str = "Remove a value for workflows";
    const ABOUT: &'static str = "Remove a value that the project's workflows can read";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow env unset REGION"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let name = &self.name;
        let project = context.write("workflow.env.unset", name, |db, project, _| {
            if workflows::unset_variable(db, project.id, name)? {
                return Ok(project.name.clone());
            }
            let set = workflows::variables(db, project.id)?;
            let what = format!("Project '{}' has no value env.{}", project.name, name.escape_debug());
            let error = Error::new(Code::NotFound, what).with_details(json!({ "name": name }));
            let known = set.iter().map(|variable| variable.name.as_str());
            Err(error.suggest(name, known, "`mcpkg workflow env list` shows the values that are set"))
        })?;
        let sentence = format!("Workflows of project '{project}' can no longer read env.{name}");
        Ok(Reply::sentence(sentence, json!({ "name": name })))
    }
}

/// List the values that workflows can read
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_workflow_env";
    const CLI: &'static [&'static str] = &["workflow", "env", "list"];
    const TITLE: &'static str = "List the values that workflows can read";
    const ABOUT: &'static str = "List the values that the project's workflows can read as env.NAME";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow env list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("variables");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (set, project) =
            context.read(|db, project| Ok((workflows::variables(db, project.id)?, project.name.clone())))?;
        let row = |variable: &Variable| {
            vec![variable.name.clone(), cell(&variable.value).into_owned(), rfc3339(variable.set_at)]
        };
        let table = Table {
            columns: &["NAME", "VALUE", "SET"],
            rows: set.iter().map(row).collect(),
            empty: format!("Project '{project}' has no values for workflows"),
        };
        let variables: Vec<Value> = set.iter().map(data).collect();
        Ok(Reply::new(Body::Table(table), json!({ "variables": variables })))
    }
}

/// Refuses an invalid name, and a value that is too long, contains U+0000, or looks like a secret.
fn check(name: &str, value: &str) -> Result<()> {
    let refuse = |why: String| Err(Error::new(Code::InvalidArgument, why));
    if !secret::is_variable(name) {
        return Err(secret::not_a_variable(name));
    }
    if value.contains('\0') {
        return refuse(format!("The value of {name} contains the character U+0000"));
    }
    if value.len() > MAX_VALUE {
        return refuse(format!("The value of {name} has {} bytes; the limit is {MAX_VALUE}", value.len()));
    }
    if redact::holds_token(value) || redact::redacted(value) != value {
        return refuse(format!("The value of {name} looks like a secret; nothing was stored")).map_err(
            |error: Error| {
                error.hint(
                    "set up the secret in the API or plugin that needs it, as env:NAME, file:PATH or command:PROGRAM",
                )
            },
        );
    }
    Ok(())
}

fn data(variable: &Variable) -> Value {
    json!({ "name": variable.name, "value": variable.value, "set_at": rfc3339(variable.set_at) })
}
