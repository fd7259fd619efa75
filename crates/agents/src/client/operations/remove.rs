//! `mcpkg client remove`: removes mcpkg's entry from an agent's configuration file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::arguments::Entry;
use crate::client::GROUP;
use crate::client::config_file::ConfigFile;
use crate::client::our_entry::{DEFAULT_NAME, our_entries};
use crate::client::record::append_event;
use crate::client::standing::Standing;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};

/// Disconnect an agent
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    #[command(flatten)]
    #[serde(flatten)]
    entry: Entry,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_client";
    const CLI: &'static [&'static str] = &["client", "remove"];
    const TITLE: &'static str = "Disconnect an agent";
    const ABOUT: &'static str = "Remove mcpkg from an agent's configuration, and restore the previous entry, if there \
        was one";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg client remove claude-code", "mcpkg client remove cursor --scope project --dry-run"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.entry.subject(DEFAULT_NAME)
    }

    fn missing_database(&self) -> MissingDatabase {
        self.entry.missing_database()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Entry { name, scope, dry_run, .. } = &self.entry;
        let name = name.as_deref().unwrap_or(DEFAULT_NAME);
        let standing = Standing::of(context, self.entry.config_file(context)?, name)?;
        let (agent, path) = (standing.config.agent, standing.config.path.display().to_string());
        if standing.entry.is_none() {
            return Err(absent(context, &standing)?);
        }
        let edit = standing.without()?;
        let diff = edit.diff();
        let previous = standing.record.as_ref().is_some_and(|record| record.previous.is_some());
        let gone = edit.after.is_none();
        let mut data = json!({
            "agent": agent.name,
            "scope": scope,
            "name": name,
            "path": path,
            "outcome": if previous { "restored" } else { "removed" },
            "file_deleted": gone,
            "diff": diff,
            "dry_run": dry_run,
        });
        if *dry_run {
            return Ok(Reply::new(Body::Diff(diff), data));
        }
        standing.ask(context, &edit, "Remove")?;
        data["backup"] = json!(edit.apply(context)?);
        append_event(context, "client.remove", &self.subject());
        let text = match (previous, gone) {
            (true, _) => format!("Removed mcpkg's entry '{name}' from {path}, and restored the previous entry"),
            (false, true) => format!("Removed {path}, which contained only the entry '{name}'"),
            (false, false) => format!("Removed the entry '{name}' from {path}"),
        };
        Ok(Reply::sentence(text, data))
    }
}

/// Returns the error for a missing entry. Its hint names mcpkg's entry in the same file, or the scope in which the
/// agent has an entry with this name, if there is one.
fn absent(context: &Context, standing: &Standing) -> Result<Error> {
    let Standing { config, name, .. } = standing;
    let title = config.agent.title;
    let message = format!("{title} has no entry '{name}' in `{}`", config.path.display());
    let error = Error::new(Code::NotFound, message)
        .with_details(json!({ "agent": config.agent.name, "name": name, "path": config.path.display().to_string() }));
    if let Some(ours) = our_entries(context, config).unwrap_or_default().first() {
        return Ok(error.hint(format!(
            "mcpkg's entry in this file is '{}'; to remove that entry, run `{}`",
            ours.name,
            ours.remove()
        )));
    }
    for other in ConfigFile::all(context, config.agent)?.into_iter().filter(|other| other.scope != config.scope) {
        let scope = other.scope.name();
        if Standing::of(context, other, name).is_ok_and(|standing| standing.entry.is_some()) {
            return Ok(error.hint(format!("an entry with this name exists with --scope {scope}")));
        }
    }
    Ok(error.hint("`mcpkg client list` shows which agents are connected"))
}
