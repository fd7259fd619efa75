//! Calls installed tools, after checking the arguments and whether the tool is trusted.

use std::cell::RefCell;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::publisher;
use crate::config;
use crate::package::manifest::{Action, Manifest};
use crate::package::schema;
use crate::package::template;
use crate::run::{self, Call, Content, InputFile, Outcome, Tree, Variable, Wished};
use crate::run::{grants, record};
use crate::trust::{Subject, Verb, Verdict};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// The result of a call.
#[derive(Debug)]
pub enum Answer {
    /// The text of a document; nothing was run.
    Document(String),
    Ran(Box<Outcome>),
}

pub struct Called<'c> {
    pub subject: &'c Subject,
    pub manifest: &'c Manifest,
    pub verdict: &'c Verdict,
}

/// Returns the verdict on a tool if the tool may be run. Otherwise records that the run of `action` with `input` was
/// refused. `before` is the tool's previous publisher, if this version is not the installed one.
pub fn require(
    context: &Context,
    verb: Verb,
    (subject, before): (&Subject, Option<&str>),
    action: &str,
    input: &Map<String, Value>,
) -> Result<Verdict> {
    let verdict = publisher::require(context, verb, subject, before, false);
    verdict.inspect_err(|error| note(context, &tool_of(subject, None), action, input, "refused", error))
}

/// Records a run that was refused before anything started. A read-only caller records nothing.
fn note(context: &Context, tool: &run::Tool, action: &str, input: &Map<String, Value>, verdict: &str, error: &Error) {
    if context.store.may_write() {
        record::refused(context, record::RunDetails { tool, action, input, verdict }, error);
    }
}

/// Converts a tool to the type that runs use.
pub fn tool_of(subject: &Subject, verdict: Option<&Verdict>) -> run::Tool {
    let publisher = verdict.and_then(Verdict::publisher);
    run::Tool {
        name: subject.name.clone(),
        version: Some(subject.version.clone()).filter(|version| !version.is_empty()),
        sha256: Some(subject.sha256),
        publisher: publisher.map(|identity| identity.as_str().to_owned()).unwrap_or_default(),
    }
}

impl Called<'_> {
    /// Calls an action of the tool.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` for an unknown action; `E_TOOL_INPUT` for invalid arguments, listing all problems; the
    /// errors of [`run::run`].
    pub fn answer(&self, context: &Context, action: Option<&str>, input: Map<String, Value>) -> Result<Answer> {
        match self.prepare(context, action, input)? {
            None => Ok(Answer::Document(self.manifest.doc.clone().unwrap_or_default())),
            Some(call) => run::run(context, &call).map(|outcome| Answer::Ran(Box::new(outcome))),
        }
    }

    /// Prepares the run of an action; returns `None` if the tool is a document.
    pub fn prepare(&self, context: &Context, action: Option<&str>, input: Map<String, Value>) -> Result<Option<Call>> {
        let Some(action) = self.manifest.action(action)? else { return Ok(None) };
        let tool = tool_of(self.subject, Some(self.verdict));
        let mut given = Vec::new();
        let argv = argv(context, &tool, action, &input, &mut given).inspect_err(|error| {
            note(context, &tool, &action.name, &input, self.verdict.status.word(), error);
        })?;
        let manifest = self.manifest;
        let time = match action.timeout {
            Some(time) => Some(time),
            None => context.store.read(config::timeout)?,
        };
        let variable = |variable: &crate::package::manifest::Variable| Variable {
            name: variable.name.clone(),
            secret: variable.secret,
            required: variable.required,
            default: variable.default.clone(),
        };
        Ok(Some(Call {
            tool,
            action: action.name.clone(),
            tree: Tree::Archive(self.subject.sha256),
            from: manifest.from.clone(),
            build: manifest.builds(),
            argv,
            given,
            input,
            variables: manifest.env.iter().map(variable).collect(),
            limits: Wished {
                time,
                memory: manifest.resources.memory,
                disk: manifest.resources.disk,
                ..Wished::default()
            },
            output_schema: action.output_schema.clone(),
            verdict: self.verdict.status,
            is_local: context.caller.is_on_this_machine(),
            runner: None,
        }))
    }
}

/// Returns the command to start, and adds the files that it reads to `given`.
fn argv(
    context: &Context,
    tool: &run::Tool,
    action: &Action,
    input: &Map<String, Value>,
    given: &mut Vec<InputFile>,
) -> Result<Vec<String>> {
    check(action, input)?;
    let values = paths(context, tool, action, input, given)?;
    render(action, &values, given)
}

/// Checks the arguments against the action's schema.
fn check(action: &Action, input: &Map<String, Value>) -> Result<()> {
    let Some(schema) = &action.input_schema else { return Ok(()) };
    let misfits = schema::check_input(schema, &Value::Object(input.clone()));
    let Some(first) = misfits.first() else { return Ok(()) };
    let place = match first.path.trim_start_matches('/') {
        "" => String::new(),
        argument => format!("'{argument}': "),
    };
    let why = format!("Invalid arguments: {place}{}", first.message);
    let errors: Vec<Value> =
        misfits.iter().map(|misfit| json!({ "path": misfit.path, "message": misfit.message })).collect();
    let error = Error::new(Code::ToolInput, why).with_details(json!({ "errors": errors }));
    let takes = schema::listed(schema).filter(|takes| input.keys().any(|given| !takes.contains(&given.as_str())));
    Err(match takes.as_deref() {
        None => error,
        Some([]) => error.hint("the tool takes no arguments"),
        Some(takes) => error.hint(format!("valid arguments: {}", takes.join(", "))),
    })
}

/// Replaces each path to a user's file with the path that the tool sees in the sandbox, and adds the file to
/// `given`.
///
/// # Errors
/// `E_TOOL_INPUT` if the file does not exist or its path does not end in a file name, if a caller over the network
/// names a file, or if an agent names a file that it may not give to tools.
fn paths(
    context: &Context,
    tool: &run::Tool,
    action: &Action,
    input: &Map<String, Value>,
    given: &mut Vec<InputFile>,
) -> Result<Map<String, Value>> {
    let mut values = input.clone();
    let parameters = action.input_schema.as_ref().map(schema::path_inputs).unwrap_or_default();
    for parameter in parameters {
        let Some(Value::String(path)) = input.get(parameter) else { continue };
        let named = Path::new(path);
        let refused = |why: String| {
            let details = json!({ "errors": [{ "path": format!("/{parameter}"), "message": why }] });
            Err(Error::new(Code::ToolInput, why).with_details(details))
        };
        if !context.caller.is_on_this_machine() {
            return refused(format!(
                "'{parameter}' names a file on this machine; only a local user can pass such a file"
            ));
        }
        let real = mcpkg_base::platform::real(named);
        // The error is the same whether the file exists or not, so that agents cannot probe other folders.
        let place = real.as_ref().ok().cloned().or_else(|| folder_of(named));
        let may_be_given = match &place {
            Some(place) => context.is_shell() || may_be_given(context, tool, place)?,
            None => context.is_shell(),
        };
        if !may_be_given {
            return refused(format!(
                "'{parameter}' names `{}`, which is neither below the deploy root nor in a folder that the tool is allowed to use",
                named.display()
            ));
        }
        let Ok(path) = real else {
            return refused(format!("'{parameter}' names `{}`, which does not exist", named.display()));
        };
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return refused(format!("'{parameter}' names `{}`, which does not end in a file name", named.display()));
        };
        let at = format!("/input/{parameter}/{name}");
        values.insert(parameter.to_owned(), Value::String(at.clone()));
        given.push(InputFile { at, content: Content::Path(path) });
    }
    Ok(values)
}

/// Returns the nearest existing folder above a path that does not exist; `None` if the nearest existing path is not a
/// folder, such as a dangling link.
fn folder_of(path: &Path) -> Option<PathBuf> {
    let is_there = |path: &&Path| path.symlink_metadata().is_ok();
    let absolute = std::path::absolute(path).ok()?;
    let last = absolute.ancestors().find(is_there)?;
    mcpkg_base::platform::real(last).ok().filter(|real| real.is_dir())
}

/// Returns whether an agent may give this file to a tool: it has to be below the deploy root, or in a folder that a
/// person allowed for the tool. The caller checks for a person at a shell, who may give any file.
fn may_be_given(context: &Context, tool: &run::Tool, path: &Path) -> Result<bool> {
    let (granted, root) = context.store.read(|db| {
        let granted = grants::of(db, &context.approved, tool)?;
        Ok((granted.folders, context.domains.deploy_root(db, &context.selection)?))
    })?;
    let mut folders = granted.into_iter().map(PathBuf::from).chain(root);
    Ok(folders.any(|folder| mcpkg_base::platform::real(&folder).is_ok_and(|folder| path.starts_with(folder))))
}

/// Returns the command to start, and adds the files that contain its values to `given`.
fn render(action: &Action, values: &Map<String, Value>, given: &mut Vec<InputFile>) -> Result<Vec<String>> {
    let files = RefCell::new(given);
    let mut file = |parameter: &str, text: &str| {
        let at = format!("/input/.values/{parameter}");
        files.borrow_mut().push(InputFile { at: at.clone(), content: Content::Bytes(text.as_bytes().to_vec()) });
        Ok(at)
    };
    let mut template = template::CallArguments { schema: action.input_schema.as_ref(), values, file: &mut file };
    action.command.render(&mut template)
}
