//! `mcpkg consent ...`: shows the requests that wait for a person, and lets you approve or deny them.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use uuid::Uuid;

use super::request::{self, effects};
use super::widened::{self, Wider};
use super::{GROUP, in_time};
use crate::note;
use crate::op::{Body, Confirmation, Context, Effect, Faces, Name, Names, NoOutput, Operation, Reply, Table};
use mcpkg_base::clock::{Millis, rfc3339, span};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex::tail;
use mcpkg_store::catalogs;
use mcpkg_store::consents::{self, Request, State};
use mcpkg_store::page::Page;

/// Shell completion for the ids of requests that a person may still decide on.
const REQUESTS: Names = Names::Stored(|typed| {
    let requests = consents::list(typed.db, None, &Page::all())?.rows;
    let undecided = requests.into_iter().filter(|request| matches!(request.state, State::Pending | State::Approved));
    let named = undecided.map(|request| Name { name: request.uuid.to_string(), about: Some(request.summary) });
    Ok(named.filter(|named| named.name.starts_with(typed.prefix)).take(typed.limit).collect())
});

const CATALOGS: Names =
    Names::Stored(|typed| Ok(typed.matching(catalogs::list(typed.db)?.into_iter().map(|row| row.facts.name))));

/// List consent requests
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {
    /// Also list requests that were decided or used, or that have expired
    #[arg(long)]
    #[serde(default)]
    all: bool,
}

impl Operation for List {
    const TOOL: &'static str = "list_consents";
    const CLI: &'static [&'static str] = &["consent", "list"];
    const TITLE: &'static str = "List consent requests";
    const ABOUT: &'static str = "List agents' requests for your consent";
    const EXAMPLES: &'static [&'static str] = &["mcpkg consent list", "mcpkg consent list --all"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("consents");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let now = context.clock.now();
        let open = (!self.all).then_some(now);
        let found = context.store.read(|db| consents::list(db, open, &Page::all()))?.rows;
        let row = |request: &Request| {
            vec![
                tail(request.uuid),
                request.summary.clone(),
                request.effect.clone().unwrap_or_default(),
                rfc3339(request.expires_at),
                state(request, now).to_owned(),
                request.caller.clone(),
                request.project.clone(),
                request.operation.clone(),
            ]
        };
        let table = Table {
            columns: &["ID", "WHAT", "EFFECT", "EXPIRES", "STATE", "ASKED BY", "PROJECT", "OPERATION"],
            rows: found.iter().map(row).collect(),
            empty: "No requests are waiting for consent".to_owned(),
        };
        let data: Vec<Value> = found.iter().map(|request| data(request, now)).collect();
        let mut standing = widened::standing(context)?;
        // The records are shared by all databases of this user; skip those of other databases.
        let is_here = |wider: &Wider| context.store.read(|db| Ok(consents::get(db, wider.consent)?.is_some()));
        let here = standing.iter().map(is_here).collect::<Result<Vec<bool>>>()?;
        let mut here = here.into_iter();
        standing.retain(|_| here.next() == Some(true));
        let body = match standing.is_empty() {
            true => Body::Table(table),
            false => Body::Several(vec![Body::Table(table), Body::Text(standing.iter().map(wider_line).collect())]),
        };
        let reads: Vec<Value> = standing.iter().map(wider_data).collect();
        Ok(Reply::new(body, json!({ "consents": data, "reads": reads })))
    }
}

/// Show a request for consent
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Id of the request, or a unique suffix of the id
    #[arg(add = REQUESTS)]
    id: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_consent";
    const CLI: &'static [&'static str] = &["consent", "show"];
    const TITLE: &'static str = "Show consent request";
    const ABOUT: &'static str = "Show what a request would do, who sent it, and when it expires";
    const EXAMPLES: &'static [&'static str] = &["mcpkg consent show 3f2a1b4c5d6e"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (request, now) = (named(context, &self.id)?, context.clock.now());
        let standing = widened::standing(context)?;
        let wider: Vec<&Wider> = standing.iter().filter(|wider| wider.consent == request.uuid).collect();
        let mut data = data(&request, now);
        data["reads"] = wider.iter().map(|wider| wider_data(wider)).collect();
        let body = match wider.is_empty() {
            true => shown(&request, now),
            false => {
                let lines = wider.iter().map(|wider| wider_line(wider)).collect();
                Body::Several(vec![shown(&request, now), Body::Text(lines)])
            }
        };
        Ok(Reply::new(body, data))
    }
}

/// Approve a request for consent
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Approve {
    /// Id of the request, or a unique suffix of the id
    #[arg(add = REQUESTS)]
    id: String,
    /// Also consent to the same caller's other plans that only read from this catalog
    #[arg(long, value_name = "CATALOG", requires = "for", add = CATALOGS)]
    #[serde(default)]
    reads: Option<String>,
    /// How long the consent given with --reads lasts, up to 24h
    #[arg(long, value_name = "SPAN", value_parser = span, requires = "reads")]
    #[serde(skip)]
    r#for: Option<Millis>,
    /// What to tell the agent that asked
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

fn span(text: &str) -> Result<Millis, Error> {
    span::parse(text)
        .map_err(|why| Error::new(Code::InvalidArgument, format!("'{}' {why}", text.escape_debug())).hint(span::HINT))
}

impl Operation for Approve {
    const TOOL: &'static str = "approve_consent";
    const CLI: &'static [&'static str] = &["consent", "approve"];
    const TITLE: &'static str = "Approve consent request";
    const ABOUT: &'static str = "Approve a request: the agent can then do exactly what it requested, once, within ten \
        minutes";
    const HELP: &'static str = "Shows what the request would do, and asks you to confirm. The command needs a \
        terminal and does not accept --yes. If you add --reads CATALOG and --for SPAN, the same caller can also \
        run every plan that only reads from that catalog, in the same project and for the given time. `mcpkg \
        consent deny` revokes the consent, and `mcpkg events` shows each use of the consent.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg consent list",
        "mcpkg consent approve 0199c0de-7d1c-7b3a-9d5e-3f2a1b4c5d6e",
        "mcpkg consent approve 3f2a1b4c5d6e --reads hosting --for 1h",
        "mcpkg consent approve 3f2a1b4c5d6e --note 'delete it again afterwards'",
    ];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if context.confirmation != Confirmation::Ask {
            return Err(Error::new(
                Code::TerminalRequired,
                "Only a person at a terminal can consent; --yes does not apply",
            )
            .hint("run the command at a terminal, without --yes"));
        }
        let note = note::checked(self.note.as_deref())?;
        let now = context.clock.now();
        let request = request::waiting(context, named(context, &self.id)?.uuid, now)?;
        let wider = match self.reads.as_deref().zip(self.r#for) {
            Some((catalog, span)) => {
                widened::check(span)?;
                Some((catalog, widened::base_url(context, catalog)?, span))
            }
            None => None,
        };
        let question = match &wider {
            Some((catalog, base_url, span)) => {
                let address = base_url.as_deref().unwrap_or_default();
                let (asker, span) = (asker_named(&request.asker), span::shown(*span));
                format!(
                    "Consent to this request and, for {span}, to everything that {asker} reads from '{catalog}' \
                    ({address})?"
                )
            }
            None => "Consent to it?".to_owned(),
        };
        let note = note.map(|note| format!(" Your note: {}", note::quoted(note))).unwrap_or_default();
        let question = format!("{}. {question}{note}", request.summary);
        (context.ask)(shown(&request, now), &question)?;
        let approved = request::approve(context, &request, self.note.as_deref())?;
        let until = rfc3339(approved.expires_at);
        let mut sentence = format!("Approved: {}. The agent can do this once, until {until}", approved.summary);
        let mut data = data(&approved, context.clock.now());
        if let Some((catalog, base_url, span)) = wider {
            let until = rfc3339(widened::widen(context, &approved, catalog, base_url.as_deref(), span)?);
            sentence.push_str(&format!("; plans that only read from '{catalog}' need no consent until {until}"));
            data["reads"] = json!({ "catalog": catalog, "expires_at": until });
        }
        Ok(Reply::sentence(sentence, data)
            .hint(format!("until the consent is used, you can revoke it: `mcpkg consent deny {}`", approved.uuid)))
    }
}

/// Deny a request for consent
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Deny {
    /// Id of the request, or a unique suffix of the id
    #[arg(add = REQUESTS)]
    id: String,
    /// What to tell the agent that asked
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

impl Operation for Deny {
    const TOOL: &'static str = "deny_consent";
    const CLI: &'static [&'static str] = &["consent", "deny"];
    const TITLE: &'static str = "Deny consent request";
    const ABOUT: &'static str = "Deny an agent's request, or revoke a consent that has not been used yet";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg consent deny 0199c0de-7d1c-7b3a-9d5e-3f2a1b4c5d6e",
        "mcpkg consent deny 3f2a1b4c5d6e --note 'use app_7f3'",
    ];
    const EFFECT: Effect = Effect::Write;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        note::checked(self.note.as_deref())?;
        let request = named(context, &self.id)?;
        let was_widened = widened::take_back(context, request.uuid)?;
        let (denied, mut sentence) = match request::deny(context, request.uuid, self.note.as_deref()) {
            Ok(denied) => (denied.clone(), format!("Denied: {}", denied.summary)),
            // The request was used or has expired, but its widened approval was still taken back.
            Err(error) if was_widened && error.code() == Code::ConsentExpired => (request, "Taken back".to_owned()),
            Err(error) => return Err(error),
        };
        if was_widened {
            sentence.push_str("; each read of the catalog needs your consent again");
        }
        Ok(Reply::sentence(sentence, data(&denied, context.clock.now())))
    }
}

/// Returns the request with this id or with an id that ends in it. Ids created within the same hour begin with the same
/// characters, so their ends are shown and accepted instead.
fn named(context: &Context, id: &str) -> Result<Request> {
    let id = id.trim();
    context.store.read(|db| {
        if let Ok(uuid) = Uuid::parse_str(id) {
            return consents::get(db, uuid)?.ok_or_else(|| request::missing(id));
        }
        let ends = |request: &Request| id.len() >= 4 && request.uuid.to_string().ends_with(&id.to_ascii_lowercase());
        let mut found: Vec<Request> = consents::list(db, None, &Page::all())?.rows.into_iter().filter(ends).collect();
        match (found.pop(), found.is_empty()) {
            (Some(request), true) => Ok(request),
            _ => Err(request::missing(id)),
        }
    })
}

fn state(request: &Request, now: Millis) -> &'static str {
    match request.state {
        State::Pending | State::Approved if !in_time(request.asked_at, request.expires_at, now) => "expired",
        state => state.word(),
    }
}

fn shown(request: &Request, now: Millis) -> Body {
    let project = if request.project.is_empty() { String::new() } else { format!(" in project '{}'", request.project) };
    let by_client = if request.is_declined() { ", declined by its client" } else { "" };
    let effect = request.effect.as_ref().map(|effect| format!("This {}", effect.to_uppercase()));
    let mut lines: Vec<String> = effect.into_iter().collect();
    lines.extend([
        request.summary.clone(),
        format!("asked by {} ({}{project})", request.caller, request.operation),
        format!("{}{}; expires {}", state(request, now), by_client, rfc3339(request.expires_at)),
    ]);
    lines.extend(request.note.as_ref().map(|note| format!("note: {}", note::quoted(note))));
    lines.push(String::new());
    lines.extend(effects(request).into_iter().map(|line| format!("  {line}")));
    Body::lines(lines)
}

/// Describes who may use an approval: the holders of an access key, someone who signed in, or everyone else.
fn asker_named(asker: &str) -> String {
    match asker.split_once(':') {
        Some(("key", key)) => format!("every agent with the access key '{key}'"),
        Some(("person", name)) => format!("every agent of '{name}', who signed in,"),
        Some(("program", name)) => format!("the program '{name}', which signed in,"),
        _ => "every agent without an access key, such as those you start on this machine,".to_owned(),
    }
}

/// Returns a line that says what an approval was widened to, and how to take that back.
fn wider_line(wider: &Wider) -> String {
    let Wider { consent, asker, catalog, expires_at } = wider;
    let (asker, until) = (asker_named(asker), rfc3339(*expires_at));
    format!(
        "{asker} can read from '{catalog}' without asking until {until}; to revoke that: `mcpkg consent deny {}`\n",
        tail(*consent)
    )
}

fn wider_data(wider: &Wider) -> Value {
    let Wider { consent, asker, catalog, expires_at } = wider;
    json!({ "consent": consent.to_string(), "asker": asker, "catalog": catalog, "expires_at": rfc3339(*expires_at) })
}

fn data(request: &Request, now: Millis) -> Value {
    json!({
        "id": request.uuid.to_string(),
        "operation": request.operation,
        "asked_by": request.caller,
        "asker": request.asker,
        "project": Some(&request.project).filter(|project| !project.is_empty()),
        "inputs": serde_json::from_str::<Value>(&request.inputs).unwrap_or_default(),
        "plan_hash": request.plan_hash,
        "summary": request.summary,
        "effect": request.effect,
        "effects": effects(request),
        "state": state(request, now),
        "asked_at": rfc3339(request.asked_at),
        "expires_at": rfc3339(request.expires_at),
        "decided_at": request.decided_at.filter(|_| !request.is_declined()).map(rfc3339),
        "declined_at": request.decided_at.filter(|_| request.is_declined()).map(rfc3339),
        "consumed_at": request.consumed_at.map(rfc3339),
        "note": request.note,
    })
}
