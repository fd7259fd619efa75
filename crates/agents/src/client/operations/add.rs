//! `mcpkg client add`: writes mcpkg's entry into an agent's configuration file.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::{Connection, Entry};
use crate::agents::homes::Homes;
use crate::client::GROUP;
use crate::client::config_file::{Scope, is_installed};
use crate::client::entry::{KEY, Wanted};
use crate::client::our_entry::check_name;
use crate::client::record::append_event;
use crate::client::standing::Standing;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};

/// Connect an agent
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    #[command(flatten)]
    #[serde(flatten)]
    entry: Entry,
    #[command(flatten)]
    #[serde(flatten)]
    connection: Connection,
}

impl Operation for Add {
    const TOOL: &'static str = "add_client";
    const CLI: &'static [&'static str] = &["client", "add"];
    const TITLE: &'static str = "Connect an agent";
    const ABOUT: &'static str = "Connect an agent: add mcpkg to its configuration";
    const HELP: &'static str = "mcpkg keeps the comments, order and line endings of the configuration file. Before \
        the change, mcpkg saves a copy of the file in the folder client-backups of your data directory. `mcpkg \
        client remove` restores the previous state.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg client add claude-code",
        "mcpkg client add codex --dry-run",
        "mcpkg client add cursor --scope project --project auth",
        "mcpkg client add vscode --http https://tools.example/mcp",
        "mcpkg client add claude-code --as smctl",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.entry.subject(self.connection.default_name())
    }

    fn missing_database(&self) -> MissingDatabase {
        self.entry.missing_database()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let Entry { name, scope, dry_run, .. } = &self.entry;
        let name = name.as_deref().unwrap_or_else(|| self.connection.default_name());
        check_name(name)?;
        let config = self.entry.config_file(context)?;
        let agent = config.agent;
        let wanted = self.connection.wanted(context, *scope)?;
        let fields = wanted.entry(agent)?;
        let standing = Standing::of(context, config, name)?;
        let (title, path) = (agent.title, standing.config.path.display().to_string());
        let mut data = json!({
            "agent": agent.name,
            "scope": scope,
            "name": name,
            "path": path,
            "entry": Value::Object(fields.iter().cloned().collect()),
            "dry_run": dry_run,
        });
        let warnings = standing.warning().into_iter().chain(unsafe_key(&wanted));
        let Some(edit) = standing.with(fields)? else {
            data["outcome"] = json!("already");
            let text = format!("{title} already has '{name}', in {path}");
            return Ok(Reply::sentence(text, data).warn(warnings));
        };
        let diff = edit.diff();
        let (outcome, verb) = match (&standing.entry, standing.is_ours()) {
            (None, _) => ("added", "Added"),
            (Some(_), true) => ("updated", "Updated"),
            (Some(_), false) => ("replaced", "Replaced"),
        };
        data["outcome"] = json!(outcome);
        data["diff"] = json!(diff);
        if *dry_run {
            return Ok(Reply::new(Body::Diff(diff), data).warn(warnings));
        }
        standing.ask(context, &edit, "Replace")?;
        let installed = is_installed(agent, &Homes::find()?);
        let copy = edit.apply(context)?;
        data["backup"] = json!(&copy);
        append_event(context, "client.add", &self.subject());
        let mut reply = Reply::sentence(format!("{verb} '{name}' in {path}"), data).warn(warnings);
        reply.hints.push(if installed {
            agent.client.next.to_owned()
        } else {
            format!("{title} was not found on this machine; it will read the file after you install it")
        });
        reply.hints.extend(agent.client.trust.filter(|_| *scope == Scope::Project).map(str::to_owned));
        reply.hints.extend(key_hint(context, &wanted));
        reply.hints.extend(execute_hint(&wanted));
        reply.hints.extend(copy.map(|copy| format!("a copy of the old file is in {}", copy.display())));
        Ok(reply.hint(format!("test the connection with `mcpkg client check {}`", agent.name)))
    }
}

fn unsafe_key(wanted: &Wanted) -> Option<String> {
    match wanted {
        Wanted::Url { url, key: Some(_) } if url.starts_with("http://") => {
            let local = crate::client::address::Address::parse(url).is_ok_and(|address| address.is_loopback());
            (!local).then(|| format!("the key is sent to `{url}` unencrypted; use https"))
        }
        _ => None,
    }
}

fn key_hint(context: &Context, wanted: &Wanted) -> Option<String> {
    match wanted {
        Wanted::Url { key: Some(key), .. } => {
            Some(format!("in the environment of the agent, set {key} to the access key"))
        }
        // The URL may serve another database. If this database cannot be read, leave the hint out instead of failing.
        Wanted::Url { key: None, .. } if context.store.read(mcpkg_core::access::required).unwrap_or(false) => {
            Some(format!("this database has access keys, so its server requires a key: add --key-env {KEY}"))
        }
        _ => None,
    }
}

/// Returns a hint for an agent that connects over HTTP: only its access key can allow it to run commands.
fn execute_hint(wanted: &Wanted) -> Option<String> {
    let is_remote = matches!(wanted, Wanted::Url { .. });
    is_remote.then(|| {
        "to let the agent run commands and workflows, use a key created with `mcpkg access create NAME --execute`"
            .to_owned()
    })
}
