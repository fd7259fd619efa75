//! `mcpkg access create`.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::standing::{at_registry, data, project_is_gone, project_name, state};
use crate::access::{GROUP, key, life, required};
use crate::clock::{Millis, rfc3339};
use crate::content::names;
use crate::error::{Code, Error, Result};
use crate::op::{Changes, Context, Effect, Faces, Namespace, NoOutput, Operation, Reply};
use crate::redact::redact;
use crate::store::access::{self, Key};
use crate::store::projects;

/// Create an access key
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Create {
    /// Name of the key (alphanumeric, hyphens, underscores, dots)
    name: String,
    /// Let it read only: no tool that changes anything
    #[arg(long)]
    #[serde(default)]
    read_only: bool,
    /// Let answers of its clients' users count as consent to what an agent asks for; any holder of the key can post one
    #[arg(long, conflicts_with = "read_only")]
    #[serde(default)]
    consent: bool,
    /// Let it publish tools whose names begin so, such as alice or alice/utils, where a server is started with --registry
    #[arg(long, value_name = "NAMESPACE,...", value_delimiter = ',')]
    #[serde(default)]
    publish: Vec<String>,
    /// Let it post attestations of tools there
    #[arg(long)]
    #[serde(default)]
    attest: bool,
    /// Let it run commands and workflows, each once a person has consented to its plan
    #[arg(long, conflicts_with = "read_only")]
    #[serde(default)]
    execute: bool,
    /// For how long it is good, such as 90m, 12h, 30d or 2w [default: for ever]
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    expires: Option<String>,
}

impl Operation for Create {
    const TOOL: &'static str = "create_access_key";
    const CLI: &'static [&'static str] = &["access", "create"];
    const TITLE: &'static str = "Create access key";
    const ABOUT: &'static str = "Create an access key and print it, this once";
    const HELP: &'static str = "With --project the key reaches that project only, else all of them. Once there is a \
        key, servers over HTTP ask every client for one. With --publish or --attest its holder also writes to the registry of \
        tools that `mcpkg serve --http --registry` offers; with --read-only beside them to nothing else.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg access create laptop",
        "mcpkg access create ci --project auth-module --read-only --expires 30d",
        "mcpkg access create alice-ci --read-only --publish alice --attest",
        "MCPKG_KEY=$(mcpkg access create laptop)",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        redact(&self.name)
    }

    /// Revokes a key that was never shown.
    fn unprinted(context: &Context, data: &Value, error: Error) -> Error {
        match data["name"].as_str() {
            Some(name) => revoke_unprinted(context, name, &error),
            None => error,
        }
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Access key", &self.name)?;
        if key::parse(&self.name).is_some() {
            return Err(
                Error::new(Code::InvalidArgument, "The name is an access key itself").hint("choose a name for it")
            );
        }
        let publish = self.publish.iter().map(|text| text.trim().parse()).collect::<Result<Vec<Namespace>>>()?;
        if context.selection.named.is_some() && (!publish.is_empty() || self.attest) {
            let why = "A key of one project reaches no registry, so that it neither publishes nor attests";
            return Err(Error::new(Code::InvalidArgument, why).hint("leave --project out, or make a second key"));
        }
        let author = context.author();
        let life = self.expires.as_deref().map(life::parse).transpose()?;
        let secret = key::make(&context.clock)?;
        let parts = key::parse(&secret).ok_or_else(|| Error::internal("a key that was just made does not parse"))?;
        let made = context.store.write(|db| {
            let first = !required(db)?;
            let project = match &context.selection.named {
                Some(name) => Some(projects::get(db, name)?),
                None => None,
            };
            let made = Key {
                key_id: parts.id.to_owned(),
                name: self.name.clone(),
                project: project.as_ref().map(|project| project.uuid),
                read_only: self.read_only,
                consent: self.consent,
                publish: publish.iter().map(ToString::to_string).collect(),
                attest: self.attest,
                execute: self.execute,
                created_at: author.now,
                expires_at: life.map(|life| author.now.saturating_add(life)),
                revoked_at: None,
            };
            access::insert(db, &made, &key::hash(parts.secret))?;
            let project = project.map(|project| project.name);
            context.event(db, author, project.as_deref(), "access.create", &self.name)?;
            Ok((made, project, first))
        });
        let (made, project, first) = made.map_err(|error| match error.code() {
            Code::AlreadyExists => taken(context, &self.name, author.now, error),
            _ => error,
        })?;
        let reach = match &project {
            Some(name) => format!("project '{name}'"),
            None => "every project".to_owned(),
        };
        let verb = if made.read_only { "reads" } else { "reads and writes" };
        let until =
            made.expires_at.map_or_else(|| "until it is revoked".to_owned(), |at| format!("until {}", rfc3339(at)));
        let mut data = data(&made, project.as_deref(), author.now);
        data["key"] = json!(secret);
        let mut reply = Reply::sentence(secret, data)
            .hint("the key is shown this once; only its SHA-256 is kept")
            .hint(format!("'{}' {verb} {reach}, {until}", made.name))
            .hint("a client sends it as the header `Authorization: Bearer KEY`; keep it in the variable MCPKG_KEY");
        if !made.execute && !made.read_only {
            reply.hints.push(
                "its clients cannot run commands or workflows, and `execute` is not listed for them; a key that is made with --execute \
                 lets them, each time with your consent"
                    .to_owned(),
            );
        }
        if made.consent {
            reply
                .hints
                .push("whoever holds it can consent to what its agents ask for, as you can at a terminal".to_owned());
        }
        if let Some(there) = at_registry(&made) {
            reply.hints.push(format!("at a registry that `mcpkg serve --http --registry` offers it {there}"));
        }
        if project.is_some() {
            reply.hints.push(tools(made.read_only));
        }
        if first {
            reply.hints.push(
                "this is the first key: from now on every client over HTTP sends one, on this machine too; `mcpkg client \
                 add NAME --http URL --key-env MCPKG_KEY` has an agent do so"
                    .to_owned(),
            );
        }
        Ok(reply)
    }
}

/// Says which tools the clients of a project's key may call. Tools that write to the disk are not among them, since what these
/// clients do must stay inside the project.
fn tools(read_only: bool) -> String {
    let served = || crate::operations().filter(|entry| entry.faces.tool() && !(read_only && entry.effect.changes()));
    let groups = crate::DOMAINS.iter().flat_map(|domain| domain.groups).filter(|group| group.within_project);
    let within: Vec<&str> = groups.map(|group| group.name).collect();
    let inside = served().filter(|entry| within.contains(&entry.group)).count();
    format!(
        "its clients may call {inside} tools, for prompts, resources, search, skills, commands and workflows; the {} for deploys, installs and workspaces are served \
         over stdio and to a key that reaches every project",
        served().count() - inside
    )
}

/// Returns what to do when the name is taken: that depends on the state of the key that has it.
fn taken(context: &Context, name: &str, now: Millis, error: Error) -> Error {
    let found = context.store.read(|db| {
        let key = access::get(db, name)?;
        Ok((project_name(db, key.project)?, key))
    });
    let Ok((project, key)) = found else { return error };
    let gone = project_is_gone(&key, project.as_deref());
    let revoke = format!("`mcpkg access revoke {name}` ends it");
    match state(&key, gone, now) {
        "active" => error.hint(format!("it is active; choose another name for a second key, or {revoke}")),
        "revoked" => error.hint("it was revoked, and keeps its name, since the trail names it: choose another one"),
        state => error.hint(format!("it no longer holds ({state}), and keeps its name: choose another one")),
    }
}

/// Revokes a key that was made but could not be printed, so that nobody has it. Returns the error to show.
fn revoke_unprinted(context: &Context, name: &str, error: &Error) -> Error {
    let author = context.author();
    let revoked = context.store.write(|db| {
        let key = access::get(db, name)?;
        access::revoke(db, &key.key_id, author.now)?;
        let project = project_name(db, key.project)?;
        context.event(db, author, project.as_deref(), "access.revoke", name)
    });
    // The cause is left out: a closed pipe would be taken for a reader that has read enough.
    let why = error.message();
    match revoked {
        Ok(()) => Error::new(Code::FileFailed, format!("{why}; nobody has the key '{name}', and it was revoked"))
            .hint("make one under another name"),
        Err(_) => Error::new(Code::FileFailed, format!("{why}; nobody has the key '{name}'"))
            .hint(format!("revoke it: `mcpkg access revoke {name}`")),
    }
}
