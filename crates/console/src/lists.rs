//! Builds generic screens for all `list` operations, and for `doctor` and `check`. A new `list` operation gets its
//! screen without further code.

use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Entry, Table};

use crate::action::{Action, Invocation, entry};
use crate::health;
use crate::pages;
use crate::place::{Part, Place};
use crate::reply;
use crate::screen::{List, Row, Screen, Span, Tone};
use crate::time::local;
use crate::words;

/// The verbs that create an item, in order of preference.
const MAKERS: [&str; 5] = ["create", "add", "import", "install", "new"];

/// The verbs that delete an item, in order of preference.
const ENDERS: [&str; 4] = ["delete", "remove", "uninstall", "revoke"];

fn listing(context: &Context) -> impl Iterator<Item = &'static Entry> {
    let lists = |entry: &&Entry| entry.lists.is_some() && entry.faces.shell() && entry.effect == Effect::Read;
    // Outside a workspace, its lists only fail.
    let groups = context.domains.iter().flat_map(|domain| domain.groups);
    let off: Vec<&str> = groups.filter(|group| !(group.holds)(&context.selection)).map(|group| group.name).collect();
    let entries = context.domains.operations().filter(lists).filter(move |entry| !off.contains(&entry.group));
    entries.filter(|entry| matches!(entry.cli, [_, "list"] | [_, _, "list"]))
}

/// Returns the screen `All`: a row for each `list` operation, for `doctor` and for `check`.
pub fn all(context: &Context) -> Result<Screen> {
    let row = |entry: &'static Entry| {
        let words = entry.cli.join(" ");
        Row {
            cells: vec![
                Span::new(Tone::Name, entry.cli[..entry.cli.len() - 1].join(" ").as_str()),
                Span::plain(entry.about),
            ],
            // A list that has required arguments opens as a form.
            look: Some(match needs_arguments(entry) {
                true => Place::Form(words.clone()),
                false => Place::List(words.clone()),
            }),
            id: words,
            ..Row::default()
        }
    };
    let mut rows: Vec<Row> = listing(context).map(row).collect();
    rows.push(health::row());
    for words in ["doctor", "check"] {
        if let Some(entry) = entry(context.domains, words) {
            rows.push(Row {
                id: words.to_owned(),
                cells: vec![Span::new(Tone::Name, words), Span::plain(entry.about)],
                look: Some(Place::List(words.to_owned())),
                ..Row::default()
            });
        }
    }
    Ok(Screen::list("All", List { rows, wraps: true, ..List::default() }))
}

/// Shows the table that a command such as `tool list` prints. The first column with a heading must be the name of the
/// item. A reply without a table is shown as text.
pub fn list(context: &Context, words: &str, part: &Part) -> Result<Screen> {
    let call = Invocation::new(words);
    let (found, has_more) = match has_pages(context, words) {
        true => pages::replies(context, &call, part.rows, part.rows)?,
        false => (vec![call.run(context)?], false),
    };
    let noun = words.trim_end_matches(" list");
    let title = format!("All > {noun}");
    let tables: Vec<&Table> = found.iter().filter_map(|reply| table(&reply.body)).collect();
    let Some(first) = tables.first() else {
        return Ok(Screen::text(title, found.iter().flat_map(|one| reply::lines(one, context.asked_in)).collect()));
    };
    let (can_show, now) = (has(context, noun, "show"), context.clock.now());
    let acts = actions(context, noun);
    // `project list` has a first column without a heading, which marks the selected project.
    let named = first.columns.iter().position(|heading| !heading.is_empty()).unwrap_or_default();
    let row = |cells: &Vec<String>| {
        let name = cells.get(named).cloned().unwrap_or_default();
        let shown = |cell: &String| local(cell, now).unwrap_or_else(|| cell.clone());
        Row {
            id: name.clone(),
            cells: cells
                .iter()
                .enumerate()
                .map(|(at, cell)| match at == named {
                    true => Span::new(Tone::Name, cell),
                    false => Span::plain(&shown(cell)),
                })
                .collect(),
            actions: acts(&name),
            look: can_show.then(|| Place::Shown(noun.to_owned(), name)),
            is_heading: false,
        }
    };
    let mut rows: Vec<Row> = tables.iter().flat_map(|table| &table.rows).map(row).collect();
    rows.extend(has_more.then(|| pages::more("rows")));
    let title = pages::titled(&title, &rows);
    let maker = MAKERS.into_iter().find(|verb| has(context, noun, verb));
    let empty = if maker.is_some() { "Nothing here yet. {+} creates one." } else { "Nothing here yet." };
    let list = List { columns: first.columns, rows, empty, is_narrow: false, ..List::default() };
    let new = maker.map(|verb| Action::open('+', verb, Place::Form(format!("{noun} {verb}"))));
    Ok(Screen::list(title, list).with(new))
}

/// Returns whether there is a command `NOUN VERB`.
fn has(context: &Context, noun: &str, verb: &str) -> bool {
    entry(context.domains, &format!("{noun} {verb}")).is_some()
}

/// Returns a function that makes the actions for a row of a list, from the row's name.
fn actions<'n>(context: &Context, noun: &'n str) -> impl Fn(&str) -> Vec<Action> + use<'n> {
    let ender = ENDERS.into_iter().find(|verb| has(context, noun, verb));
    let (can_select, can_run) = (has(context, noun, "select"), taking(context, noun).next().is_some());
    move |name| {
        let ends = ender.map(|verb| {
            let call = Invocation::new(&format!("{noun} {verb}")).with(name).destroying(name);
            let call = call.asking(format!("Run `mcpkg {noun} {verb} {name}`?"));
            Action::call('D', verb, call)
        });
        let selects = can_select.then(|| {
            let question = format!("Select {noun} {name}? Agents and commands then use it too.");
            Action::call('a', "select", Invocation::new(&format!("{noun} select")).with(name).asking(question))
        });
        let runs = can_run.then(|| Action::open('r', "run", Place::Verbs(noun.to_owned(), name.to_owned())));
        selects.into_iter().chain(runs).chain(ends).collect()
    }
}

/// Returns whether a command cannot run without arguments.
fn needs_arguments(entry: &'static Entry) -> bool {
    let mut command = entry.augment(clap::Command::new("mcpkg"));
    command.build();
    command.get_arguments().any(clap::Arg::is_required_set)
}

/// Lists the commands that take the name of an item. Each row opens a form that already contains the name.
pub fn verbs(context: &Context, noun: &str, name: &str) -> Result<Screen> {
    let row = |entry: &'static Entry| {
        let words = entry.cli.join(" ");
        let (effect, tone) = words::effect(entry.effect.does());
        Row {
            id: words.clone(),
            cells: vec![Span::new(Tone::Name, &words), Span::new(tone, effect), Span::plain(entry.about)],
            look: Some(Place::Filled(words, name.to_owned())),
            ..Row::default()
        }
    };
    let rows = taking(context, noun).map(row).collect();
    let list = List { rows, wraps: true, ..List::default() };
    Ok(Screen::list(format!("All > {noun} {name} > run"), list))
}

/// Returns the commands `NOUN VERB` whose first argument has the same name as the first argument of `NOUN show`. If
/// there is no command `NOUN show`, compares with the command that deletes the item. Leaves out the commands that show,
/// select, create or delete an item.
fn taking<'c>(context: &'c Context, noun: &str) -> impl Iterator<Item = &'static Entry> + use<'c> {
    let of = |verb: &str| entry(context.domains, &format!("{noun} {verb}")).and_then(first_argument);
    let taken = ["show"].into_iter().chain(ENDERS).find_map(of);
    let noun: Vec<String> = noun.split(' ').map(str::to_owned).collect();
    let shown = ["show", "select"];
    context.domains.operations().filter(move |entry| {
        let Some((verb, words)) = entry.cli.split_last() else { return false };
        let is_other = !shown.contains(verb) && !MAKERS.contains(verb) && !ENDERS.contains(verb);
        is_other && entry.faces.shell() && *words == noun[..] && taken.is_some() && first_argument(entry) == taken
    })
}

/// Returns the name of a command's first positional argument.
fn first_argument(entry: &'static Entry) -> Option<String> {
    let mut command = entry.augment(clap::Command::new("mcpkg"));
    command.build();
    command.get_positionals().next().map(|argument| argument.get_id().to_string())
}

/// Returns whether a command returns its rows in pages.
fn has_pages(context: &Context, words: &str) -> bool {
    let Some(entry) = entry(context.domains, words) else { return false };
    let mut command = entry.augment(clap::Command::new("mcpkg"));
    command.build();
    let has = |name| command.get_arguments().any(|known| known.get_long() == Some(name));
    has("limit") && has("cursor")
}

/// Shows the output of `NOUN show NAME`.
pub fn shown(context: &Context, noun: &str, name: &str) -> Result<Screen> {
    let found = Invocation::new(&format!("{noun} show")).with(name).run(context)?;
    Ok(Screen::text(format!("All > {noun} {name}"), reply::lines(&found, context.asked_in))
        .with(actions(context, noun)(name)))
}

fn table(body: &Body) -> Option<&Table> {
    match body {
        Body::Table(table) => Some(table),
        Body::Several(bodies) => bodies.iter().find_map(table_of),
        Body::Below(_, body) => table(body),
        _ => None,
    }
}

fn table_of(body: &Body) -> Option<&Table> {
    table(body)
}
