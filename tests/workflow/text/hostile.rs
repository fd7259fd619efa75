//! Tests malicious texts. Each is refused with a specific code, and none takes long.

use super::places;

fn first(text: &str) -> &'static str {
    places(text).first().map_or("nothing", |found| found.0)
}

#[test]
fn odd_texts_have_a_code_each() {
    assert_eq!(places(""), [("wrong_type", 1, 1)]);
    assert_eq!(places("\n\n# nothing\n"), [("wrong_type", 1, 1)]);
    assert_eq!(first("\u{0}\u{1}\u{2}"), "yaml_syntax");
    assert_eq!(first("just words"), "wrong_type");
    assert_eq!(first("[]"), "wrong_type");
    assert_eq!(first(&"x".repeat((1 << 20) + 1)), "limit_exceeded");
    assert_eq!(first(&"[".repeat(5_000)), "limit_exceeded");
    assert_eq!(first(&"{".repeat(5_000)), "limit_exceeded");
    assert_eq!(first(&"- ".repeat(5_000)), "limit_exceeded");
}

#[test]
fn aliases_that_expand_exponentially_are_refused() {
    let mut bomb = String::from("workflow: w\na0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
    for level in 1..10 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert_eq!(places(&bomb).last().map(|found| found.0), Some("limit_exceeded"));
}

#[test]
fn many_similar_mistakes_are_checked_once_and_only_some_are_shown() {
    let steps: String = (0..1_001).map(|step| format!("  - {{id: s{step}, run: apps:list}}\n")).collect();
    assert_eq!(places(&format!("workflow: w\nsteps:\n{steps}")), [("limit_exceeded", 2, 1)]);
    let inputs: String = (0..201).map(|input| format!("  i{input}: {{}}\n")).collect();
    let found = places(&format!("workflow: w\ninputs:\n{inputs}steps: [{{id: a, run: apps:list}}]\n"));
    assert!(found.contains(&("limit_exceeded", 2, 1)), "{found:?}");
    let unknown: String = (0..20_000).map(|key| format!("k{key}: 1\n")).collect();
    let found = places(&unknown);
    assert_eq!(found.len(), 501);
    assert_eq!(found.last().map(|found| found.0), Some("limit_exceeded"));
    let long =
        format!("workflow: w\nsteps:\n  - {{id: a, run: apps:list, if: \"{}1 == 1\"}}\n", "1 == 1 && ".repeat(1_000));
    assert_eq!(first(&long), "limit_exceeded");
    let deep = format!("workflow: w\nsteps:\n  - {{id: a, run: apps:list, if: \"{}1\"}}\n", "(".repeat(1_000));
    assert_eq!(first(&deep), "limit_exceeded");
    let templates = format!(
        "workflow: w\nsteps:\n  - id: a\n    run: apps:info\n    with:\n      app: \"{}\"\n",
        "${{ ".repeat(50_000)
    );
    assert_eq!(first(&templates), "expr_syntax");
    let unclosed = format!(
        "workflow: w\nsteps:\n  - id: a\n    run: apps:info\n    with:\n      app: \"{}\"\n",
        "{{ ".repeat(100_000)
    );
    assert_eq!(places(&unclosed), []);
}
