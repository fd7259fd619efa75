//! The palette: one list of the top-level screens, the prompts, resources and workflows, and all shell operations,
//! filtered while the user types.

use std::cmp::Reverse;
use std::collections::HashSet;

use nucleo_matcher::pattern::{CaseMatching, Normalization, Pattern};
use nucleo_matcher::{Config, Matcher, Utf32Str};

use mcpkg_base::error::Result;
use mcpkg_core::op::{Context, Effect};

use crate::action::Invocation;
use crate::content;
use crate::data::text;
use crate::health;
use crate::pages;
use crate::place::{Part, Place, ROOTS};
use crate::screen::{List, Row, Screen, Span, Tone};

/// The maximum number of rows shown.
const SHOWN: usize = 200;

/// The number of items of each kind to load. Other items are found only by a search.
const ITEMS: usize = 5_000;

pub fn screen(context: &Context, part: &Part) -> Result<Screen> {
    let mut rows: Vec<Row> = ROOTS.into_iter().map(|(key, name, place)| screen_row(key, name, place)).collect();
    let about = Span::plain(health::ABOUT);
    let cells = vec![Span::new(Tone::Name, "health"), Span::plain("screen"), Span::plain(""), about];
    rows.push(Row { cells, ..health::row() });
    for (noun, list, key) in
        [("prompt", "prompts", "name"), ("resource", "resources", "uri"), ("workflow", "workflows", "name")]
    {
        // Without a project, the palette still lists screens and operations.
        let call = Invocation::new(&format!("{noun} list"));
        let Ok(found) = pages::first(context, &call, list, ITEMS, ITEMS) else { continue };
        rows.extend(found.rows.iter().map(|item| item_row(noun, text(item, key), text(item, "description"))));
        rows.extend(found.has_more.then(|| pages::more(list)));
    }
    // Search the database for matching items that are not loaded.
    if content::is_search(&part.words) && rows.iter().any(Row::is_more) {
        let known: HashSet<String> = rows.iter().map(|row| row.id.clone()).collect();
        let hits = content::hits(context, &part.words).unwrap_or_default();
        let found = hits.iter().map(|hit| item_row(hit.noun, &hit.key, &hit.description));
        rows.extend(found.filter(|row| !known.contains(&row.id)));
    }
    let operations = context.domains.operations().filter(|entry| entry.faces.shell());
    rows.extend(operations.map(|entry| {
        let words = entry.cli.join(" ");
        let (effect, tone) = match entry.effect {
            Effect::Read => ("reads", Tone::Good),
            Effect::Destroy => ("destroys", Tone::Bad),
            _ => ("writes", Tone::Warning),
        };
        Row {
            cells: vec![
                Span::new(Tone::Name, &words),
                Span::plain("operation"),
                Span::new(tone, effect),
                Span::plain(entry.about),
            ],
            look: Some(match words.as_str() {
                crate::ask::WORDS => Place::Ask(None),
                _ => Place::Form(words.clone()),
            }),
            id: words,
            ..Row::default()
        }
    }));
    let title = pages::titled("Palette", &rows);
    Ok(Screen::list(title, List { columns: &[], rows, empty: "Nothing matches.", is_narrow: false, ..List::default() }))
}

fn screen_row(key: char, name: &str, place: Place) -> Row {
    Row {
        id: format!("screen {name}"),
        cells: vec![
            Span::new(Tone::Name, name),
            Span::plain("screen"),
            Span::plain(""),
            Span::new(Tone::Dim, &format!("key {key}")),
        ],
        look: Some(place),
        ..Row::default()
    }
}

fn item_row(noun: &str, name: &str, about: &str) -> Row {
    let look = match noun {
        "prompt" => Place::Prompt(name.to_owned()),
        "resource" => Place::Resource(name.to_owned()),
        "skill" => Place::Skill(name.to_owned()),
        _ => Place::Workflow(name.to_owned()),
    };
    Row {
        id: format!("{noun} {name}"),
        cells: vec![Span::new(Tone::Name, name), Span::plain(noun), Span::plain(""), Span::plain(about)],
        look: Some(look),
        ..Row::default()
    }
}

/// Returns the rows that match the typed text, at most `SHOWN`: first those whose name matches, best matches first.
pub fn matching<'a>(rows: &'a [Row], typed: &str) -> Vec<&'a Row> {
    if typed.trim().is_empty() {
        return rows.iter().take(SHOWN).collect();
    }
    let mut matcher = Matcher::new(Config::DEFAULT);
    let pattern = Pattern::parse(typed, CaseMatching::Ignore, Normalization::Smart);
    let mut buffer = Vec::new();
    let mut scored: Vec<(bool, u32, usize)> = Vec::new();
    let mut line = String::new();
    for (at, row) in rows.iter().enumerate().filter(|(_, row)| !row.is_more()) {
        line.clear();
        for cell in &row.cells {
            line.push_str(cell.text());
            line.push(' ');
        }
        if let Some(score) = pattern.score(Utf32Str::new(&line, &mut buffer), &mut matcher) {
            let name = row.cells.first().map(Span::text).unwrap_or_default();
            let is_named = pattern.score(Utf32Str::new(name, &mut buffer), &mut matcher).is_some();
            scored.push((is_named, score, at));
        }
    }
    scored.sort_by_key(|(is_named, score, at)| (Reverse(*is_named), Reverse(*score), *at));
    scored.truncate(SHOWN);
    scored.into_iter().map(|(_, _, at)| &rows[at]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_matches_comes_before_any_description() {
        let row = |name: &str, about: &str| Row {
            cells: vec![Span::plain(name), Span::plain("operation"), Span::plain(about)],
            ..Row::default()
        };
        let rows = [row("deploy", "Write prompts, skills; prompt create"), row("prompt create", "Create a new prompt")];
        let names: Vec<&str> = matching(&rows, "prompt cr").into_iter().map(|row| row.cells[0].text()).collect();
        assert_eq!(names, ["prompt create", "deploy"]);
    }
}
