use serde_json::{Value, json};

use crate::limits::MAX_BYTES;

fn found(text: &str) -> Vec<(&'static str, usize, usize)> {
    super::read(text).findings.iter().map(|found| (found.code.name(), found.span.line, found.span.column)).collect()
}

fn value(text: &str) -> Value {
    let read = super::read(text);
    assert_eq!(read.findings, [], "{text}");
    read.value.unwrap()
}

#[test]
fn a_parsed_value_knows_the_positions_of_its_parts() {
    let text = "a: 1\nb:\n  - x: \"é z\"\n  - [z, 'w']\n\"c/d\": |\n  one\n  two\n";
    let read = super::read(text);
    assert_eq!(read.findings, []);
    assert_eq!(read.value.unwrap(), json!({ "a": 1, "b": [{ "x": "é z" }, ["z", "w"]], "c/d": "one\ntwo\n" }));
    let at = |pointer: &str| {
        let place = read.places.get(pointer).unwrap();
        (place.value.line, place.value.column, &text[place.value.bytes()])
    };
    assert_eq!(at("/a"), (1, 4, "1"));
    assert_eq!(at("/b/0/x"), (3, 8, "\"é z\""));
    assert_eq!(at("/b/1/1"), (4, 9, "'w'"));
    assert_eq!(at("/b/1"), (4, 5, "[z, 'w']"));
    assert_eq!(at("/b/0").2, "x: \"é z\"");
    assert_eq!(read.places.get("/c~1d").unwrap().key.map(|key| key.line), Some(5));
    let exact = read.places.get("/b/0/x").unwrap().exact.unwrap();
    assert_eq!((&text[exact.bytes()], exact.column), ("é z", 9));
    assert_eq!(read.places.get("/c~1d").unwrap().exact, None);
    assert_eq!(read.places.get("/b/2"), None);
    assert_eq!(read.places.nearest("/b/2/z").value.line, 3);
}

#[test]
fn json_is_parsed_in_the_same_way() {
    assert_eq!(
        value("{\n\t\"a\": [1, -2.5, true, null],\n\t\"b\": \"\\ud83d\\ude00 \\/ \\n\"\n}"),
        json!({
            "a": [1, -2.5, true, null],
            "b": "😀 / \n",
        })
    );
    assert_eq!(found("{\"a\": 1, \"a\": 2}"), [("duplicate_key", 1, 10)]);
    assert_eq!(value("\u{feff}{}"), json!({}));
}

#[test]
fn unsupported_yaml_is_refused_at_its_position() {
    assert_eq!(found("a: 1\nb: 2\na: 3\n"), [("duplicate_key", 3, 1)]);
    assert_eq!(found("a: 1\n---\nb: 2\n"), [("multi_document", 2, 1)]);
    assert_eq!(found("%YAML 1.2\n---\na: 1\n"), [("unsupported_yaml", 1, 1)]);
    assert_eq!(found("a: !!str 1\n"), [("unsupported_yaml", 1, 10)]);
    assert_eq!(found("x: &x {a: 1}\n<<: *x\n"), [("unsupported_yaml", 2, 1)]);
    assert_eq!(found("? [a]\n: b\n"), [("non_scalar_key", 1, 3)]);
    assert_eq!(found("1: a\ntrue: b\n"), [("non_scalar_key", 1, 1), ("non_scalar_key", 2, 1)]);
    assert_eq!(found("a: &x [*x]\n"), [("unsupported_yaml", 1, 8)]);
    assert_eq!(found("a: *gone\n"), [("yaml_syntax", 1, 4)]);
    assert_eq!(found("a: yes\nb: \"yes\"\n"), [("ambiguous_scalar", 1, 4)]);
    assert_eq!(found(""), []);
}

#[test]
fn a_duplicate_key_keeps_the_first_value() {
    assert_eq!(super::read("a: 1\na: {b: [2]}\nc: 3\n").value, Some(json!({ "a": 1, "c": 3 })));
}

#[test]
fn an_unquoted_template_in_braces_is_reported() {
    let read = super::read("{app: ${{ inputs.app }}}");
    assert_eq!(found("{app: ${{ inputs.app }}}"), [("yaml_syntax", 1, 8)]);
    assert!(read.findings[0].hint.as_ref().unwrap().contains("quotes"), "{:?}", read.findings);
    assert!(!read.findings[0].message.contains("JSON"));
}

#[test]
fn braces_without_a_dollar_are_reported_as_a_template() {
    let text = "with:\n  app: {{ inputs.app }}\n";
    let read = super::read(text);
    assert_eq!(found(text), [("mustache_without_dollar", 2, 8)]);
    assert_eq!(read.value, Some(json!({ "with": { "app": "${{ inputs.app }}" } })));
    let (mended, count) = crate::finding::mended(text, &read.findings);
    assert_eq!((mended.as_str(), count), ("with:\n  app: \"${{ inputs.app }}\"\n", 1));
    assert_eq!(super::read(&mended).findings, []);
}

#[test]
fn an_aliased_value_has_the_position_of_its_use() {
    let text = "a: &x\n  b: [1]\nc: *x\n";
    let read = super::read(text);
    assert_eq!(read.value, Some(json!({ "a": { "b": [1] }, "c": { "b": [1] } })));
    let place = read.places.get("/c/b/0").unwrap();
    assert_eq!((place.value.line, place.value.column), (3, 4));
    assert_eq!(place.defined_at.map(|at| (at.line, at.column)), Some((2, 7)));
}

#[test]
fn oversized_texts_are_refused_early() {
    assert_eq!(found(&"[".repeat(5000))[0].0, "limit_exceeded");
    assert_eq!(found(&format!("{}1{}", "{a: ".repeat(80), "}".repeat(80)))[0].0, "limit_exceeded");
    let mut deep = String::new();
    for level in 0..70 {
        deep.push_str(&format!("{}a:\n", " ".repeat(level)));
    }
    assert_eq!(found(&deep)[0].0, "limit_exceeded");
    let mut bomb = String::from("a0: &a0 [1,1,1,1,1,1,1,1,1,1]\n");
    for level in 1..9 {
        let aliases = vec![format!("*a{}", level - 1); 10].join(",");
        bomb.push_str(&format!("a{level}: &a{level} [{aliases}]\n"));
    }
    assert_eq!(found(&bomb), [("limit_exceeded", 5, 38)]);
    let long = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(100_000), vec!["*a"; 100].join(","));
    assert_eq!(found(&long)[0].0, "limit_exceeded");
    assert_eq!(found(&"x".repeat(MAX_BYTES + 1)), [("limit_exceeded", 1, 1)]);
    assert_eq!(found("a\u{0}b: 1"), [("yaml_syntax", 1, 2)]);
}

#[test]
fn a_position_in_the_text_leads_to_a_value() {
    let text = "a: 1\nb:\n  - x: {y: 2, z: }\n    w:\n  - [p, q]\n";
    let places = super::read(text).places;
    for ((line, column), pointer) in [
        ((1, 4), "/a"),
        ((1, 99), "/a"),
        ((2, 1), "/b"),
        ((3, 5), "/b/0/x"),
        ((3, 12), "/b/0/x/y"),
        ((3, 17), "/b/0/x/z"),
        ((4, 9), "/b/0/w"),
        ((5, 9), "/b/1/1"),
    ] {
        assert_eq!(places.at(line, column), pointer, "{line}:{column}");
    }
}
