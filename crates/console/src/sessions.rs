//! Shows what each agent loads in every session, before and after a deploy, and the warnings of `mcpkg plan`.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::Invocation;
use crate::chart::{Bar, Chart};
use crate::data::{count, number, rows as listed, text};
use crate::place::Place;
use crate::reply;
use crate::screen::{Line, Row, Screen, Span, Tone};

/// What one agent loads in a session, in bytes before and after the deploy, and in tokens.
struct Session {
    agent: String,
    now: u64,
    after: u64,
    tokens: u64,
    /// The files that the agent loads whole, with their sizes.
    files: Vec<(String, u64)>,
    /// What the agent loads only by name and description, such as `2 skills`.
    listed: String,
}

fn sessions(plan: &Value, status: &Value) -> Vec<Session> {
    let before = listed(status, "budget");
    let session = |found: &Value| {
        let agent = text(found, "target");
        let now = before.iter().find(|budget| text(budget, "target") == agent);
        let file = |file: &Value| (text(file, "path").to_owned(), number(file, "bytes"));
        let counts = [("skills", "skill"), ("commands", "command"), ("subagents", "subagent")];
        let counts = counts.map(|(field, noun)| (number(&found["listed"], field), noun));
        let counts = counts.into_iter().filter(|(number, _)| *number > 0).map(|(number, noun)| count(number, noun));
        Session {
            agent: agent.to_owned(),
            now: now.map_or(0, |budget| number(budget, "bytes")),
            after: number(found, "bytes"),
            tokens: number(found, "tokens"),
            files: listed(found, "files").iter().map(file).collect(),
            listed: counts.collect::<Vec<_>>().join(", "),
        }
    };
    listed(plan, "budget").iter().map(session).collect()
}

/// Returns the rows for the end of the deploy screen: one for each agent, and one for the warnings of the plan.
pub fn rows(context: &Context) -> Result<Vec<Row>> {
    let (plan, status) = (Invocation::new("plan").run(context)?, Invocation::new("status").read(context)?);
    let row = |id: String, tone, name: &str, amount: &str, more: &str| Row {
        id,
        cells: vec![
            Span::plain(""),
            Span::plain(""),
            Span::new(tone, name),
            Span::plain(amount),
            Span::new(Tone::Dim, more),
        ],
        look: Some(Place::Sessions),
        ..Row::default()
    };
    let found = sessions(&plan.data, &status);
    let mut list = Vec::new();
    if !found.is_empty() {
        list.push(Row::heading("EACH SESSION LOADS"));
    }
    list.extend(found.iter().map(|session| {
        let amount = format!("{} ({})", count(session.after, "byte"), count(session.tokens, "token"));
        let more =
            if session.now == session.after { String::new() } else { format!("now {}", count(session.now, "byte")) };
        row(format!("session {}", session.agent), Tone::Name, &session.agent, &amount, &more)
    }));
    if let Some(first) = reply::warnings(&plan).first() {
        list.push(Row::heading("WARNINGS"));
        let amount = count(plan.warnings.len() as u64, "warning");
        list.push(row("warnings".to_owned(), Tone::Warning, &amount, "", first));
    }
    Ok(list)
}

/// Makes a chart of what each agent loads in a session, before and after the deploy.
pub fn chart(context: &Context) -> Result<Chart> {
    let (plan, status) = (Invocation::new("plan").run(context)?, Invocation::new("status").read(context)?);
    let bar = |session: Session| Bar {
        cells: vec![
            Span::new(Tone::Name, &session.agent),
            Span::plain(&count(session.now, "byte")),
            Span::plain(&count(session.after, "byte")),
            Span::plain(&count(session.tokens, "token")),
        ],
        length: session.after,
        tone: Tone::Name,
        ..Bar::default()
    };
    let rows = sessions(&plan.data, &status).into_iter().map(bar).collect();
    let columns = &["AGENT", "NOW", "AFTER THE DEPLOY", "ABOUT"];
    Ok(Chart { title: "Each session loads".to_owned(), columns, rows })
}

pub fn screen(context: &Context) -> Result<Screen> {
    let (plan, status) = (Invocation::new("plan").run(context)?, Invocation::new("status").read(context)?);
    let mut lines = Vec::new();
    let warnings = reply::warnings(&plan);
    let section = |heading: &str, warnings: &[String]| {
        let texts = warnings.iter().map(|warning| Line::quoted(warning).stop());
        std::iter::once(Line::of(Tone::Strong, heading)).chain(texts).collect::<Vec<Line>>()
    };
    if !warnings.is_empty() {
        lines.extend(section("Warnings", &warnings));
        lines.push(Line::blank());
    }
    lines.push(Line::of(Tone::Strong, "Each session loads, after the deploy"));
    for session in sessions(&plan.data, &status) {
        let amount = format!(
            "  {} (about {}); now {}",
            count(session.after, "byte"),
            count(session.tokens, "token"),
            count(session.now, "byte")
        );
        lines.push(Line::of(Tone::Name, &session.agent).then(Tone::Plain, &amount));
        let file = |(path, bytes): &(String, u64)| {
            Line::of(Tone::Dim, &format!("    {}  ", count(*bytes, "byte"))).then(Tone::Plain, path)
        };
        lines.extend(session.files.iter().map(file));
        if !session.listed.is_empty() {
            lines.push(Line::of(Tone::Dim, &format!("    names and descriptions of {}", session.listed)));
        }
    }
    if warnings.len() < plan.warnings.len() {
        lines.push(Line::blank());
        lines.extend(section("Each warning", &plan.warnings));
    }
    Ok(Screen::text("Deploy > what each session loads", lines))
}
