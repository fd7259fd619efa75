//! Collects what waits for the user: requests, runs, drafts and proposed changes.

use serde::Serialize;
use serde_json::Value;

use mcpkg_base::clock::{Millis, rfc3339};
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{number, rows, text, time};
use crate::place::Place;
use crate::{consent, draft, finding, proposal};

/// How many of the newest runs are searched for failed, stopped and waiting ones.
const RUNS: &str = "50";

/// How long a failed run stays in the inbox.
const FAILED: Millis = 24 * 3_600_000;

/// An item of the inbox.
#[derive(Clone, Debug, Serialize)]
pub struct Waiting {
    /// `ask`, `run`, `draft`, `change`, `drift`, `behind`, `sync`, `check` or `finding`.
    pub kind: &'static str,
    /// The number of equal requests that the item stands for. The item's commands decide on the request that expires
    /// first.
    #[serde(skip_serializing_if = "is_one")]
    pub count: u64,
    /// The source: an actor as in the audit trail (`events`), `disk`, `project`, `folder`, `doctor`, `audit`, or the
    /// origin of a proposed change.
    pub from: String,
    pub what: String,
    /// The first value of a request, to distinguish it from other requests for the same command. An item that stands
    /// for several requests has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// The effect of a request: `reads`, `writes` or `destroys`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "time_of")]
    pub until: Option<Millis>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub project: Option<String>,
    /// The command that shows the item.
    pub show: String,
    /// The commands that act on the item, such as `mcpkg consent approve ID`.
    pub commands: Vec<String>,
    #[serde(skip)]
    pub id: String,
    #[serde(skip)]
    pub look: Place,
    #[serde(skip)]
    pub actions: Vec<Action>,
}

impl Waiting {
    /// Returns an item about this machine, such as a changed file. The first command shows the item, the second one
    /// acts on it.
    pub fn here(kind: &'static str, from: &str, what: String, look: Place, commands: [Invocation; 2]) -> Self {
        Self {
            kind,
            count: 1,
            from: from.to_owned(),
            id: format!("{kind} {what}"),
            what,
            value: None,
            effect: None,
            until: None,
            project: None,
            look,
            show: commands[0].command(),
            commands: vec![commands[1].command()],
            actions: Vec::new(),
        }
    }

    /// Returns the kind as the user sees it: `ASK`, or `ASK x12` for several equal requests.
    pub fn shown_kind(&self) -> String {
        let kind = self.kind.to_uppercase();
        if self.count > 1 { format!("{kind} x{}", self.count) } else { kind }
    }

    /// Returns what the item is about, with the value of a request: `Run shop:apps:create "web"`.
    pub fn shown_what(&self) -> String {
        match &self.value {
            Some(value) => format!("{} {value}", self.what),
            None => self.what.clone(),
        }
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference to the field")]
fn is_one(count: &u64) -> bool {
    *count == 1
}

#[expect(clippy::ref_option, reason = "serde passes a reference to the field")]
fn time_of<S: serde::Serializer>(until: &Option<Millis>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_some(&until.map(rfc3339))
}

/// Collects the items in the database. Items that expire come first, the soonest at the top. The second list has a
/// message for each source that cannot be read, so that one failure does not hide the other sources.
pub fn stored(context: &Context) -> (Vec<Waiting>, Vec<String>) {
    let (mut waiting, problems) = collect(context, &[requests, runs, drafts, proposals]);
    waiting.sort_by_key(|item| item.until.unwrap_or(Millis::MAX));
    (waiting, problems)
}

/// Reads the items of one source, such as all drafts.
pub type Source = fn(&Context) -> Result<Vec<Waiting>>;

/// Reads several sources. Returns all items, and a message for each source that failed.
pub fn collect(context: &Context, sources: &[Source]) -> (Vec<Waiting>, Vec<String>) {
    let mut problems = Vec::new();
    let mut waiting = Vec::new();
    for source in sources {
        match source(context) {
            Ok(items) => waiting.extend(items),
            // Without a project or a folder to deploy to, this source has no items.
            Err(error) if matches!(error.code(), Code::NoProject | Code::NotFound) => {}
            Err(error) => problems.push(error.to_string()),
        }
    }
    (waiting, problems)
}

fn requests(context: &Context) -> Result<Vec<Waiting>> {
    let data = Invocation::new("consent list").read(context)?;
    let now_project = context.read(|_, project| Ok(project.name.clone())).unwrap_or_default();
    let item = |request: &Value| {
        let (id, (what, (effect, _))) = (text(request, "id"), consent::summary(request));
        let project = Some(text(request, "project").to_owned()).filter(|project| !project.is_empty());
        let elsewhere = project.as_deref().filter(|project| *project != now_project);
        let asked_by = text(request, "asked_by");
        let actions = consent::actions(request);
        let mut commands = commands(&actions);
        // If the request only reads, the key `a` opens `Place::Answers` instead of running a command, so add the
        // command that approves.
        if actions.iter().any(|action| matches!(action.does, crate::Does::Open(Place::Answers(_)))) {
            commands.insert(0, consent::approval(id).command());
        }
        Waiting {
            kind: "ask",
            count: 1,
            from: elsewhere.map_or_else(|| asked_by.to_owned(), |project| format!("{asked_by} in {project}")),
            what: match text(request, "state") {
                "approved" => format!("{what} (APPROVED, not used)"),
                _ => what,
            },
            value: consent::first_value(request),
            effect: Some(effect),
            until: time(request, "expires_at"),
            project,
            id: format!("ask {id}"),
            look: Place::Consent(id.to_owned()),
            show: Invocation::new("consent show").with(id).command(),
            commands,
            actions,
        }
    };
    let shown = rows(&data, "consents").iter().filter(|request| text(request, "state") != "denied");
    let mut items: Vec<Waiting> = Vec::new();
    for (request, item) in shown.map(|request| (request, item(request))) {
        let is_read = item.effect == Some("reads") && text(request, "state") == "pending";
        let is_equal =
            |known: &&mut Waiting| (&known.from, &known.what, known.effect) == (&item.from, &item.what, item.effect);
        match items.iter_mut().find(is_equal).filter(|_| is_read) {
            Some(known) if known.until <= item.until => (known.count, known.value) = (known.count + 1, None),
            // The equal request that expires first stands for all.
            Some(known) => *known = Waiting { count: known.count + 1, value: None, ..item },
            None => items.push(item),
        }
    }
    Ok(items)
}

fn runs(context: &Context) -> Result<Vec<Waiting>> {
    let data = Invocation::new("workflow runs").option("--limit", RUNS).read(context)?;
    let item = |run: &Value| {
        let (id, state) = (text(run, "run"), text(run, "state"));
        let actions = crate::run::actions(id, state);
        Waiting {
            kind: "run",
            count: 1,
            from: text(run, "by").to_owned(),
            what: format!("{} {state}", text(run, "name")),
            value: None,
            effect: None,
            until: None,
            project: None,
            id: format!("run {id}"),
            look: Place::Run(id.to_owned()),
            show: Invocation::new("workflow runs").with(id).command(),
            commands: commands(&actions),
            actions,
        }
    };
    let since = context.clock.now().saturating_sub(FAILED);
    let waits = |run: &&Value| match text(run, "state") {
        "uncertain" | "interrupted" | "paused" | "waiting" => true,
        "failed" => time(run, "ended_at").is_some_and(|at| at >= since),
        _ => false,
    };
    Ok(rows(&data, "runs").iter().filter(waits).map(item).collect())
}

fn drafts(context: &Context) -> Result<Vec<Waiting>> {
    let data = Invocation::new("draft list").read(context)?;
    let item = |found: &Value| {
        let (id, actions) = (text(found, "id"), draft::actions(found));
        let state = match text(found, "state") {
            "open" if found["base_revision"].is_null() => "new",
            "open" => "changed",
            state => state,
        };
        let findings = finding::counts(number(found, "errors"), number(found, "warnings_found"));
        Waiting {
            kind: "draft",
            count: 1,
            from: text(found, "proposed_by").to_owned(),
            what: format!("{}, {state}: {findings}", text(found, "workflow")),
            value: None,
            effect: None,
            until: None,
            project: Some(text(found, "project").to_owned()),
            id: format!("draft {id}"),
            look: Place::Draft(id.to_owned()),
            show: Invocation::new("draft show").with(id).command(),
            commands: commands(&actions),
            actions,
        }
    };
    let waits = |found: &&Value| matches!(text(found, "state"), "open" | "stale");
    Ok(rows(&data, "drafts").iter().filter(waits).map(item).collect())
}

fn proposals(context: &Context) -> Result<Vec<Waiting>> {
    let data = Invocation::new("evolve list").read(context)?;
    let item = |found: &Value| {
        let id = found["id"].to_string();
        let actions = proposal::actions(&id, &[]);
        Waiting {
            kind: "change",
            count: 1,
            from: match text(found, "origin") {
                "deploy" => "disk".to_owned(),
                origin => origin.to_owned(),
            },
            what: format!("{} of {}", text(found, "action"), text(found, "module_id")),
            value: None,
            effect: None,
            until: None,
            project: None,
            id: format!("change {id}"),
            look: Place::Proposal(id.clone(), Vec::new()),
            show: Invocation::new("evolve show").with(id).command(),
            commands: commands(&actions),
            actions,
        }
    };
    Ok(rows(&data, "proposals").iter().filter(|found| text(found, "state") == "open").map(item).collect())
}

pub fn commands(actions: &[Action]) -> Vec<String> {
    let command = |action: &Action| match &action.does {
        crate::action::Does::Call(invocation) => Some(invocation.command()),
        _ => None,
    };
    actions.iter().filter_map(command).collect()
}
