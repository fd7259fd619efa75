//! `mcpkg approval ...`: lists what you approved on this machine, and revokes an approval.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::GROUP;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table, cell};
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};

/// The kinds of approvals that mcpkg asks for again if they are missing, each with the word that lists show. Other
/// kinds have commands of their own.
const KINDS: [(Kind, &str); 9] = [
    (Kind::Agent, "agent"),
    (Kind::Catalog, "catalog"),
    (Kind::Finding, "finding"),
    (Kind::Plugin, "plugin"),
    (Kind::Registry, "registry"),
    (Kind::Source, "source"),
    (Kind::Sync, "sync"),
    (Kind::Workflow, "workflow"),
    (Kind::WorkspaceBuild, "build"),
];

/// The number of characters of an id that a list shows.
const SHOWN: usize = 12;

/// The fewest characters of an id that a command accepts.
const FEWEST: usize = 4;

/// List approvals
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_approvals";
    const CLI: &'static [&'static str] = &["approval", "list"];
    const TITLE: &'static str = "List approvals";
    const ABOUT: &'static str = "List what you approved on this machine, such as agents, catalogs and plugins";
    const HELP: &'static str = "The list is the same for all your databases. `mcpkg consent list` shows the approvals of single \
        requests, and `mcpkg tool trust list` the signers that you trust.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg approval list", "mcpkg approval list --json"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("approvals");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let approvals = all(context)?;
        let row = |approval: &Approval| {
            vec![approval.id[..SHOWN].to_owned(), approval.word.to_owned(), cell(&approval.what()).into_owned()]
        };
        let table = Table {
            columns: &["ID", "KIND", "WHAT"],
            rows: approvals.iter().map(row).collect(),
            empty: "You have not approved anything on this machine".to_owned(),
        };
        let data: Vec<Value> = approvals.iter().map(Approval::data).collect();
        Ok(Reply::new(Body::Table(table), json!({ "approvals": data })))
    }
}

/// Revoke an approval
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Revoke {
    /// Id of the approval, or the beginning of the id
    id: String,
}

impl Operation for Revoke {
    const TOOL: &'static str = "revoke_approval";
    const CLI: &'static [&'static str] = &["approval", "revoke"];
    const TITLE: &'static str = "Revoke an approval";
    const ABOUT: &'static str = "Revoke an approval, so that mcpkg asks you again";
    const HELP: &'static str = "What you approved stays stored; mcpkg only asks before it uses it the next time. A run that has \
        begun goes on.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg approval revoke 3f2a1b4c5d6e"];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let approval = named(context, &self.id)?;
        context.approved.withdraw(approval.kind, &approval.id)?;
        let author = context.author();
        let subject = format!("{} {}", approval.word, &approval.id[..SHOWN]);
        context.store.write(|db| context.event(db, author, None, "approval.revoke", &subject))?;
        let sentence = format!("Revoked the approval of {} {}", approval.word, cell(&approval.what()));
        Ok(Reply::sentence(sentence, approval.data()))
    }
}

/// A record of something that you approved.
struct Approval {
    kind: Kind,
    word: &'static str,
    /// The SHA-256 of what you approved, in hex.
    id: String,
    note: Value,
}

impl Approval {
    /// Returns what the approval is for, such as `agent: claude-code, project: shop`.
    fn what(&self) -> String {
        let shown = |value: &Value| match value {
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        let is_empty = |value: &Value| {
            value.is_null() || value.as_str() == Some("") || value.as_object().is_some_and(serde_json::Map::is_empty)
        };
        let note = self.note.as_object().into_iter().flatten().filter(|(_, value)| !is_empty(value));
        note.map(|(name, value)| format!("{name}: {}", shown(value))).collect::<Vec<_>>().join(", ")
    }

    fn data(&self) -> Value {
        json!({ "id": self.id, "kind": self.word, "about": self.note })
    }
}

fn all(context: &Context) -> Result<Vec<Approval>> {
    let mut found = Vec::new();
    for (kind, word) in KINDS {
        let mut records = context.approved.all(kind)?;
        records.sort_by_cached_key(|(id, note)| (note.to_string(), id.clone()));
        found.extend(records.into_iter().map(|(id, note)| Approval { kind, word, id, note }));
    }
    Ok(found)
}

fn named(context: &Context, id: &str) -> Result<Approval> {
    let id = id.trim().to_ascii_lowercase();
    let mut found = all(context)?;
    found.retain(|approval| id.len() >= FEWEST && approval.id.starts_with(&id));
    match (found.pop(), found.is_empty()) {
        (Some(approval), true) => Ok(approval),
        _ => Err(Error::new(Code::NotFound, format!("No approval has the id '{}'", id.escape_debug()))
            .hint("`mcpkg approval list` shows the ids")),
    }
}
