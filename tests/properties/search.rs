//! Tests that a search accepts any words: a user's text is never query syntax.

use mcpkg_base::error::Code;
use proptest::prelude::*;
use serde_json::json;

use super::run;
use crate::support::{Scratch, config};

#[test]
fn no_query_is_an_internal_error() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    run(&context, &["prompt", "create"], json!({ "name": "n", "content": "NEAR the café, 日本語 and C++ or ⓐ" }))
        .expect("made");
    let words = proptest::collection::vec(any::<char>(), 0..12).prop_map(String::from_iter);
    let syntax = "(AND|OR|NOT|NEAR|NEAR\\(|name:|\\^|\\*|\"|'|\\(|\\)|\\{|\\}|-|\\+|,|:|a| |\u{0}){0,12}";
    let query = prop_oneof![words, syntax, "\\PC{0,30}"];
    let mut runner = proptest::test_runner::TestRunner::new(config(400));
    let checked = runner.run(&query, |query| match run(&context, &["search"], json!({ "query": query })) {
        Ok(_) => Ok(()),
        Err(error) => {
            prop_assert_eq!(error.code(), Code::InvalidArgument, "{:?}: {}", query, error);
            Ok(())
        }
    });
    checked.unwrap_or_else(|error| panic!("{error}"));
    for many in ["a ".repeat(3000), "a".repeat(100_000), "日".repeat(5000), "\"a ".repeat(1000)] {
        if let Err(error) = run(&context, &["search"], json!({ "query": many })) {
            assert_eq!(error.code(), Code::InvalidArgument, "{error}");
        }
    }
    for (query, found) in [
        ("café", true),
        ("cafe", true),
        ("NEAR", true),
        ("日本語", true),
        ("near AND", true),
        ("c++", true),
        ("zebra", false),
    ] {
        let hits = run(&context, &["search"], json!({ "query": query })).expect("hits");
        assert_eq!(!hits["hits"].as_array().expect("hits").is_empty(), found, "{query}");
    }
}
