//! `mcpkg access create`: creates an access key and prints it once.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::standing::{at_registry, data, project_is_gone, project_name, state};
use crate::access::{GROUP, key, life, required};
use crate::names;
use crate::op::{Changes, Context, Domains, Effect, Faces, Namespace, NoOutput, Operation, Reply};
use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redact;
use mcpkg_store::access::{self, Key};
use mcpkg_store::projects;

/// Create an access key
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Create {
    /// Name of the key (alphanumeric, hyphens, underscores, dots)
    name: String,
    /// Make the key read-only: clients with this key cannot call tools that change anything
    #[arg(long)]
    #[serde(default)]
    read_only: bool,
    /// Let clients with this key consent to agents' requests for their users; anyone who holds the key can then consent
    #[arg(long, conflicts_with = "read_only")]
    #[serde(default)]
    consent: bool,
    /// Let clients with this key publish tools in these namespaces, such as alice or alice/utils; needs a server started with --registry
    #[arg(long, value_name = "NAMESPACE,...", value_delimiter = ',')]
    #[serde(default)]
    publish: Vec<String>,
    /// Let clients with this key post attestations of tools; needs a server started with --registry
    #[arg(long)]
    #[serde(default)]
    attest: bool,
    /// Let clients with this key run commands and workflows; you must still consent to each plan
    #[arg(long, conflicts_with = "read_only")]
    #[serde(default)]
    execute: bool,
    /// How long the key is valid, such as 90m, 12h, 30d or 2w [default: until you revoke it]
    #[arg(long, value_name = "SPAN", allow_hyphen_values = true)]
    expires: Option<String>,
}

impl Operation for Create {
    const TOOL: &'static str = "create_access_key";
    const CLI: &'static [&'static str] = &["access", "create"];
    const TITLE: &'static str = "Create access key";
    const ABOUT: &'static str = "Create an access key and print it; mcpkg cannot show the key again";
    const HELP: &'static str = "With --project, the key gives access only to that project. Without --project, the \
        key gives access to all projects. After you create the first key, servers over HTTP require a key from \
        every client. With --publish or --attest, the holder of the key can also write to the tool registry of \
        `mcpkg serve --http --registry`. If you also give --read-only, the key can write only to that registry.";
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

    /// Revokes a key that was created but never shown to the user.
    fn unprinted(context: &Context, data: &Value, error: Error) -> Error {
        match data["name"].as_str() {
            Some(name) => revoke_unprinted(context, name, &error),
            None => error,
        }
    }

    fn run(self, context: &Context) -> Result<Reply> {
        names::check("Access key", &self.name)?;
        if key::parse(&self.name).is_some() {
            return Err(Error::new(Code::InvalidArgument, "The name given for the new key is itself an access key")
                .hint("choose a name such as laptop"));
        }
        let publish = self.publish.iter().map(|text| text.trim().parse()).collect::<Result<Vec<Namespace>>>()?;
        if context.selection.named.is_some() && (!publish.is_empty() || self.attest) {
            let why = "--publish and --attest need a key for all projects";
            return Err(Error::new(Code::InvalidArgument, why)
                .hint("leave out --project, or create a second key for the registry"));
        }
        let author = context.author();
        let life = self.expires.as_deref().map(life::parse).transpose()?;
        let secret = key::make(&context.clock)?;
        let parts = key::parse(&secret).ok_or_else(|| Error::internal("a newly created key cannot be parsed"))?;
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
            Code::AlreadyExists => name_taken(context, &self.name, author.now, error),
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
            .hint("copy the key now: mcpkg stores only the key's SHA-256 and cannot show the key again")
            .hint(format!("'{}' {verb} {reach}, {until}", made.name))
            .hint("clients send the key in the header `Authorization: Bearer KEY`; store the key in the variable MCPKG_KEY");
        if !made.execute && !made.read_only {
            reply.hints.push(
                "clients with this key cannot run commands or workflows, and do not see the tool `execute`; to let \
                    clients run them, with your consent each time, create a key with --execute"
                    .to_owned(),
            );
        }
        if made.consent {
            reply.hints.push(
                "anyone who has this key can approve the requests that agents make with the key, as you can at a terminal".to_owned(),
            );
        }
        if let Some(there) = at_registry(&made) {
            reply.hints.push(format!("on a server started with `mcpkg serve --http --registry`, the key {there}"));
        }
        if project.is_some() {
            reply.hints.push(tools(context.domains, made.read_only));
        }
        if first {
            reply.hints.push(
                "this is the first key: from now on, every HTTP client must send a key, even on this machine; \
                    connect an agent with `mcpkg client add NAME --http URL --key-env MCPKG_KEY`"
                    .to_owned(),
            );
        }
        Ok(reply)
    }
}

/// Returns a hint that says how many tools clients with a project's key can call. Only groups whose tools stay inside
/// the project count (`within_project`): tools that write to the disk do not.
fn tools(domains: Domains, read_only: bool) -> String {
    let served = || domains.operations().filter(|entry| entry.faces.tool() && !(read_only && entry.effect.changes()));
    let groups = domains.iter().flat_map(|domain| domain.groups).filter(|group| group.within_project);
    let within: Vec<&str> = groups.map(|group| group.name).collect();
    let inside = served().filter(|entry| within.contains(&entry.group)).count();
    format!(
        "clients with this key can call {inside} tools (prompts, resources, search, skills, commands and \
            workflows); the other {} tools (deploys, installs and workspaces) require stdio or a key for all projects",
        served().count() - inside
    )
}

/// Adds a hint to the error for a name that is taken. The hint depends on the state of the existing key.
fn name_taken(context: &Context, name: &str, now: Millis, error: Error) -> Error {
    let found = context.store.read(|db| {
        let key = access::get(db, name)?;
        Ok((project_name(db, key.project)?, key))
    });
    let Ok((project, key)) = found else { return error };
    let gone = project_is_gone(&key, project.as_deref());
    let revoke = format!("revoke the key with `mcpkg access revoke {name}`");
    match state(&key, gone, now) {
        "active" => error.hint(format!("the key is active; choose another name for a second key, or {revoke}")),
        "revoked" => error.hint(
            "the key was revoked, but its name cannot be reused because `mcpkg events` still shows it; choose another name",
        ),
        state => error.hint(format!(
            "the key is no longer valid ({state}), but its name cannot be reused; choose another name"
        )),
    }
}

/// Revokes a key that was created but could not be printed. Returns the error to show.
fn revoke_unprinted(context: &Context, name: &str, error: &Error) -> Error {
    let author = context.author();
    let revoked = context.store.write(|db| {
        let key = access::get(db, name)?;
        access::revoke(db, &key.key_id, author.now)?;
        let project = project_name(db, key.project)?;
        context.event(db, author, project.as_deref(), "access.revoke", name)
    });
    // Do not make the cause the source of the new error: the caller ignores errors caused by a closed pipe, but the
    // new error has to be shown.
    let why = error.message();
    match revoked {
        Ok(()) => Error::new(
            Code::FileFailed,
            format!("{why}; access key '{name}' was not shown to anyone, so mcpkg revoked it"),
        )
        .hint("create a key with another name"),
        Err(_) => Error::new(
            Code::FileFailed,
            format!("{why}; access key '{name}' was not shown to anyone, but is still valid"),
        )
        .hint(format!("revoke the key with `mcpkg access revoke {name}`")),
    }
}
