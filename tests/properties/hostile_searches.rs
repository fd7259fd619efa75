//! Tests with searches from strangers: the server has to finish each one in limited time and memory, and continue to
//! answer.

use serde_json::json;

use crate::support::fuzz::Cases;
use crate::support::{Client, Random, Scratch, memory};

/// How many MiB more than for a small search the server may use: for the request and its copies, and for SQLite's work.
const MIB: u64 = 64;

#[test]
fn hostile_searches_leave_the_server_answering() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    for n in 0..40 {
        let words: String = (0..2000).map(|word| format!("a{} aa{} b{n} ", word % 97, word)).collect();
        let (text, is_error) = client.call("create_prompt", json!({ "name": format!("p{n}"), "content": words }));
        assert!(!is_error, "{text}");
    }
    let mut cases = Cases::new("hostile searches", 60);
    let mut usual = 0;
    while cases.more() {
        let query = if usual == 0 { "a1 b1".to_owned() } else { query(&mut cases.random) };
        let limit = [json!(null), json!(1), json!(1000), json!(4_294_967_295_u32)][cases.random.below(4)].clone();
        let (text, is_error) = client.call("search_content", json!({ "query": query, "limit": limit }));
        let shown = &query[..query.floor_char_boundary(500)];
        assert!(!text.contains("Internal"), "{text}: {shown}");
        if query.len() > 4096 || query.split_whitespace().filter(|word| word.contains('a')).count() > 64 {
            assert!(is_error && text.contains("the limit is "), "{text}: {shown}");
        }
        client.result("ping", json!({}));
        let peak = memory(client.pid(), "VmHWM");
        usual = if usual == 0 { peak } else { usual };
        assert!(peak < usual + MIB * 1024, "{peak} KiB where {usual} KiB are usual: {shown}");
    }
}

/// Returns random words, pieces of FTS5's syntax, one piece repeated many times, or a mixture.
fn query(random: &mut Random) -> String {
    const PIECES: [&str; 24] = [
        "a",
        "aa1",
        "b1",
        "a*",
        "\"",
        "\"a",
        "AND",
        "OR",
        "NOT",
        "NEAR(",
        "NEAR(a b, 10)",
        "(",
        ")",
        "{",
        "name:",
        "^a",
        "-",
        "+",
        "*",
        "日本",
        "é",
        "\u{0}",
        "\u{300}",
        "🦀",
    ];
    const TIMES: [usize; 7] = [1, 3, 63, 64, 65, 2000, 40_000];
    let mut query = String::new();
    for _ in 0..=random.below(6) {
        let piece = PIECES[random.below(PIECES.len())];
        let between = ["", " ", "\n"][random.below(3)];
        query += &format!("{piece}{between}").repeat(TIMES[random.below(TIMES.len())]);
        query.push(' ');
    }
    query
}
