//! `mcpkg tool env`: sets the variables of tools. Secrets are stored only as references.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::run::grants;
use crate::run::is_usual;
use crate::trust::pattern;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::secret::{self, Reference};
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, Name, Names, NoOutput, Operation, Reply, Shape, Table};
use mcpkg_store::tools::env::{self, Setting, Variable};

/// The names of the variables that are set, for shell completion.
const SET: Names = Names::Stored(|typed| {
    let mut names: Vec<String> = env::all(typed.db)?.into_iter().map(|variable| variable.name).collect();
    names.dedup();
    let names = names.into_iter().filter(|name| name.starts_with(typed.prefix));
    Ok(names.take(typed.limit).map(Name::from).collect())
});

/// Set a variable for tools
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Set {
    /// The variable's name
    name: String,
    /// Where mcpkg reads the value: env:NAME, file:PATH or command:PROGRAM ARGUMENTS
    #[arg(required_unless_present = "value")]
    reference: Option<String>,
    /// Value of the variable, if it is not a secret; stored in plain text
    #[arg(long, value_name = "TEXT", conflicts_with = "reference", allow_hyphen_values = true)]
    value: Option<String>,
    /// Tools that get the variable, such as 'alice/*'
    #[arg(id = "for", long = "for", value_name = "PATTERN", default_value_t = everything())]
    #[serde(default = "everything", rename = "for")]
    pattern: String,
}

fn everything() -> String {
    "*".to_owned()
}

impl Operation for Set {
    const TOOL: &'static str = "set_tool_env";
    const CLI: &'static [&'static str] = &["tool", "env", "set"];
    const TITLE: &'static str = "Set a variable for tools";
    const ABOUT: &'static str = "Set an environment variable for tools: give its value, or where mcpkg reads its value";
    const HELP: &'static str = "A tool gets a variable only if the tool's manifest declares the variable. If you give a reference, mcpkg \
        reads the value each time it starts the tool, never stores the value, and hides the value in the tool's output. A secret must be \
        at least four bytes long.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg tool env set WEATHER_KEY env:WEATHER_KEY --for 'alice/*'",
        "mcpkg tool env set GITHUB_TOKEN 'command:gh auth token' --for bob/github/issues",
        "mcpkg tool env set REGION --value eu-central-1",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        check(&self.name)?;
        pattern::check(&self.pattern)?;
        let setting = match (&self.reference, self.value) {
            (Some(reference), _) => Setting::Reference(reference.parse::<Reference>()?.to_string()),
            (None, Some(value)) if value.contains('\0') => {
                return Err(Error::new(Code::InvalidArgument, "A variable's value cannot contain NUL"));
            }
            (None, Some(value)) => Setting::Value(value),
            (None, None) => {
                return Err(Error::new(Code::InvalidArgument, "Pass a reference or a --value for the variable")
                    .hint("such as env:API_TOKEN, file:~/.config/token or command:pass show token"));
            }
        };
        let author = context.author();
        let variable = Variable { name: self.name, pattern: self.pattern, setting, set_at: author.now };
        // Record the approval before the row is written: without the approval, no tool gets the variable.
        grants::approve_secret(&context.approved, &variable)?;
        let replaced = context.store.write(|db| {
            let before = find(db, &variable.name, &variable.pattern)?;
            env::set(db, &variable)?;
            context.event(db, author, None, "tool.env.set", &variable.name)?;
            Ok(before)
        })?;
        if let Some(replaced) = replaced.filter(|replaced| replaced.setting != variable.setting) {
            grants::withdraw_secret(&context.approved, &replaced)?;
        }
        let sentence = match &variable.setting {
            Setting::Reference(reference) => {
                format!("Tools that match '{}' get {} from `{reference}`", variable.pattern, variable.name)
            }
            Setting::Value(_) => {
                format!("Tools that match '{}' get {}, set to this value", variable.pattern, variable.name)
            }
        };
        Ok(Reply::sentence(sentence, data(&variable, true)))
    }
}

/// List variables for tools
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_tool_env";
    const CLI: &'static [&'static str] = &["tool", "env", "list"];
    const TITLE: &'static str = "List variables for tools";
    const ABOUT: &'static str = "List the variables that tools get, and where mcpkg reads the values of secrets";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool env list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("variables");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let found = context.store.read(env::all)?;
        let (mut rows, mut listed, mut unread) = (Vec::new(), Vec::new(), 0);
        for variable in &found {
            let is_read = grants::may_read(&context.approved, variable)?;
            unread += usize::from(!is_read);
            let from = match &variable.setting {
                Setting::Reference(reference) => reference.clone(),
                Setting::Value(value) => mcpkg_core::op::cell(value).into_owned(),
            };
            let counts = if is_read { "yes" } else { "no" };
            rows.push(vec![variable.name.clone(), variable.pattern.clone(), from, counts.to_owned()]);
            listed.push(data(variable, is_read));
        }
        let table = Table {
            columns: &["NAME", "FOR", "FROM", "READ"],
            rows,
            empty: "No variables are set for tools".to_owned(),
        };
        let reply = Reply::new(Body::Table(table), json!({ "variables": listed }));
        Ok(match unread {
            0 => reply,
            _ => reply.hint("mcpkg reads only secrets that you set on this machine: set the others again"),
        })
    }
}

/// Unset a variable for tools
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Unset {
    /// The variable's name
    #[arg(add = SET)]
    name: String,
    /// Tools that the variable was set for
    #[arg(id = "for", long = "for", value_name = "PATTERN", default_value_t = everything())]
    #[serde(default = "everything", rename = "for")]
    pattern: String,
}

impl Operation for Unset {
    const TOOL: &'static str = "unset_tool_env";
    const CLI: &'static [&'static str] = &["tool", "env", "unset"];
    const TITLE: &'static str = "Unset a variable for tools";
    const ABOUT: &'static str = "Stop passing a variable to tools";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool env unset WEATHER_KEY --for 'alice/*'"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(None);
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let author = context.author();
        let variable = context.store.write(|db| {
            let Some(variable) = find(db, &self.name, &self.pattern)? else {
                let why = format!("The variable {} is not set for '{}'", self.name.escape_debug(), self.pattern);
                return Err(
                    Error::new(Code::NotFound, why).hint("`mcpkg tool env list` shows all variables and their tools")
                );
            };
            env::unset(db, &self.name, &self.pattern)?;
            context.event(db, author, None, "tool.env.unset", &self.name)?;
            Ok(variable)
        })?;
        grants::withdraw_secret(&context.approved, &variable)?;
        let sentence = format!("Tools that match '{}' no longer get {}", variable.pattern, variable.name);
        Ok(Reply::sentence(sentence, data(&variable, false)))
    }
}

fn find(db: &mcpkg_store::Db<'_>, name: &str, pattern: &str) -> Result<Option<Variable>> {
    Ok(env::all(db)?.into_iter().find(|variable| variable.name == name && variable.pattern == pattern))
}

fn check(name: &str) -> Result<()> {
    if !secret::is_variable(name) {
        return Err(secret::not_a_variable(name));
    }
    if is_usual(name) {
        return Err(Error::new(
            Code::InvalidArgument,
            format!("mcpkg sets {name} itself, to the same value for every tool"),
        ));
    }
    Ok(())
}

/// Returns a variable as JSON; `counts` says whether tools get it.
fn data(variable: &Variable, counts: bool) -> Value {
    let (reference, value) = match &variable.setting {
        Setting::Reference(reference) => (Some(reference), None),
        Setting::Value(value) => (None, Some(value)),
    };
    json!({
        "name": variable.name,
        "for": variable.pattern,
        "reference": reference,
        "value": value,
        "read": counts,
        "set_at": rfc3339(variable.set_at),
    })
}
