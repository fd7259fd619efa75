//! `mcpkg client add`.

use std::path::PathBuf;

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::client::agents;
use crate::client::config_file::{ConfigFile, Scope, is_installed};
use crate::client::entry::{KEY, Wanted};
use crate::client::homes::Homes;
use crate::client::standing::Standing;
use crate::client::{GROUP, entry_name, trail};
use crate::error::Result;
use crate::op::{Body, Changes, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};

/// Connect an agent
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Agent
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(agents::names()))]
    agent: String,
    /// For the user, in every folder, or for who works in this folder; a project's entry names its project
    #[arg(long, value_enum, default_value_t)]
    #[serde(skip)]
    scope: Scope,
    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value_t = entry_name::default())]
    #[serde(default = "entry_name::default")]
    name: String,
    /// Connect to this URL instead of starting mcpkg; --project makes /mcp in it /projects/NAME/mcp
    #[arg(long, value_name = "URL")]
    http: Option<String>,
    /// Environment variable that the agent takes the URL's bearer key from [default: MCPKG_KEY, for a URL that is not on
    /// this machine]
    #[arg(long, value_name = "NAME", requires = "http")]
    key_env: Option<String>,
    /// Folder of a project's entry [default: the folder bound to the project, else the git repository around this one]
    #[arg(long, value_name = "DIR")]
    #[serde(skip)]
    root: Option<PathBuf>,
    /// Show what would be written, and write nothing
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Add {
    const TOOL: &'static str = "add_client";
    const CLI: &'static [&'static str] = &["client", "add"];
    const TITLE: &'static str = "Connect an agent";
    const ABOUT: &'static str = "Write mcpkg into an agent's own configuration";
    const HELP: &'static str = "Comments, order and line ends of the file stay, and a copy of it is kept in client-backups, in \
                                the user's data directory. `mcpkg client remove` puts it back as it was.\n\n\
                                Examples:\n  mcpkg client add claude-code\n  mcpkg client add codex --dry-run\n  \
                                mcpkg client add cursor --scope project --project auth\n  \
                                mcpkg client add vscode --http https://tools.example/mcp";
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        format!("{}:{}:{}", self.agent, self.scope.name(), self.name)
    }

    fn missing_database(&self) -> MissingDatabase {
        if self.dry_run { MissingDatabase::StandIn } else { MissingDatabase::Create }
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let subject = self.subject();
        let agent = agents::named(&self.agent)?;
        entry_name::check(&self.name)?;
        let config = ConfigFile::find(context, agent, self.scope, self.root.as_deref())?;
        let wanted = match &self.http {
            Some(url) => Wanted::url(context, self.scope, url, self.key_env.as_deref())?,
            None => Wanted::start(context, self.scope)?,
        };
        let fields = wanted.entry(agent)?;
        let standing = Standing::of(context, config, &self.name)?;
        let (name, title, path) = (&self.name, agent.title, standing.config.path.display().to_string());
        let mut data = json!({
            "agent": agent.name,
            "scope": self.scope,
            "name": name,
            "path": path,
            "entry": Value::Object(fields.iter().cloned().collect()),
            "dry_run": self.dry_run,
        });
        let warnings = standing.warning().into_iter().chain(unsafe_key(&wanted));
        let Some(edit) = standing.with(fields)? else {
            data["outcome"] = json!("already");
            let text = format!("{title} has '{name}' already, in {path}");
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
        if self.dry_run {
            return Ok(Reply::new(Body::Diff(diff), data).warn(warnings));
        }
        standing.ask(context, &edit, "Replace")?;
        let installed = is_installed(agent, &Homes::find()?);
        let copy = edit.apply(context)?;
        data["backup"] = json!(&copy);
        trail::append(context, "client.add", &subject);
        let mut reply = Reply::sentence(format!("{verb} '{name}' in {path}"), data).warn(warnings);
        reply.hints.push(if installed {
            agent.next.to_owned()
        } else {
            format!("{title} was not found on this machine; it reads the file once it is installed")
        });
        reply.hints.extend(agent.trust.filter(|_| self.scope == Scope::Project).map(str::to_owned));
        reply.hints.extend(key_hint(context, &wanted));
        reply.hints.extend(copy.map(|copy| format!("the file as it was is kept in {}", copy.display())));
        Ok(reply.hint(format!("`mcpkg client check {}` tries it", agent.name)))
    }
}

fn unsafe_key(wanted: &Wanted) -> Option<String> {
    match wanted {
        Wanted::Url { url, key: Some(_) } if url.starts_with("http://") => {
            let local = crate::client::address::Address::parse(url).is_ok_and(|address| address.is_loopback());
            (!local).then(|| format!("the key goes to `{url}` unencrypted; use https"))
        }
        _ => None,
    }
}

fn key_hint(context: &Context, wanted: &Wanted) -> Option<String> {
    match wanted {
        Wanted::Url { key: Some(key), .. } => {
            Some(format!("start the agent with the bearer key in the environment variable {key}"))
        }
        // Another database may be what is served there; a hint is not worth a failure.
        Wanted::Url { key: None, .. } if context.store.read(crate::access::required).unwrap_or(false) => {
            Some(format!("this database has access keys, and its server asks for one: add --key-env {KEY}"))
        }
        _ => None,
    }
}
