//! Builds the screens of the selected project's content: prompts, skills, instructions and resources.

use serde_json::Value;

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::events;

use crate::action::{Action, EDIT_OUTSIDE, Invocation, entry};
use crate::data::{number, rows, text, texts, time};
use crate::diff as diffs;
use crate::figure::{Figure, Shows};
use crate::markdown::{self, Piece};
use crate::pages;
use crate::place::{Part, Place, Undo};
use crate::rendered;
use crate::reply;
use crate::screen::{Line, List, Row, Screen, Span, Tone, quoted};
use crate::seen::{self, AS_AGENTS_SEE_IT, RENDERED, VIEWS};
use crate::time::exact;

pub fn screen(context: &Context, part: &Part) -> Result<Screen> {
    let new = Action::open('+', "new", Place::New);
    if is_search(&part.words) {
        return Ok(found(context, &part.words)?.with([new]));
    }
    let listed = |noun: &str, field| {
        pages::first(context, &Invocation::new(&format!("{noun} list")), field, part.rows, part.rows)
    };
    let (prompts, skills, resources) =
        (listed("prompt", "prompts")?, listed("skill", "skills")?, listed("resource", "resources")?);
    let mut list = Vec::new();
    let mut section = |heading: &str, rows: Vec<Row>, has_more: bool, of: &str| {
        if !rows.is_empty() || has_more {
            list.push(Row::heading(heading));
            list.extend(rows);
            list.extend(has_more.then(|| pages::more(of)));
        }
    };
    let names = |found: &Value| text(found, "name").to_owned();
    let prompt = |found: &Value| item("prompt", names(found), text(found, "name"));
    section("PROMPTS", prompts.rows.iter().map(prompt).collect(), prompts.has_more, "prompts");
    let own = |found: &&Value| text(found, "from") != "prompt";
    let skill = |found: &Value| item("skill", names(found), text(found, "name"));
    // `skill list` puts prompts that act as skills at the end. Once the first of these prompts is loaded, all other
    // skills are loaded too.
    let has_more = skills.has_more && skills.rows.iter().all(|found| own(&found));
    section("SKILLS", skills.rows.iter().filter(own).map(skill).collect(), has_more, "skills");
    let resource = |found: &Value| item("resource", text(found, "uri").to_owned(), text(found, "name"));
    let is_shown = |found: &&Value| !text(found, "uri").starts_with("skill://");
    let (instructions, others): (Vec<&Value>, Vec<&Value>) =
        resources.rows.iter().filter(is_shown).partition(|found| {
            text(found, "uri").starts_with("instructions://") || text(found, "uri").starts_with("rule://")
        });
    section("INSTRUCTIONS", instructions.into_iter().map(resource).collect(), false, "");
    let of = "resources and instructions";
    section("RESOURCES", others.into_iter().map(resource).collect(), resources.has_more, of);
    section("DELETED", deleted(context)?, false, "");
    let title = pages::titled("Content", &list);
    let list = List {
        columns: &[],
        rows: list,
        empty: "The project is empty. {+} creates a prompt; `mcpkg import .` takes in what a folder holds.",
        is_narrow: true,
        ..List::default()
    };
    Ok(Screen::list(title, list).with([new]))
}

/// The number of recent events among which deletions are looked for.
const RECENT: i64 = 1_000;

/// Returns a row for each of the project's recent deletions that can still be undone, the newest first.
fn deleted(context: &Context) -> Result<Vec<Row>> {
    let (project, newest) = context.read(|db, project| Ok((project.name.clone(), events::newest(db)?)))?;
    let deletions = Invocation::new("events").flag("--undo").option("--kind", "*.delete");
    let after = (newest - RECENT).max(0).to_string();
    let events = deletions.option("--after", &after).option("--limit", &RECENT.to_string()).read(context)?;
    let is_deletion = |event: &&Value| text(event, "undo") == "in" && text(event, "project") == project;
    let row = |event: &Value| {
        let seq = event["seq"].as_i64().unwrap_or_default();
        let undo = Place::Undo(Undo::Event(seq));
        Row {
            id: format!("deleted {seq}"),
            cells: vec![Span::new(Tone::Dim, text(event, "subject"))],
            look: Some(Place::Event(seq)),
            actions: vec![Action::open('b', "bring back", undo)],
            is_heading: false,
        }
    };
    Ok(rows(&events, "events").iter().rev().filter(is_deletion).map(row).collect())
}

/// The maximum number of items that a search returns.
const FOUND: usize = 100;

/// Returns whether the database can be searched for the words of a filter: they need a letter or a digit.
pub fn is_search(words: &str) -> bool {
    words.contains(char::is_alphanumeric)
}

fn found(context: &Context, words: &str) -> Result<Screen> {
    let rows: Vec<Row> = hits(context, words)?.into_iter().map(|hit| item(hit.noun, hit.key, &hit.name)).collect();
    let title = match rows.len() {
        FOUND.. => format!("Content: the best {FOUND} of more"),
        found => format!("Content: {found} found"),
    };
    Ok(Screen::list(
        title,
        List { columns: &[], rows, empty: "Nothing matches the filter.", is_narrow: true, ..List::default() },
    ))
}

/// A prompt, skill or resource that `mcpkg search` found.
pub struct Hit {
    pub noun: &'static str,
    /// The name; for a resource, its URI.
    pub key: String,
    name: String,
    pub description: String,
}

/// Searches the names and texts of the project's items, best hits first.
pub fn hits(context: &Context, words: &str) -> Result<Vec<Hit>> {
    let data = Invocation::new("search").option("--limit", &FOUND.to_string()).with(words).read(context)?;
    let mut hits: Vec<Hit> = Vec::new();
    for found in rows(&data, "hits") {
        let uri = text(found, "uri");
        let (noun, key) = match uri.strip_prefix("skill://").and_then(|path| path.split('/').next()) {
            _ if text(found, "kind") == "prompt" => ("prompt", text(found, "name")),
            Some(skill) => ("skill", skill),
            None => ("resource", uri),
        };
        // Several files of a skill may match.
        if !hits.iter().any(|hit| (hit.noun, hit.key.as_str()) == (noun, key)) {
            let field = |name| text(found, name).to_owned();
            hits.push(Hit { noun, key: key.to_owned(), name: field("name"), description: field("description") });
        }
    }
    Ok(hits)
}

/// Returns the row of a prompt, skill or resource. `key` is its name; for a resource, its URI.
fn item(noun: &str, key: String, name: &str) -> Row {
    let (look, actions) = match noun {
        "prompt" => (Place::Prompt(key.clone()), prompt_actions(&key)),
        "skill" => (Place::Skill(key.clone()), skill_actions(&key)),
        _ => (Place::Resource(key.clone()), item_actions("resource", &key, name)),
    };
    Row { id: format!("{noun} {key}"), cells: vec![Span::plain(&key)], look: Some(look), actions, is_heading: false }
}

/// Returns the name that the commands for an item take. Places identify resources by their URIs.
fn name_of(context: &Context, noun: &str, key: &str) -> Result<String> {
    if noun != "resource" || !key.contains(':') {
        return Ok(key.to_owned());
    }
    let shown = Invocation::new("resource show").with(key).read(context)?;
    Ok(text(&shown, "name").to_owned())
}

fn item_actions(noun: &str, key: &str, name: &str) -> Vec<Action> {
    let question = format!("Delete {noun} {key}? Its history stays.");
    let delete = Invocation::new(&format!("{noun} delete")).with(name).destroying(name).asking(question);
    vec![
        Action::open('t', "history", Place::History(noun.to_owned(), key.to_owned())),
        Action::call('D', "delete", delete),
    ]
}

pub fn prompt(context: &Context, name: &str, view: usize) -> Result<Screen> {
    let view = view % VIEWS.len();
    let data = Invocation::new("prompt show").with(name).read(context)?;
    let (mut lines, mut figures) = (Vec::new(), Vec::new());
    if !text(&data, "description").is_empty() {
        lines.extend([Line::quoted(text(&data, "description")), Line::blank()]);
    }
    match VIEWS[view] {
        AS_AGENTS_SEE_IT => lines.extend(seen::prompt(context, name)),
        _ if view == RENDERED => figures.push(render(&mut lines, text(&data, "text"), "")),
        _ => lines.extend(quoted(text(&data, "text"))),
    }
    let title = format!("Content > prompt {name}, {}", VIEWS[view]);
    Ok(Screen::text(title, lines).with(prompt_actions(name)).views(VIEWS).figures(figures))
}

/// Adds a Markdown text to the lines of a screen, and returns its figure. `uri` is the URI of its resource. It is empty if
/// the text is not a resource.
fn render(lines: &mut Vec<Line>, written: &str, uri: &str) -> Figure {
    let from = lines.len();
    let mut pieces = Vec::new();
    if written.len() > markdown::LONGEST {
        lines.push(Line::plain("The text is too long to be rendered."));
        lines.extend(quoted(written));
        return Figure::before(from, Shows::Markdown(pieces));
    }
    pieces.extend(markdown::pieces(written, uri));
    lines.extend(rendered::lines(&pieces));
    Figure { instead_of: from..lines.len(), shows: Shows::Markdown(pieces) }
}

/// Returns the actions for a prompt. Both `e` and `E` open `$EDITOR`, because the console cannot edit prompts itself.
fn prompt_actions(name: &str) -> Vec<Action> {
    let edit = |key, label| Action::call(key, label, Invocation::new("prompt edit").with(name));
    let (first, last) = (edit('e', "edit"), edit('E', EDIT_OUTSIDE));
    std::iter::once(first).chain(item_actions("prompt", name, name)).chain([last]).collect()
}

/// Lists the kinds of items that `+` can create. Each row opens a form.
pub fn new(context: &Context) -> Screen {
    let makers = ["prompt create", "skill create", "resource create", "mcp add", "source add"];
    let row = |words: &str| {
        let entry = entry(context.domains, words)?;
        Some(Row {
            id: words.to_owned(),
            cells: vec![Span::new(Tone::Name, words), Span::plain(entry.about)],
            look: Some(Place::Form(words.to_owned())),
            ..Row::default()
        })
    };
    let rows = makers.into_iter().filter_map(row).collect();
    Screen::list("Content > new", List { rows, wraps: true, ..List::default() })
}

pub fn resource(context: &Context, uri: &str, view: usize) -> Result<Screen> {
    let view = view % VIEWS.len();
    let (mut lines, mut figures) = (Vec::new(), Vec::new());
    let shown = Invocation::new("resource show").with(uri).run(context)?;
    let data = &shown.data;
    if VIEWS[view] == AS_AGENTS_SEE_IT {
        lines = seen::module(context, uri);
    } else {
        match data["text"].as_str() {
            Some(written) if view == RENDERED && markdown::is_markdown(uri, text(data, "mime_type")) => {
                figures.push(render(&mut lines, written, uri));
            }
            None if view == RENDERED && markdown::is_image(uri) => {
                figures.push(Figure::before(0, Shows::Markdown(vec![Piece::Image(uri.to_owned())])));
                lines = reply::lines(&shown, context.asked_in);
            }
            _ => lines = reply::lines(&shown, context.asked_in),
        }
    }
    let title = format!("Content > {uri}, {}", VIEWS[view]);
    Ok(Screen::text(title, lines).with(item_actions("resource", uri, text(data, "name"))).views(VIEWS).figures(figures))
}

pub fn skill(context: &Context, name: &str, view: usize) -> Result<Screen> {
    let view = view % VIEWS.len();
    let title = format!("Content > skill {name}, {}", VIEWS[view]);
    if VIEWS[view] == AS_AGENTS_SEE_IT {
        let lines = seen::module(context, &format!("skill:{name}"));
        return Ok(Screen::text(title, lines).with(skill_actions(name)).views(VIEWS));
    }
    let data = Invocation::new("skill show").with(name).read(context)?;
    let mut lines: Vec<Line> = texts(&data, "files").into_iter().map(|file| Line::of(Tone::Dim, file)).collect();
    lines.push(Line::blank());
    let mut figures = Vec::new();
    match view {
        RENDERED => figures.push(render(&mut lines, text(&data, "text"), &format!("skill://{name}/SKILL.md"))),
        _ => lines.extend(quoted(text(&data, "text"))),
    }
    Ok(Screen::text(title, lines).with(skill_actions(name)).views(VIEWS).figures(figures))
}

fn skill_actions(name: &str) -> Vec<Action> {
    let delete = Invocation::new("skill delete").with(name).destroying(name).asking(format!("Delete skill {name}?"));
    let trail = Place::History("resource".to_owned(), format!("skill://{name}/SKILL.md"));
    vec![Action::open('t', "history", trail), Action::call('D', "delete", delete)]
}

/// Shows the difference between two revisions of an item, or its last change.
pub fn diff(context: &Context, noun: &str, name: &str, revisions: Option<(u64, u64)>) -> Result<Screen> {
    let own = name_of(context, noun, name)?;
    let call = Invocation::new(&format!("{noun} diff")).with(&own);
    let (call, title, sides) = match revisions {
        Some((from, to)) => (
            call.with(from.to_string()).with(to.to_string()),
            format!("History of {noun} {name}: {from} -> {to}"),
            [format!("revision {from}"), format!("revision {to}")],
        ),
        None => (call, format!("Content > {noun} {name}: the last change"), ["before", "after"].map(str::to_owned)),
    };
    let data = call.read(context)?;
    let diff = diffs::parse(text(&data, "diff"));
    let head = if diff.hunks() == 0 { vec![Line::plain("The text is the same.")] } else { Vec::new() };
    let back = revisions.map(|(_, to)| back(noun, &own, to));
    Ok(Screen::diff(title, diff.named([&sides[0], &sides[1]]).under(head)).with(back))
}

/// Lists the revisions of an item. Each of them can be restored.
pub fn history(context: &Context, noun: &str, name: &str) -> Result<Screen> {
    let own = name_of(context, noun, name)?;
    let data = Invocation::new(&format!("{noun} history")).with(&own).read(context)?;
    let now = context.clock.now();
    let row = |found: &Value| {
        let revision = number(found, "revision");
        Row {
            id: revision.to_string(),
            cells: vec![
                Span::plain(&revision.to_string()),
                Span::plain(text(found, "action")),
                Span::new(Tone::Name, text(found, "actor")),
                Span::new(Tone::Dim, &time(found, "at").map(|at| exact(at, now)).unwrap_or_default()),
            ],
            look: Some(match revision {
                0 | 1 => place_of(noun, name),
                _ => Place::ItemDiff(noun.to_owned(), name.to_owned(), Some((revision - 1, revision))),
            }),
            actions: vec![back(noun, &own, revision)],
            is_heading: false,
        }
    };
    let list = List {
        columns: &["REVISION", "WHAT", "BY", "AT"],
        rows: rows(&data, "revisions").iter().map(row).collect(),
        empty: "No revisions.",
        is_narrow: true,
        ..List::default()
    };
    Ok(Screen::list(format!("History of {noun} {name}"), list))
}

/// Returns the action that brings back a revision of an item.
fn back(noun: &str, name: &str, revision: u64) -> Action {
    let question = format!("Bring back revision {revision} of {name}? It becomes the newest revision.");
    let call = Invocation::new(&format!("{noun} restore")).with(name).with(revision.to_string()).asking(question);
    Action::call('b', "bring back", call)
}

fn place_of(noun: &str, name: &str) -> Place {
    match noun {
        "prompt" => Place::Prompt(name.to_owned()),
        "resource" => Place::Resource(name.to_owned()),
        _ => Place::Workflow(name.to_owned()),
    }
}
