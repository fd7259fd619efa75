//! Reads files that only one agent uses, and extracts the MCP servers from them.

use serde_json::Value;

use super::stray::{self, MAX_READ};
use crate::import::paths::destination::{Destination, ForAgent, PluginFile};
use crate::import::plugins::{entries, servers};
use crate::import::reason::{Note, Reason};
use crate::item::{File, server::Server};
use mcpkg_agents::agents;
use mcpkg_agents::servers::dialect::Dialect;
use mcpkg_agents::servers::document::{Document, Fault, Format};
use mcpkg_agents::servers::intake::Intake;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::Result;
use mcpkg_base::redact::holds_token;
use mcpkg_store::agent_files::Kind;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::servers::Origin;

/// The maximum number of changes that [`AgentFile::altered`] lists.
const MAX_REASONS: usize = 3;

/// A file that only one agent reads, as it is stored.
pub struct AgentFile {
    /// What the agent uses the file for.
    pub kind: Kind,
    pub content: NewContent,
    /// The MCP servers in the file, by the names of their entries.
    pub servers: Vec<Server>,
    pub notes: Vec<Note>,
    /// Why the stored content differs from the file, if it does.
    pub altered: Option<String>,
}

/// The file to store. The inner error is the reason to skip it.
type Outcome = Result<Result<AgentFile, (Reason, Note)>>;

/// Reads a file in the same way as its agent.
pub fn read(file: &File, to: &Destination, is: ForAgent, secrets: &mut Secrets) -> Outcome {
    let agent = to.agent.unwrap_or_default();
    let is_manifest = is.kind == Kind::Plugin && file.relative.ends_with(".json") && is.plugin != PluginFile::Open;
    let malformed =
        |line: Option<usize>, why: &str| (Reason::Malformed, Note::of(file, line, format!("was skipped: {why}")));
    if !is_manifest && !matches!(is.kind, Kind::Servers | Kind::Settings) {
        return whole(file, is.kind, secrets);
    }
    if file.content.size() > MAX_READ || !file.content.is_text() {
        return Ok(Err(malformed(None, "it is not UTF-8 text, or it is too large")));
    }
    let Ok(text) = String::from_utf8(file.content.bytes()?.into_owned()) else {
        return Ok(Err(malformed(None, "it is not UTF-8 text")));
    };
    let at = |fault: Fault| malformed(fault.at.map(|(line, _)| line), &fault.what);
    let note = |text: String| Note::of(file, None, text);
    // If the text is unchanged, keep the reference to the file instead of a copy in memory.
    let original = text.clone();
    let content = |after: String| if after == original { file.content.clone() } else { after.into_bytes().into() };
    if is.kind == Kind::Settings {
        if stray::holds_values(file, secrets)? {
            return Ok(Err(stray::left_out(file)));
        }
        return Ok(settings(&text).map_err(at).and_then(|found| match found {
            Some((kind, after, notes)) => {
                let altered = (after != original).then(|| why_altered(&notes));
                let notes = notes.into_iter().map(note).collect();
                Ok(AgentFile { kind, content: content(after), servers: Vec::new(), notes, altered })
            }
            None => Err((Reason::Secret, note("was skipped, because it may contain a secret".to_owned()))),
        }));
    }
    let Some(dialect) = agents::dialect_of(agent) else { return whole(file, is.kind, secrets) };
    let dialect = if is_manifest || is.plugin == PluginFile::Vendor { dialect.in_manifest() } else { *dialect };
    if is_manifest && to.entries.is_empty() && !holds_servers(&dialect, &text) {
        return whole(file, is.kind, secrets);
    }
    let mut notes = Vec::new();
    let mut text = text;
    if is.plugin == PluginFile::Open {
        match valid_servers(&dialect, &text) {
            Ok((valid, skipped)) => {
                text = valid;
                notes.extend(skipped);
            }
            Err(why) => return Ok(Err(malformed(None, &why))),
        }
    }
    let taken = match to.entries.is_empty() {
        true => take_in(&dialect, &text, is.plugin, secrets),
        false => take_in_entries(&dialect, &text, &to.entries, secrets),
    };
    let Intake { servers: entries, text: after, notes: more } = match taken {
        Ok(taken) => taken,
        Err(fault) => return Ok(Err(at(fault))),
    };
    if !to.entries.is_empty() {
        // The other entries of the marketplace may contain secret values too. If so, skip the file.
        let rest = File { content: content(after.clone()), ..file.clone() };
        if stray::holds_values(&rest, secrets)? {
            return Ok(Err(stray::left_out(file)));
        }
    }
    notes.extend(more);
    let altered = (after != original).then(|| why_altered(&notes));
    let mut notes: Vec<Note> = notes.into_iter().map(note).collect();
    let mut servers = Vec::new();
    for (entry, read) in entries {
        let is_in_plugin = is_manifest || is.plugin != PluginFile::No;
        let needs_plugin = servers::needs_plugin(&read.definition, is_in_plugin);
        let enabled = read.enabled && is.is_own && !is_manifest && is.plugin != PluginFile::Open && !needs_plugin;
        if read.enabled && !enabled {
            let why = match (needs_plugin, is_in_plugin) {
                (true, _) => {
                    "it needs the plugin's folder, which is known only to an agent that has the plugin installed"
                }
                (false, true) => "it belongs to a plugin",
                (false, false) => "no agent reads this file at the root of a project",
            };
            let next = match needs_plugin {
                true => "",
                false => "; to enable it, use `mcpkg mcp set NAME --enabled true`",
            };
            notes.push(note(format!("lists MCP server '{entry}', which stays disabled because {why}{next}")));
        }
        let origin =
            Origin { agent: Some(agent.to_owned()), path: Some(file.relative.clone()), entry: Some(entry.clone()) };
        servers.push(Server { name: entry, definition: read.definition, origin, enabled });
    }
    Ok(Ok(AgentFile { kind: is.kind, content: content(after), servers, notes, altered }))
}

/// Joins the first notes about what was changed in a file, and counts the others.
fn why_altered(notes: &[String]) -> String {
    let (shown, others) = notes.split_at(notes.len().min(MAX_REASONS));
    let mut why = shown.join("; ").replace('\0', "");
    if !others.is_empty() {
        why.push_str(&format!("; and {} more", others.len()));
    }
    why
}

/// Checks the `mcp.json` of an Agent Plugin. Returns its text without the servers that agents skip, and notes about them.
fn valid_servers(dialect: &Dialect, text: &str) -> Result<(String, Vec<String>), String> {
    let (mut valid, mut notes) = (text.to_owned(), Vec::new());
    for (name, why) in servers::check(text)? {
        valid = dialect.document.remove(&valid, &name, false).map_err(|fault| fault.what)?;
        notes.push(format!("lists MCP server '{}', which agents skip: it {why}", name.escape_debug()));
    }
    Ok((valid, notes))
}

/// Reads the MCP servers of a file. In a plugin, they may be at the top of the file.
fn take_in(dialect: &Dialect, text: &str, plugin: PluginFile, secrets: &mut Secrets) -> Result<Intake, Fault> {
    let has_key = |value: &Value| value.get(dialect.document.key()).is_some();
    if plugin != PluginFile::Vendor
        || dialect.document.value(text).is_ok_and(|value| has_key(&value) || !value.is_object())
    {
        return dialect.take_in(text, secrets);
    }
    let mut taken = dialect.take_in(&entries::opened(text), secrets)?;
    // If the changed text no longer has the form that `closed` expects, keep it as it is, with the key `mcpServers`.
    taken.text = entries::closed(&taken.text).map_or_else(|| taken.text.clone(), str::to_owned);
    Ok(taken)
}

/// Reads the MCP servers in the entries of a marketplace's file. Their names begin with those of their plugins.
fn take_in_entries(dialect: &Dialect, text: &str, of: &[String], secrets: &mut Secrets) -> Result<Intake, Fault> {
    let mut all = Intake { text: text.to_owned(), ..Intake::default() };
    let mut changed = Vec::new();
    for (plugin, place) in entries::places(dialect, text) {
        if !of.contains(&plugin) {
            continue;
        }
        let Intake { servers, text: after, notes } =
            dialect.take_in(&entries::opened(&text[place.clone()]), secrets)?;
        all.servers.extend(servers.into_iter().map(|(name, read)| (entries::name(&plugin, &name), read)));
        all.notes.extend(notes);
        changed.push((place, entries::closed(&after).unwrap_or("{}").to_owned()));
    }
    for (place, after) in changed.into_iter().rev() {
        all.text.replace_range(place, &after);
    }
    Ok(all)
}

/// Stores a file unchanged, unless it contains MCP servers with values in a place where its agent does not read servers.
fn whole(file: &File, kind: Kind, secrets: &Secrets) -> Outcome {
    Ok(match stray::holds_values(file, secrets)? {
        true => Err(stray::left_out(file)),
        false => {
            Ok(AgentFile { kind, content: file.content.clone(), servers: Vec::new(), notes: Vec::new(), altered: None })
        }
    })
}

fn holds_servers(dialect: &Dialect, text: &str) -> bool {
    dialect.document.entries(text).is_ok_and(|entries| !entries.is_empty())
}

/// Parses Claude Code's settings. Returns their kind, their text without `env` (which may contain secret values), and
/// notes. `None` if the remaining text looks like it contains a secret.
fn settings(text: &str) -> Result<Option<(Kind, String, Vec<String>)>, Fault> {
    let document = Document::new(Format::Json { comments: true }, "hooks");
    let value = document.value(text)?;
    let Value::Object(settings) = &value else { return Err(Fault::new("it is not a JSON object")) };
    let kind = match (settings.contains_key("hooks"), settings.contains_key("permissions")) {
        (true, _) => Kind::Hook,
        (false, true) => Kind::Permission,
        (false, false) => Kind::Settings,
    };
    let mut notes = Vec::new();
    let has_env = settings.get("env").and_then(Value::as_object).is_some_and(|env| !env.is_empty());
    let text = if has_env {
        notes.push("was stored without its `env`, whose values may be secret".to_owned());
        let others: Vec<&str> = settings.keys().map(String::as_str).filter(|key| *key != "env").collect();
        document.retain(text, &others)?
    } else {
        text.to_owned()
    };
    Ok((!holds_token(&text)).then_some((kind, text, notes)))
}
