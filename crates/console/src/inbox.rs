//! The inbox, which lists everything that waits for the user: `mcpkg inbox`, and the first screen of the console.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use mcpkg_store::watch::Change;

use crate::screen::{List, Row, Screen, Span, Tone};
use crate::survey::Survey;
use crate::waiting::{Waiting, stored};

/// Show what waits for you
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Inbox {
    /// Keep printing new items as they arrive
    #[arg(short, long)]
    #[serde(default)]
    follow: bool,
}

impl Operation for Inbox {
    const TOOL: &'static str = "list_inbox";
    const CLI: &'static [&'static str] = &["inbox"];
    const TITLE: &'static str = "Show what waits for you";
    const ABOUT: &'static str =
        "Show what waits for your decision: consent requests, drafts, changed files, failed runs";
    const HELP: &'static str = "The items that expire come first. `mcpkg console` shows the same items and lets you \
        decide on them.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg inbox", "mcpkg inbox --follow --json"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = crate::GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("waiting");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let (mut waiting, mut problems) = waiting(context);
        if !self.follow {
            return Ok(reply(context, &waiting, problems));
        }
        let mut watch = context.store.watch(context.store.position()?)?;
        let mut known: Vec<String> = Vec::new();
        while !context.is_cancelled() {
            let new: Vec<Waiting> = waiting.iter().filter(|item| !known.contains(&item.id)).cloned().collect();
            if !new.is_empty() || !problems.is_empty() {
                (context.emit)(reply(context, &new, std::mem::take(&mut problems)))?;
            }
            known = waiting.into_iter().map(|item| item.id).collect();
            while !context.is_cancelled() && (!watch.wait(POLL) || watch.look()? == Change::None) {}
            (waiting, _) = self::waiting(context);
        }
        Ok(Reply::emitted())
    }
}

const POLL: std::time::Duration = std::time::Duration::from_millis(200);

fn reply(context: &Context, waiting: &[Waiting], problems: Vec<String>) -> Reply {
    let table = Table {
        columns: &["KIND", "FROM", "WHAT", "EFFECT", "UNTIL", "COMMAND"],
        rows: waiting.iter().map(|item| cells(context, item)).collect(),
        empty: "Nothing waits for you".to_owned(),
    };
    let reply = Reply::new(Body::Table(table), json!({ "waiting": waiting })).warn(problems);
    match waiting.is_empty() {
        true => reply,
        false => reply.hint("to look and decide on a screen, run `mcpkg console`"),
    }
}

fn cells(context: &Context, item: &Waiting) -> Vec<String> {
    let until = item.until.map(|at| crate::time::until(at, context.clock.now())).unwrap_or_default();
    let effect = item.effect.unwrap_or_default().to_owned();
    vec![item.shown_kind(), item.from.clone(), item.shown_what(), effect, until, item.show.clone()]
}

/// Returns the inbox screen, with what a survey of this machine found. Pass `None` while the survey is still running.
pub fn screen(context: &Context, survey: Option<&Survey>) -> Result<Screen> {
    let (mut waiting, mut problems) = stored(context);
    if let Some(survey) = survey {
        waiting.extend(survey.items().cloned());
        problems.extend(survey.problems().cloned());
    }
    let now = context.clock.now();
    let first = waiting.iter().filter_map(|item| item.until).min();
    let title = match (waiting.len(), first) {
        (0, _) => "Inbox: nothing waits for you".to_owned(),
        (1, None) => "Inbox: 1 waits for you".to_owned(),
        (more, None) => format!("Inbox: {more} wait for you"),
        (1, Some(at)) => format!("Inbox: 1 waits for you, until {}", crate::time::until(at, now)),
        (more, Some(at)) => format!("Inbox: {more} wait for you, the first until {}", crate::time::until(at, now)),
    };
    let title = if survey.is_some() { title } else { format!("{title}; reading files...") };
    let mut rows: Vec<Row> = waiting.into_iter().map(|item| row(item, now)).collect();
    rows.extend(problems.iter().map(|problem| Row {
        id: format!("problem {problem}"),
        cells: vec![Span::new(Tone::Bad, "ERROR"), Span::plain(""), Span::plain(problem)],
        ..Row::default()
    }));
    let list = List {
        columns: &["KIND", "FROM", "WHAT", "", "UNTIL"],
        rows,
        empty: "Nothing waits for you. Requests of agents, drafts, changed files and failed runs appear here.",
        is_narrow: false,
        ..List::default()
    };
    Ok(Screen::list(title, list))
}

fn row(item: Waiting, now: Millis) -> Row {
    let tone = match item.kind {
        "ask" => Tone::Strong,
        "run" | "finding" => Tone::Bad,
        "drift" | "check" | "sync" => Tone::Warning,
        _ => Tone::Plain,
    };
    let effect = item.effect.map(crate::words::effect).unwrap_or(("", Tone::Plain));
    Row {
        cells: vec![
            Span::new(tone, &item.shown_kind()),
            Span::new(Tone::Name, &item.from),
            Span::plain(&item.shown_what()),
            Span::new(effect.1, effect.0),
            Span::new(Tone::Dim, &item.until.map(|at| crate::time::until(at, now)).unwrap_or_default()),
        ],
        id: item.id,
        look: Some(item.look),
        actions: item.actions,
        is_heading: false,
    }
}

/// Collects everything that waits for the user: items in the database, and items that a survey of this machine finds.
fn waiting(context: &Context) -> (Vec<Waiting>, Vec<String>) {
    let (mut waiting, mut problems) = stored(context);
    let survey = Survey::new(context);
    waiting.extend(survey.items().cloned());
    problems.extend(survey.problems().cloned());
    (waiting, problems)
}
