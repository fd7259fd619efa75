//! Tests the page of the database's health.

use mcpkg_console::place::Place;
use mcpkg_console::screen::Body;
use mcpkg_console::{Part, load};

use super::browser::links;
use super::{ground, opened, text};
use crate::support::Scratch;

#[test]
fn the_health_is_charts_with_their_numbers() {
    let (ground, _client) = ground();
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let Some(browser) = opened(&ground, &[]) else { return };
    assert!(links(&browser.page("/all")).contains(&"/database".to_owned()));
    let page = browser.page("/database");
    let shown = text(&page);
    for words in ["Size of the database", "Rows", "prompts", "Changes and refusals per day", "BEYOND", "ok  database: "]
    {
        assert!(shown.contains(words), "{words}: {shown}");
    }
    assert!(page.matches("<figure class=\"chart\">").count() >= 4, "{page}");
    assert!(page.matches("<svg aria-hidden=\"true\"").count() >= 3, "{page}");
    assert!(!page.contains(" data-at="), "rows are not counted again after each commit");
    assert!(!shown.contains("Requests since the server started"), "no server runs in this process");
}

#[test]
fn a_terminal_shows_the_same_numbers_as_lines() {
    let scratch = Scratch::with_project();
    let screen = load(&Place::Health, &scratch.context(), &Part::default()).expect("a screen");
    let Body::Text(lines) = &screen.body else { panic!("a text") };
    let text: Vec<String> = lines.iter().map(|line| line.text()).collect();
    assert!(text.iter().any(|line| line.starts_with("projects") && line.trim_end().ends_with(" 1")), "{text:?}");
    let days = text.iter().position(|line| line.starts_with("DAY")).expect("a heading");
    assert!(text[days + 14].starts_with("20") && !text[days + 14].trim_end().ends_with(" 0"), "{text:?}");
    for figure in &screen.figures {
        assert!(figure.instead_of.len() > 2 && figure.instead_of.end <= lines.len(), "{:?}", figure.instead_of);
    }
}
