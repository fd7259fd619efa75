//! Reads the actions of a manifest: its `scripts`, or its single `command`.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::fields::Fields;
use super::node::{Node, Place, Tree};
use super::problem::{Kind, Problems};
use super::types::{Action, MAIN};
use super::unit;
use crate::package::reference::is_action;
use crate::package::schema;
use crate::package::template::{Argv, CommandLine, Shell};
use mcpkg_base::error::nearest;

/// The fields that a tool and its scripts share, and the variables that the tool declares. A script inherits the fields
/// that it does not set itself.
#[derive(Clone, Default)]
pub(super) struct Common {
    pub(super) input_schema: Option<Value>,
    pub(super) output_schema: Option<Value>,
    pub(super) annotations: Option<Map<String, Value>>,
    pub(super) timeout: Option<Duration>,
    pub(super) env: Vec<String>,
}

const KEYS: [&str; 7] = ["command", "description", "title", "inputSchema", "outputSchema", "annotations", "timeout"];

const ANNOTATIONS: [&str; 5] = ["title", "readOnlyHint", "destructiveHint", "idempotentHint", "openWorldHint"];

impl Common {
    /// Reads the defaults from the fields of a tool or a script. `env` stays empty.
    pub(super) fn read(fields: &Fields<'_>, problems: &mut Problems) -> Self {
        let mut annotations = None;
        if let Some(pair) = fields.get("annotations")
            && let Some(inner) = Fields::of(&pair.node, fields.path("annotations"), problems)
        {
            inner.text("title", problems);
            for hint in &ANNOTATIONS[1..] {
                inner.truth(hint, problems);
            }
            inner.warn_of_unknown(&ANNOTATIONS, problems);
            annotations = pair.node.to_json().as_object().cloned();
        }
        Self {
            input_schema: schema(fields, "inputSchema", problems),
            output_schema: schema(fields, "outputSchema", problems),
            annotations,
            timeout: timeout(fields, problems),
            env: Vec::new(),
        }
    }
}

fn timeout(fields: &Fields<'_>, problems: &mut Problems) -> Option<Duration> {
    let text = fields.scalar("timeout", problems)?;
    let at = fields.get("timeout")?.node.at;
    unit::time(&text).map_err(|why| problems.error(&fields.path("timeout"), at, Kind::Value, why)).ok()
}

/// Reads a JSON Schema. MCP requires that an input schema describes an object.
fn schema(fields: &Fields<'_>, key: &str, problems: &mut Problems) -> Option<Value> {
    let node = &fields.get(key)?.node;
    let mut read = node.to_json();
    let whole = fields.path(key);
    let mut wrong = |why: String| problems.error(&whole, node.at, Kind::Schema, why);
    let Some(map) = read.as_object_mut() else {
        wrong("it must be a JSON Schema, written as a mapping".to_owned());
        return None;
    };
    if key == "inputSchema" {
        match map.get("type") {
            None => drop(map.shift_insert(0, "type".to_owned(), json!("object"))),
            Some(Value::String(object)) if object == "object" => {}
            Some(_) => {
                wrong("its `type` must be `object`, since arguments have names".to_owned());
                return None;
            }
        }
    }
    if let Some(schema::Misfit { path, message }) = schema::wrong(&read) {
        problems.error(&format!("{whole}{path}"), node.below(&path).at, Kind::Schema, message);
        return None;
    }
    Some(read)
}

pub(super) fn actions(fields: &Fields<'_>, common: &Common, problems: &mut Problems) -> Vec<Action> {
    let mut actions = Vec::new();
    if let Some(pair) = fields.get("command") {
        let path = fields.path("command");
        if let Some(text) = fields.text("command", problems) {
            match Shell::parse(text, common.input_schema.as_ref(), &common.env) {
                Ok(shell) => {
                    actions.push(of(MAIN, CommandLine::Shell(shell), None, None, common));
                    advise(&actions[0], &path, pair.node.at, problems);
                    if let Some(name) = in_braces(text) {
                        let message = format!(
                            "the shell gets `{{{{{name}}}}}` unchanged; write `${{{name}}}`, or move the command to `scripts`"
                        );
                        problems.warn(&path, pair.node.at, Kind::Advice, message);
                    }
                }
                Err(why) => problems.error(&path, pair.node.at, Kind::Command, why),
            }
        }
    }
    if let Some(pair) = fields.get("scripts") {
        scripts(&pair.node, fields, common, &mut actions, problems);
    }
    advise_unused(fields, &actions, problems);
    actions
}

fn scripts(node: &Node, fields: &Fields<'_>, common: &Common, actions: &mut Vec<Action>, problems: &mut Problems) {
    let Some(scripts) = Fields::of(node, fields.path("scripts"), problems) else { return };
    for pair in scripts.pairs {
        let path = scripts.path(&pair.key);
        if !is_action(&pair.key) {
            let why = "an action's name must have 1 to 64 characters from A-Z, a-z, 0-9, _ and -";
            problems.error(&path, pair.at, Kind::Value, why);
        } else if actions.iter().any(|action| action.name == pair.key) {
            problems.error(&path, pair.at, Kind::Value, "`command` already defines the action `main`");
        } else {
            actions.extend(script(&pair.key, &pair.node, path, common, problems));
        }
    }
}

/// Warns about arguments in the schema that no command uses.
fn advise_unused(fields: &Fields<'_>, actions: &[Action], problems: &mut Problems) {
    let mut unused: Vec<&str> = Vec::new();
    for listed in actions.iter().filter_map(|action| schema::properties(action.input_schema.as_ref()?)) {
        unused.extend(listed);
    }
    let used: Vec<&str> = actions.iter().flat_map(|action| action.command.parameters()).collect();
    unused.retain(|name| !used.contains(name));
    unused.sort_unstable();
    unused.dedup();
    for name in unused {
        let message = format!("no command uses the argument '{name}', so its value is ignored");
        problems.warn(&fields.path("inputSchema"), fields.at, Kind::Advice, message);
    }
}

/// Reads an entry of `scripts`: a command line, or a mapping that contains one.
fn script(name: &str, node: &Node, path: String, common: &Common, problems: &mut Problems) -> Option<Action> {
    let Tree::Mapping(_) = &node.value else {
        let command = argv(node, &path, problems)?;
        let action = of(name, command, None, None, common);
        advise(&action, &path, node.at, problems);
        return Some(action);
    };
    let fields = Fields::of(node, path, problems)?;
    fields.warn_of_unknown(&KEYS, problems);
    let title = fields.text("title", problems).map(str::to_owned);
    let description = fields.text("description", problems).map(str::to_owned);
    let own = Common::read(&fields, problems);
    let common = Common {
        input_schema: own.input_schema.or_else(|| common.input_schema.clone()),
        output_schema: own.output_schema.or_else(|| common.output_schema.clone()),
        annotations: own.annotations.or_else(|| common.annotations.clone()),
        timeout: own.timeout.or(common.timeout),
        env: common.env.clone(),
    };
    let Some(pair) = fields.get("command") else {
        problems.error(&fields.path("command"), fields.at, Kind::Missing, "a script needs a `command`");
        return None;
    };
    let path = fields.path("command");
    let command = argv(&pair.node, &path, problems)?;
    let action = of(name, command, title, description, &common);
    advise(&action, &path, pair.node.at, problems);
    Some(action)
}

/// Reads a command line that runs without a shell: a string or a list.
fn argv(node: &Node, path: &str, problems: &mut Problems) -> Option<CommandLine> {
    let read = match &node.value {
        Tree::Scalar(Value::String(text)) => Argv::split(text),
        Tree::List(_) => Argv::list(node.to_json().as_array().map_or(&[], Vec::as_slice)),
        _ => Err("it must be a command line: a string or a list".to_owned()),
    };
    read.map(CommandLine::Argv).map_err(|why| problems.error(path, node.at, Kind::Command, why)).ok()
}

fn of(name: &str, command: CommandLine, title: Option<String>, description: Option<String>, common: &Common) -> Action {
    Action {
        name: name.to_owned(),
        title,
        description,
        command,
        input_schema: common.input_schema.clone(),
        output_schema: common.output_schema.clone(),
        annotations: common.annotations.clone(),
        timeout: common.timeout,
    }
}

/// Returns the name in the first `{{name}}` of a text. Only `scripts` write parameters like this.
fn in_braces(text: &str) -> Option<&str> {
    let is_name = |name: &&str| {
        name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'_')
    };
    text.split("{{").skip(1).find_map(|rest| rest.split_once("}}").map(|(name, _)| name.trim()).filter(is_name))
}

/// Warns about parts of a command that do not do what they seem to do, and refuses parameters that are missing from
/// the schema.
fn advise(action: &Action, path: &str, at: Place, problems: &mut Problems) {
    let schema = action.input_schema.as_ref();
    if let Some(listed) = schema.and_then(schema::listed) {
        for name in action.command.parameters().into_iter().filter(|name| !listed.contains(name)) {
            let message = format!("`inputSchema` has no property for the parameter '{name}'");
            let message = match nearest(name, listed.iter().copied()) {
                Some(near) => format!("{message}; did you mean '{near}'?"),
                None => message,
            };
            problems.error(path, at, Kind::Command, message);
        }
    }
    match &action.command {
        CommandLine::Argv(argv) => {
            for option in argv.lone_options(|name| schema::may_be_missing(schema, name)) {
                let message = format!(
                    "`{option}` is passed even if its value is missing; to leave out both, put the option and its value in a nested list"
                );
                problems.warn(path, at, Kind::Advice, message);
            }
            let declared = schema.and_then(schema::properties).unwrap_or_default();
            for name in action.command.literal_names().into_iter().filter(|name| declared.contains(name)) {
                let message = format!(
                    "`${{{name}}}` is passed unchanged here, since no shell runs this command; write `{{{{{name}}}}}`"
                );
                problems.warn(path, at, Kind::Advice, message);
            }
            if let Some(word) = argv.shell_word() {
                let message = format!(
                    "`{word}` is passed as an argument here, since no shell runs this command; use `command` for shell syntax"
                );
                problems.warn(path, at, Kind::Advice, message);
            }
        }
        CommandLine::Shell(shell) => {
            for name in shell.unbraced() {
                let message = format!("`${name}` is a shell variable; for the parameter write `${{{name}}}`");
                problems.warn(path, at, Kind::Advice, message);
            }
        }
    }
}
