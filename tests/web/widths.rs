//! Tests that no page scrolls sideways, and that no list is wider than its page.

use std::collections::BTreeMap;

use super::Browser;
use super::chromium::Chromium;
use crate::console::ground::filled;
use crate::support::{runs_all, skipped};

const WIDTHS: [u32; 6] = [320, 768, 900, 1_000, 1_100, 1_280];

#[test]
fn no_page_and_no_list_is_wider_than_the_screen() {
    let (ground, _client) = filled();
    let scratch = &ground.scratch;
    let long = "a-name-of-many-words-that-can-only-be-broken-at-its-hyphens";
    let uri = format!("file:///docs/below/many/folders/{long}.md");
    scratch.ok(&["resource", "create", long, &uri, "Text.", "--description", &"Many words. ".repeat(40)]);
    scratch.ok(&["prompt", "create", long, "Text.", "--description", &"x".repeat(300)]);
    scratch.ok(&["project", "create", long]);
    let mut command = scratch.command();
    command.current_dir(scratch.path().join("root"));
    let Some(mut browser) = Browser::start(command, &[]) else { return skipped(super::NO_SCRIPT) };
    let Some(chromium) = Chromium::start(&mut browser) else { return };
    // Every list, and one or two pages of each other kind.
    let mut addresses: Vec<String> = browser.crawl().into_iter().map(|(address, _)| address).collect();
    let lists = super::browser::links(&browser.page("/all"));
    addresses.extend(lists.into_iter().filter(|link| link.starts_with("/list?")));
    addresses.sort_unstable();
    addresses.dedup();
    let most = if runs_all() { 100 } else { 1 };
    let mut kinds = BTreeMap::new();
    addresses.retain(|address| {
        let kind = address.split('?').next().unwrap_or_default().to_owned();
        let seen: &mut usize = kinds.entry(kind).or_default();
        *seen += 1;
        *seen <= most || address.starts_with("/list?")
    });
    assert!(kinds["/list"] > 10, "{kinds:?}");
    let mut wide = Vec::new();
    for (at, address) in addresses.iter().enumerate() {
        chromium.open(address);
        // By default, each page is drawn in the smallest width and in one of the others, in turn.
        let is_in_turn = |(n, _): &(usize, u32)| *n == 0 || *n == 1 + at % (WIDTHS.len() - 1) || runs_all();
        for (_, width) in WIDTHS.into_iter().enumerate().filter(is_in_turn) {
            chromium.size(width, 800);
            let found = chromium.run(
                "const lists = [...document.querySelectorAll('.rows')].map((list) => list.scrollWidth - list.clientWidth);
                 return Math.max(document.documentElement.scrollWidth - innerWidth, ...lists)",
            );
            if found.as_i64() > Some(0) {
                wide.push(format!("{address}: {found} pixels too wide on a screen of {width}"));
            }
        }
    }
    assert!(wide.is_empty(), "{}", wide.join("\n"));
}
