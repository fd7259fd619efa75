//! `mcpkg access ...`: agents never manage keys.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::{GROUP, key, life};
use crate::clock::{Millis, rfc3339};
use crate::content::names;
use crate::error::{Code, Error, Result};
use crate::op::{
    Body, Changes, Context, Effect, Faces, MissingDatabase, Names, Namespace, NoOutput, Operation, Reply, Table,
};
use crate::redact::redact;
use crate::store::access::{self, Key};
use crate::store::page::Page;
use crate::store::{Db, projects};

/// The access keys, as a shell completes them.
const KEYS: Names = Names::Stored(|typed| {
    let keys = access::list(typed.db, &Page::all())?.rows;
    Ok(typed.matching(keys.into_iter().filter(|key| key.revoked_at.is_none()).map(|key| key.name)))
});

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

    /// Revokes a key that nobody has seen.
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
        let (made, project, first) = context.store.write(|db| {
            let first = !super::required(db)?;
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
                created_at: author.now,
                expires_at: life.map(|life| author.now.saturating_add(life)),
                revoked_at: None,
            };
            access::insert(db, &made, &key::hash(parts.secret))
                .map_err(|error| taken(db, &self.name, author.now, error))?;
            let project = project.map(|project| project.name);
            context.event(db, author, project.as_deref(), "access.create", &self.name)?;
            Ok((made, project, first))
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

/// Says which tools the clients of a project's key may call: what they do stays inside it, so those that write to the
/// disk are none of them.
fn tools(read_only: bool) -> String {
    let served = || crate::operations().filter(|entry| entry.faces.tool() && !(read_only && entry.effect.changes()));
    let groups = crate::DOMAINS.iter().flat_map(|domain| domain.groups).filter(|group| group.within_project);
    let within: Vec<&str> = groups.map(|group| group.name).collect();
    let inside = served().filter(|entry| within.contains(&entry.group)).count();
    format!(
        "its clients may call {inside} tools, for prompts, resources, search and skills; the {} for deploys and installs are served \
         over stdio and to a key that reaches every project",
        served().count() - inside
    )
}

/// List access keys
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_access_keys";
    const CLI: &'static [&'static str] = &["access", "list"];
    const TITLE: &'static str = "List access keys";
    const ABOUT: &'static str = "List the access keys: what each reaches, until when, and whether it still holds";
    const EXAMPLES: &'static [&'static str] = &["mcpkg access list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("keys");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let now = context.clock.now();
        let keys = context.store.read(|db| {
            let keys = access::list(db, &Page::all())?.rows;
            keys.into_iter().map(|key| Ok((project_name(db, key.project)?, key))).collect::<Result<Vec<_>>>()
        })?;
        let row = |(project, key): &(Option<String>, Key)| {
            let all = if key.project.is_none() { "all" } else { "" };
            vec![
                key.name.clone(),
                project.as_deref().unwrap_or(all).to_owned(),
                may(key),
                rfc3339(key.created_at),
                key.expires_at.map_or_else(|| "never".to_owned(), rfc3339),
                state(key, project_is_gone(key, project.as_deref()), now).to_owned(),
            ]
        };
        let table = Table {
            columns: &["NAME", "PROJECT", "MAY", "CREATED", "EXPIRES", "STATE"],
            rows: keys.iter().map(row).collect(),
            empty: "There is no access key yet. `mcpkg access create NAME` makes one".to_owned(),
        };
        let data: Vec<Value> = keys.iter().map(|(project, key)| data(key, project.as_deref(), now)).collect();
        Ok(Reply::new(Body::Table(table), json!({ "keys": data })))
    }
}

/// Show an access key
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Name of the key
    #[arg(add = KEYS)]
    name: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_access_key";
    const CLI: &'static [&'static str] = &["access", "show"];
    const TITLE: &'static str = "Show access key";
    const ABOUT: &'static str =
        "Show an access key: what it reaches and may do, until when, and whether it still holds";
    const EXAMPLES: &'static [&'static str] = &["mcpkg access show laptop"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        redact(&self.name)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let now = context.clock.now();
        let (key, project) = context.store.read(|db| {
            let key = wanted(db, &self.name)?;
            let project = project_name(db, key.project)?;
            Ok((key, project))
        })?;
        let reaches = match (&key.project, &project) {
            (None, _) => "every project".to_owned(),
            (Some(_), Some(name)) => format!("project '{name}'"),
            (Some(_), None) => "a project that was deleted".to_owned(),
        };
        let mut lines = vec![
            format!("name: {}", key.name),
            format!("reaches: {reaches}"),
            format!("may: {}", may(&key)),
            format!("created: {}", rfc3339(key.created_at)),
            format!("expires: {}", key.expires_at.map_or_else(|| "never".to_owned(), rfc3339)),
            format!("state: {}", state(&key, project_is_gone(&key, project.as_deref()), now)),
        ];
        lines.extend(key.revoked_at.map(|at| format!("revoked: {}", rfc3339(at))));
        Ok(Reply::new(Body::Text(lines.join("\n") + "\n"), data(&key, project.as_deref(), now)))
    }
}

/// Revoke an access key
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Revoke {
    /// Name of the key, or the key itself
    #[arg(add = KEYS)]
    name: String,
}

impl Operation for Revoke {
    const TOOL: &'static str = "revoke_access_key";
    const CLI: &'static [&'static str] = &["access", "revoke"];
    const TITLE: &'static str = "Revoke access key";
    const ABOUT: &'static str = "Revoke an access key for good; running servers refuse it from the next request on";
    const HELP: &'static str = "Its name stays taken, and servers go on asking for a key where the last one was \
        revoked.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg access revoke laptop --yes"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        redact(&self.name)
    }

    fn question(&self) -> String {
        format!("Revoke access key '{}'?", redact(&self.name))
    }

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandInUnlessNamed
    }

    fn look(&self, context: &Context) -> Result<()> {
        context.store.read(|db| wanted(db, &self.name)).map(drop)
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let author = context.author();
        let (was, project) = context.store.write(|db| {
            let key = wanted(db, &self.name)?;
            access::revoke(db, &key.key_id, author.now)?;
            let project = project_name(db, key.project)?;
            context.event(db, author, project.as_deref(), "access.revoke", &key.name)?;
            Ok((key, project))
        })?;
        let sentence = match was.revoked_at {
            Some(at) => format!("Access key '{}' was revoked at {} already", was.name, rfc3339(at)),
            None => format!("Revoked access key '{}'", was.name),
        };
        let revoked_at = was.revoked_at.or(Some(author.now));
        Ok(Reply::sentence(sentence, data(&Key { revoked_at, ..was }, project.as_deref(), author.now)))
    }
}

/// Says what to do where a name is taken, by how its key stands.
fn taken(db: &Db<'_>, name: &str, now: Millis, error: Error) -> Error {
    let Some(key) = access::get(db, name).ok().filter(|_| error.code() == Code::AlreadyExists) else { return error };
    let gone = project_is_gone(&key, project_name(db, key.project).ok().flatten().as_deref());
    let revoke = format!("`mcpkg access revoke {name}` ends it");
    match state(&key, gone, now) {
        "active" => error.hint(format!("it is active; choose another name for a second key, or {revoke}")),
        "revoked" => error.hint("it was revoked, and keeps its name, since the trail names it: choose another one"),
        state => error.hint(format!("it no longer holds ({state}), and keeps its name: choose another one")),
    }
}

/// Revokes a key that was made and could not be printed: nobody has it. Returns what to say.
fn revoke_unprinted(context: &Context, name: &str, error: &Error) -> Error {
    let author = context.author();
    let revoked = context.store.write(|db| {
        let key = access::get(db, name)?;
        access::revoke(db, &key.key_id, author.now)?;
        let project = project_name(db, key.project)?;
        context.event(db, author, project.as_deref(), "access.revoke", name)
    });
    // Without the cause: a closed pipe would pass for a reader that has enough.
    let why = error.message();
    match revoked {
        Ok(()) => Error::new(Code::FileFailed, format!("{why}; nobody has the key '{name}', and it was revoked"))
            .hint("make one under another name"),
        Err(_) => Error::new(Code::FileFailed, format!("{why}; nobody has the key '{name}'"))
            .hint(format!("revoke it: `mcpkg access revoke {name}`")),
    }
}

/// The key that is called so, or that this is: who found one somewhere revokes it without knowing its name.
fn wanted(db: &Db<'_>, name: &str) -> Result<Key> {
    match key::parse(name) {
        Some(parts) => match access::find(db, parts.id)? {
            Some((key, _)) => Ok(key),
            None => {
                Err(Error::new(Code::NotFound, format!("The access key {} is none of this database", redact(name))))
            }
        },
        None => access::get(db, name),
    }
}

fn project_name(db: &Db<'_>, project: Option<Uuid>) -> Result<Option<String>> {
    Ok(match project {
        Some(uuid) => projects::by_uuid(db, uuid)?.map(|project| project.name),
        None => None,
    })
}

/// What a key may, as the list says it.
fn may(key: &Key) -> String {
    let mut words = match (key.read_only, key.consent) {
        (true, _) => "read",
        (false, false) => "read, write",
        (false, true) => "read, write, consent",
    }
    .to_owned();
    if !key.publish.is_empty() {
        words += &format!(", publish {}", key.publish.join(" "));
    }
    if key.attest {
        words += ", attest";
    }
    words
}

/// What a key does at a registry that a server offers, where it does more there than reading.
fn at_registry(key: &Key) -> Option<String> {
    let namespaces = key.publish.join(", ");
    match (key.publish.is_empty(), key.attest) {
        (true, false) => None,
        (true, true) => Some("posts attestations".to_owned()),
        (false, false) => Some(format!("publishes tools of {namespaces}")),
        (false, true) => Some(format!("publishes tools of {namespaces}, and posts attestations")),
    }
}

fn project_is_gone(key: &Key, project: Option<&str>) -> bool {
    key.project.is_some() && project.is_none()
}

fn state(key: &Key, project_is_gone: bool, now: Millis) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|at| now >= at) {
        "expired"
    } else if project_is_gone {
        "project gone"
    } else {
        "active"
    }
}

/// What programs get of a key: its name, what it reaches, and how it stands.
fn data(key: &Key, project: Option<&str>, now: Millis) -> Value {
    json!({
        "name": key.name,
        "id": key.key_id,
        "project": project,
        "project_id": key.project.map(|uuid| uuid.to_string()),
        "read_only": key.read_only,
        "consent": key.consent,
        "publish": key.publish,
        "attest": key.attest,
        "created_at": rfc3339(key.created_at),
        "expires_at": key.expires_at.map(rfc3339),
        "revoked_at": key.revoked_at.map(rfc3339),
        "state": state(key, project_is_gone(key, project), now),
    })
}
