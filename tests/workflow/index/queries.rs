//! Tests random queries: every search ends, and its results are in a valid order.

use mcpkg_workflow::commands::reachable;
use mcpkg_workflow::index::SearchHit;
use mcpkg_workflow::source::Commands;
use proptest::prelude::*;

use crate::support::{Scratch, config};

/// Returns names of commands, mistyped names, and arbitrary text.
fn query() -> impl Strategy<Value = String> {
    let word = prop_oneof![
        Just("prompt".to_owned()),
        Just("creat".to_owned()),
        Just("mcpkg:".to_owned()),
        Just("GET /".to_owned()),
        ".{0,12}",
        "[a-z:/_ ]{0,20}",
    ];
    proptest::collection::vec(word, 0..5).prop_map(|words| words.join(" "))
}

#[test]
fn any_query_has_one_order() {
    let scratch = Scratch::with_project();
    let context = scratch.context();
    let commands = reachable(&context);
    let indexes = commands.indexes(None).expect("an index");
    proptest!(config(128), |(query in query())| {
        let ids = |reversed: bool| {
            let mut found = commands.search(&indexes, &query, |_| true);
            if reversed {
                found.reverse();
            }
            found.sort_by(SearchHit::order);
            found.iter().map(|found| found.brief.id.clone()).collect::<Vec<_>>()
        };
        prop_assert_eq!(ids(false), ids(true));
        prop_assert!(commands.resolve(&query).is_ok());
    });
}

#[test]
fn a_query_of_a_megabyte_is_answered() {
    let scratch = Scratch::with_project();
    let context = scratch.context();
    let commands = reachable(&context);
    let indexes = commands.indexes(None).expect("an index");
    let distinct: String = (0..100_000).map(|number| format!("word{number} ")).collect();
    let long = format!("prompt {distinct}{}", "x".repeat(1 << 20));
    assert!(!commands.search(&indexes, &long, |_| true).is_empty());
    assert!(commands.resolve(&long).is_ok());
}
