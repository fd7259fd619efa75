//! Asks twenty questions about GitHub's API, and checks the position of the right command in the search results.

use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use mcpkg_workflow::commands::reachable;
use mcpkg_workflow::index::SearchHit;

use crate::catalogs;
use crate::data::Data;
use crate::hosting;
use crate::table::{Bar, Row, Table, Value};

const FIRST: &str = "the right command of GitHub's 1,223 first, of 20 questions";
const AMONG_THREE: &str = "the right command of GitHub's 1,223 among the first three, of 20 questions";

/// Each question, and the id of the right command without its prefix `github:`.
const QUESTIONS: [(&str, &str); 20] = [
    ("create issue", "repos:issues:create"),
    ("list pull requests", "repos:pulls:list"),
    ("merge pull request", "repos:pulls:merge:update"),
    ("delete branch protection", "repos:branches:protection:delete"),
    ("add collaborator to a repo", "repos:collaborators:update"),
    ("list members of an org", "orgs:members:list"),
    ("star a repository", "user:starred:update"),
    ("create release", "repos:releases:create"),
    ("list workflow runs", "repos:actions:runs:list"),
    ("cancel a workflow run", "repos:actions:runs:cancel:create"),
    ("get commit", "repos:commits:info"),
    ("search code", "search:code:list"),
    ("list issues for repo", "repos:issues:list"),
    ("remove label from issue", "repos:issues:labels:delete"),
    ("rerun failed jobs", "repos:actions:runs:rerun-failed-jobs:create"),
    ("create webhook", "repos:hooks:create"),
    ("list secrets of environment", "repos:environments:secrets:list"),
    ("create a gist", "gists:create"),
    ("approve pull request review", "repos:pulls:reviews:create"),
    ("delete a file", "repos:contents:delete"),
];

/// Runs this file's measurements, and adds a row to the table for each. Without GitHub's document, measures nothing.
pub fn measure(data: &Data, table: &mut Table) {
    if !table.wants(FIRST) && !table.wants(AMONG_THREE) {
        return;
    }
    let Some(document) = catalogs::github() else { return };
    let database = data.empty("github.db");
    hosting::import(data, &database, &document, "github");
    let context =
        Context::shell(mcpkg::DOMAINS, Store::open(&database).expect("the database opens"), Selection::default());
    let commands = reachable(&context);
    let indexes = commands.indexes(None).expect("the indexes");
    let places: Vec<usize> = QUESTIONS
        .iter()
        .map(|(question, right)| {
            let mut found = commands.search(&indexes, question, |_| true);
            found.sort_unstable_by(SearchHit::order);
            let is_right = |found: &SearchHit<'_>| found.brief.id.strip_prefix("github:") == Some(right);
            let place = found.iter().position(is_right).unwrap_or(usize::MAX);
            if place > 0 {
                let first = found.first().map_or("nothing", |found| &found.brief.id);
                let place = if place == usize::MAX { "nowhere".to_owned() } else { format!("at {}", place + 1) };
                println!("{question}: {right} stands {place}; first is {first}");
            }
            place
        })
        .collect();
    let within = |most: usize| Value::Count(places.iter().filter(|place| **place < most).count());
    for (what, ours, bar) in [(FIRST, within(1), 14), (AMONG_THREE, within(3), 18)] {
        table.push(Row { what: what.to_owned(), ours, off: None, reference: None, bar: Bar::Reaches(bar) });
    }
}
