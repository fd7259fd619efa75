//! Places MCP servers in each agent's configuration file, and files that belong to only one agent.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use serde_json::Value;

use super::files::of_kind;
use crate::desired::builder::Builder;
use crate::desired::left_out::Reason;
use crate::desired::output::{Form, Part, part};
use crate::desired::slots::Slots;
use crate::module::{Kind, Module, ServerFile};
use crate::targets::Target;
use mcpkg_agents::servers::dialect::Dialect;
use mcpkg_agents::servers::intake::INPUTS;
use mcpkg_agents::servers::secrets::{holds_secret, secret_in};
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::plural;

/// Adds the MCP servers and agent files that a target reads below the deploy root.
pub(super) fn for_project(builder: &mut Builder, modules: &[Module], target: Target, root: &Path) -> Result<()> {
    for module in of_kind(modules, Kind::AgentFile, target) {
        for file in &module.files {
            builder.copy(target, root, &file.path, module, file)?;
        }
    }
    let file = target.facts().project_file(root);
    let relative = file.as_deref().and_then(|file| file.strip_prefix(root).ok()?.to_str());
    match relative {
        Some(relative) => servers(builder, modules, target, root, relative),
        None => {
            leave_out(builder, modules, target, Reason::NoServers);
            Ok(())
        }
    }
}

/// Adds the MCP servers that a target reads from the user's own folders. Leaves out agent files, which are deployed
/// only to projects.
///
/// # Errors
/// `E_ROOT_REQUIRED` if HOME is not set; the error of the file system if an existing file cannot be read.
pub(super) fn for_user(builder: &mut Builder, modules: &[Module], target: Target) -> Result<()> {
    for module in of_kind(modules, Kind::AgentFile, target) {
        builder.leave_out(module, target, Reason::NotForTheUser);
    }
    if of_kind(modules, Kind::McpServer, target).next().is_none() {
        return Ok(());
    }
    let file = target.facts().file_of_user()?;
    let place = file.parent().and_then(|folder| Some((folder, file.file_name()?.to_str()?)));
    let Some((folder, name)) = place else {
        leave_out(builder, modules, target, Reason::NoServers);
        return Ok(());
    };
    // Claude Code's file contains credentials, and state that changes from minute to minute.
    if name == ".claude.json" {
        leave_out(builder, modules, target, Reason::OwnState);
        return Ok(());
    }
    servers(builder, modules, target, folder, name)
}

fn leave_out(builder: &mut Builder, modules: &[Module], target: Target, reason: Reason) {
    for module in of_kind(modules, Kind::McpServer, target) {
        builder.leave_out(module, target, reason);
    }
}

/// An MCP server that a target's file format can express.
struct Sayable<'m> {
    module: &'m Module,
    file: ServerFile,
    entry: Value,
}

fn servers(builder: &mut Builder, modules: &[Module], target: Target, root: &Path, relative: &str) -> Result<()> {
    let dialect = &target.facts().servers;
    let mut sayable: BTreeMap<String, Sayable<'_>> = BTreeMap::new();
    let mut lost: HashMap<&'static str, usize> = HashMap::new();
    for module in of_kind(modules, Kind::McpServer, target) {
        let Some(file) = module.files.first() else { continue };
        let file = ServerFile::from_bytes(&file.bytes)?;
        let own = module.about.agent.as_deref() == Some(target.name());
        if file.only_own && !own {
            builder.leave_out(module, target, Reason::EntryTaken);
            continue;
        }
        let written = match dialect.write(&file.definition, own) {
            Ok(written) => written,
            Err(why) => {
                builder.leave_out(module, target, Reason::Server(why));
                continue;
            }
        };
        for what in written.lost {
            *lost.entry(what.text()).or_default() += 1;
        }
        let name = if own || file.only_own { file.entry.clone() } else { module.name().to_owned() };
        let entry = Value::Object(written.fields.into_iter().collect());
        // If two servers want the same name, the one that was imported from this agent's own file keeps it.
        let taken = match sayable.get(&name) {
            Some(other) if other.file.only_own => Some(module),
            _ => sayable.insert(name, Sayable { module, file, entry }).map(|other| other.module),
        };
        if let Some(module) = taken {
            builder.leave_out(module, target, Reason::EntryTaken);
        }
    }
    if sayable.is_empty() {
        return Ok(());
    }
    let unfit = match builder.is_chosen(target) {
        true => unfit(dialect, &root.join(relative), &sayable)?,
        false => None,
    };
    if let Some(reason) = unfit {
        for Sayable { module, .. } in sayable.values() {
            builder.leave_out(module, target, reason);
        }
        return Ok(());
    }
    let mut lost: Vec<_> = lost.into_iter().collect();
    lost.sort_unstable();
    for (what, count) in lost {
        let (title, servers) = (target.facts().title, plural::count(count, "MCP server"));
        builder.note(&[target], format!("{title} does not support {what}, which was left out of {servers}"));
    }
    let mut slots = Slots::default();
    let mut parts: Vec<Part> = Vec::new();
    for (name, Sayable { module, file, entry }) in &sayable {
        slots.entries.insert(name.clone(), entry.clone());
        let asks = dialect.as_read(&file.definition, false).is_some_and(|read| !read.inputs.is_empty());
        for input in file.definition.inputs.iter().filter(|_| asks) {
            if let Some(id) = input["id"].as_str() {
                slots.inputs.insert(id.to_owned(), input.clone());
            }
        }
        parts.extend(module.files.first().map(|file| part(module, file)));
    }
    builder.add(&[target], root, relative, Form::Servers, parts, slots.to_bytes().into(), false)
}

/// Returns the reason to leave an existing file alone: it is malformed, or it contains a secret. A deploy would store
/// the file's old bytes in the database and show them in diffs.
fn unfit(dialect: &Dialect, path: &Path, ours: &BTreeMap<String, Sayable<'_>>) -> Result<Option<Reason>> {
    if !path.is_file() {
        return Ok(None);
    }
    let Ok(text) = String::from_utf8(disk::read(path)?) else { return Ok(Some(Reason::Malformed)) };
    let document = dialect.document;
    let (Ok(mut value), Ok(entries)) = (document.value(&text), document.entries(&text)) else {
        return Ok(Some(Reason::Malformed));
    };
    let read = |entry: &Value| dialect.read(entry, &[]).ok().map(|read| read.definition);
    for (name, entry) in &entries {
        let Some(there) = read(entry) else { continue };
        // Values that the project stores as text were declared not to be secret.
        let is_ours = || ours.get(name).is_some_and(|wanted| read(&wanted.entry).as_ref() == Some(&there));
        if holds_secret(name, &there) && !is_ours() {
            return Ok(Some(Reason::HoldsSecret));
        }
        if let Some(holder) = value.get_mut(document.key()).and_then(Value::as_object_mut) {
            holder.shift_remove(name);
        }
    }
    if let Some(fields) = value.as_object_mut() {
        fields.shift_remove(INPUTS);
    }
    let secret = secret_in(&value, &|text| dialect.expansion.is_reference(text));
    Ok(secret.map(|_| Reason::HoldsSecret))
}
