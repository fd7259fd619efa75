//! Turns the operations of an OpenAPI document into commands.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::Value;

use super::arguments::{self, Arguments, IDEMPOTENCY_KEY, short};
use super::document::Document;
use super::naming::{self, Unnamed};
use super::output;
use super::reference::References;
use super::security::{self, Scheme};
use super::servers::{self, Server};
use super::swagger::METHODS;
use super::violation::{Fault, Rule, Violation, invalid};
use crate::contracts;
use crate::spec::{CommandEffect, CommandSpec, Hashed, Idempotency, Place, SourceKind};
use mcpkg_base::error::Result;
use mcpkg_base::http::Url;

pub const MOST_OPERATIONS: usize = 20_000;

/// Maximum length of a summary, in characters.
const SUMMARY: usize = 160;

/// Options of an import.
#[derive(Clone, Debug, Default)]
pub struct Wanted {
    /// Name of the document in messages.
    pub from: String,
    /// URL of the document, if it has one.
    pub url: Option<Url>,
    /// The group of all commands. If empty, the first segment of each path is the group.
    pub prefix: String,
    /// The group of commands whose path has no segment, if there is no prefix.
    pub fallback: String,
    /// Ids of known commands by method and path; they stay the same.
    pub kept: HashMap<(String, String), String>,
    /// Other ids that are in use.
    pub taken: HashSet<String>,
}

/// The result of an import.
#[derive(Clone, Debug, PartialEq)]
pub struct Imported {
    pub title: String,
    pub version: String,
    /// The OpenAPI version of the document.
    pub openapi: String,
    pub servers: Vec<Server>,
    /// The authentication schemes by name.
    pub schemes: BTreeMap<String, Scheme>,
    /// The commands, sorted by id.
    pub commands: Vec<Command>,
    /// The violations that made mcpkg skip operations.
    pub left_out: Vec<Violation>,
}

/// A command, and the operation that it calls.
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// The method, in upper case.
    pub method: String,
    /// The path as written in the document.
    pub path: String,
    /// The command. If the operation has no server of its own, `base_url` is empty and the catalog fills it in.
    pub spec: CommandSpec,
}

struct Operation<'d> {
    method: String,
    path: &'d str,
    item: &'d Value,
    value: &'d Value,
}

impl Operation<'_> {
    fn name(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

pub fn title(document: &Document) -> &str {
    document.value()["info"]["title"].as_str().map(str::trim).filter(|title| !title.is_empty()).unwrap_or("API")
}

/// Converts the operations of a document to commands. An operation that breaks a rule is skipped and reported.
///
/// # Errors
/// `E_CATALOG_INVALID` with the violations and their places, if no operation can be imported, or if the document has no `paths`
/// or too many operations.
pub fn commands(document: &Document, wanted: &Wanted) -> Result<Imported> {
    let root = document.value();
    let references = References::new(root);
    let mut faults: Vec<(Fault<'_>, Option<String>)> = Vec::new();
    let operations = match operations(references, root, &mut faults) {
        Ok(operations) => operations,
        Err(fault) => return Err(invalid(&wanted.from, &document.placed(&[(fault, None)]))),
    };
    let schemes = security::schemes(references, root);
    let servers = servers::of(root, wanted.url.as_ref());
    let mut made = Vec::new();
    for operation in &operations {
        match command(references, root, operation, &schemes, wanted.url.as_ref()) {
            Ok(spec) => made.push((operation, spec)),
            Err(fault) => faults.push((fault, Some(operation.name()))),
        }
    }
    let left_out = if faults.is_empty() { Vec::new() } else { document.placed(&faults) };
    if made.is_empty() {
        return Err(invalid(&wanted.from, &left_out));
    }
    let info = &root["info"];
    let version = match &info["version"] {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => String::new(),
    };
    Ok(Imported {
        title: title(document).to_owned(),
        version,
        openapi: document.openapi(),
        servers,
        schemes,
        commands: finished(named(made, wanted)),
        left_out,
    })
}

/// Returns the operations of a document, in document order.
fn operations<'d>(
    references: References<'d>,
    root: &'d Value,
    faults: &mut Vec<(Fault<'d>, Option<String>)>,
) -> Result<Vec<Operation<'d>>, Fault<'d>> {
    let Some(paths) = root["paths"].as_object() else {
        return Err(Fault { rule: Rule::PathsMissing, message: "it has no `paths` object".to_owned(), at: root });
    };
    let mut found: Vec<Operation<'d>> = Vec::new();
    for (path, item) in paths.iter().filter(|(path, _)| path.starts_with('/')) {
        let shared = match references.follow(item) {
            Ok(shared) => shared,
            Err(fault) => {
                faults.push((fault, Some(path.clone())));
                continue;
            }
        };
        // A path item may have operations next to a `$ref`.
        let own = Some(item).filter(|item| !std::ptr::eq(*item, shared));
        for item in [shared].into_iter().chain(own) {
            for (key, value) in methods(item) {
                let method = key.to_ascii_uppercase();
                if found.iter().rev().take_while(|known| known.path == path).any(|known| known.method == method) {
                    continue;
                }
                match operation(references, value) {
                    Ok(value) => found.push(Operation { method, path, item, value }),
                    Err(fault) => faults.push((fault, Some(format!("{method} {path}")))),
                }
            }
        }
    }
    let fault = |rule, message: String| Err(Fault { rule, message, at: &root["paths"] });
    match found.len() {
        0 if faults.is_empty() => fault(Rule::NoOperations, "its paths define no operations".to_owned()),
        many if many > MOST_OPERATIONS => {
            let message = format!("it has {many} operations; the limit is {MOST_OPERATIONS}");
            fault(Rule::LimitExceeded, message)
        }
        _ => Ok(found),
    }
}

/// Returns the operations of a path item by method.
fn methods(item: &Value) -> impl Iterator<Item = (&String, &Value)> {
    let known = item.as_object().into_iter().flatten();
    let known = known.filter(|(key, value)| METHODS.contains(&key.as_str()) && value.is_object());
    known.chain(item["additionalOperations"].as_object().into_iter().flatten())
}

/// Returns an operation, following a reference.
fn operation<'d>(references: References<'d>, value: &'d Value) -> Result<&'d Value, Fault<'d>> {
    let operation = references.follow(value)?;
    if operation.is_object() || std::ptr::eq(operation, value) {
        return Ok(operation);
    }
    let message =
        format!("the reference `{}` does not point to an operation", value["$ref"].as_str().unwrap_or_default());
    Err(Fault { rule: Rule::RefUnknown, message, at: value.get("$ref").unwrap_or(value) })
}

/// Makes the command of an operation. The command gets its id later.
fn command<'d>(
    references: References<'d>,
    root: &'d Value,
    operation: &Operation<'d>,
    schemes: &BTreeMap<String, Scheme>,
    from: Option<&Url>,
) -> Result<CommandSpec, Fault<'d>> {
    let Operation { method, path, item, value } = operation;
    let Arguments { positionals, flags, body, path: argument_path, why_not } =
        arguments::of(references, path, item, value)?;
    let lists = method == "GET" && !naming::names_one(path);
    let mut output_contract = output::contract(references, &value["responses"], lists)?;
    let effect = effect(method, value);
    if effect != CommandEffect::Read {
        output_contract.list = None;
    }
    let has_key =
        flags.iter().any(|flag| flag.r#in == Some(Place::Header) && flag.name.eq_ignore_ascii_case(IDEMPOTENCY_KEY));
    let required = security::required(root, value, schemes);
    let (base_url, unknown) = own_server(root, &[value, item], from);
    let description = value["description"].as_str().or_else(|| item["description"].as_str());
    let why_not = why_not.or(required.why_not).or(unknown);
    Ok(CommandSpec {
        id: String::new(),
        group: String::new(),
        name: String::new(),
        path: Some(argument_path),
        method: Some(method.clone()),
        summary: summary(value, item, &operation.name()),
        description: description.map(short).filter(|text| !text.is_empty()),
        source: SourceKind::Catalogs,
        effect,
        idempotency: idempotency(method, value, has_key),
        flags,
        positionals,
        body,
        output_contract,
        auth: required.schemes,
        base_url,
        provider_for: Vec::new(),
        aliases: value["operationId"].as_str().map(str::to_owned).into_iter().collect(),
        deprecated: value["deprecated"] == true,
        runnable: why_not.is_none(),
        why_not,
        caution: None,
        hashed: Hashed::default(),
    })
}

/// Returns the server that an operation or its path item defines, if any. If the server's address is unknown, returns why the
/// operation cannot run.
fn own_server(root: &Value, holders: &[&Value], from: Option<&Url>) -> (Option<String>, Option<String>) {
    let has_own = |holder: &&&Value| holder["servers"].as_array().is_some_and(|servers| !servers.is_empty());
    let Some(holder) = holders.iter().find(has_own) else { return (None, None) };
    // A relative server URL is resolved against the document's URL. If the document has no URL, the URL of its first
    // server is used instead.
    let general = servers::of(root, from).into_iter().next().and_then(|server| Url::parse(&server.url));
    match servers::of(holder, from.or(general.as_ref())).into_iter().next() {
        Some(server) => (Some(server.url), None),
        None => (None, Some("it defines its own server, but the address of that server is unknown".to_owned())),
    }
}

/// Returns a one-line summary of an operation.
fn summary(value: &Value, item: &Value, name: &str) -> String {
    let texts = [&value["summary"], &value["description"], &item["summary"]];
    let line = |text: &Value| {
        let line = text.as_str()?.lines().map(str::trim).find(|line| !line.is_empty())?;
        let plain: String = line.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        Some(plain.trim_end_matches('.').to_owned())
    };
    let text = texts.into_iter().find_map(line).unwrap_or_else(|| name.to_owned());
    match text.char_indices().nth(SUMMARY) {
        Some((end, _)) => format!("{}…", text[..end].trim_end()),
        None => text,
    }
}

/// Returns the effect of an operation. It follows from the method unless the document sets `x-mcpkg-effect`.
fn effect(method: &str, value: &Value) -> CommandEffect {
    match (value["x-mcpkg-effect"].as_str(), method) {
        (Some("read"), _) => CommandEffect::Read,
        (Some("write"), _) => CommandEffect::Write,
        (Some("destroy"), _) => CommandEffect::Destroy,
        (_, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY") => CommandEffect::Read,
        (_, "DELETE") => CommandEffect::Destroy,
        _ => CommandEffect::Write,
    }
}

/// Returns whether an operation is safe to repeat. It follows from the method unless the document sets `x-mcpkg-idempotency`.
fn idempotency(method: &str, value: &Value, has_key: bool) -> Idempotency {
    match (value["x-mcpkg-idempotency"].as_str(), method) {
        (Some("safe"), _) => Idempotency::Safe,
        (Some("idempotent"), _) => Idempotency::Idempotent,
        (Some("key"), _) => Idempotency::Key,
        (Some("none"), _) => Idempotency::None,
        (_, "GET" | "HEAD" | "OPTIONS" | "TRACE" | "QUERY") => Idempotency::Safe,
        (_, "PUT" | "DELETE") => Idempotency::Idempotent,
        _ if has_key => Idempotency::Key,
        _ => Idempotency::None,
    }
}

/// Gives each command its id.
fn named(made: Vec<(&Operation<'_>, CommandSpec)>, wanted: &Wanted) -> Vec<Command> {
    let unnamed: Vec<Unnamed<'_>> = made
        .iter()
        .map(|(operation, _)| {
            let operation_id = operation.value["operationId"].as_str();
            Unnamed { method: &operation.method, path: operation.path, operation_id }
        })
        .collect();
    let scheme = naming::Scheme {
        prefix: wanted.prefix.clone(),
        fallback: wanted.fallback.clone(),
        kept: wanted.kept.clone(),
        taken: wanted.taken.clone(),
    };
    let ids = naming::named(&unnamed, &scheme);
    made.into_iter()
        .zip(ids)
        .map(|((operation, mut spec), id)| {
            call(&mut spec, &id);
            Command { method: operation.method.clone(), path: operation.path.to_owned(), spec }
        })
        .collect()
}

/// Sets the id, the group and the name of a command.
pub fn call(spec: &mut CommandSpec, id: &str) {
    let (group, name) = id.split_once(':').unwrap_or((id, ""));
    (spec.id, spec.group, spec.name) = (id.to_owned(), group.to_owned(), name.to_owned());
}

/// Sorts the commands by id, and fills in what depends on all of them, such as the providers of arguments.
fn finished(mut commands: Vec<Command>) -> Vec<Command> {
    commands.sort_by(|a, b| a.spec.id.cmp(&b.spec.id));
    let (places, mut specs): (Vec<_>, Vec<_>) =
        commands.into_iter().map(|command| ((command.method, command.path), command.spec)).unzip();
    contracts::complete(&mut specs);
    places.into_iter().zip(specs).map(|((method, path), spec)| Command { method, path, spec }).collect()
}
