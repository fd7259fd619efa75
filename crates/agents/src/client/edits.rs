//! Property tests with random files in many styles: an edit changes nothing but the entry.

use crate::client::fields;
use std::path::Path;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::agents;
use crate::agents::agent::Agent;
use crate::client::record::Record;
use crate::servers::document::Change;

const BOM: char = '\u{feff}';

fn agent(name: &str) -> &'static Agent {
    agents::named(name).expect("an agent")
}

fn change(replaces: bool) -> Change {
    let fields =
        vec![("command".to_owned(), json!("/bin/mcpkg")), ("args".to_owned(), json!(["serve", "--db", "ü \"x\""]))];
    Change { fields, replaces, decided: fields::written_fields() }
}

/// Returns the white space or comment between two tokens, chosen by a random byte.
fn gap(noise: u8, comments: bool) -> &'static str {
    match noise % 10 {
        0 => "",
        1 => "  ",
        2 => "\n\n    ",
        3 => "\n\t\t",
        4 if comments => " /* c { */ ",
        5 if comments => " // d \" ,\n  ",
        6 if comments => "\n  // above\n  ",
        _ => "\n  ",
    }
}

/// Formats a value with spaces, comments and trailing commas, chosen by `noise`.
fn written(value: &Value, noise: &mut impl Iterator<Item = u8>, comments: bool) -> String {
    let (open, close, items): (_, _, Vec<(String, &Value)>) = match value {
        Value::Array(items) => ('[', ']', items.iter().map(|item| (String::new(), item)).collect()),
        Value::Object(items) => {
            ('{', '}', items.iter().map(|(name, item)| (format!("{}:", json!(name)), item)).collect())
        }
        other => return other.to_string(),
    };
    let mut next = || noise.next().unwrap_or(7);
    let mut text = String::from(open);
    let last = items.len().saturating_sub(1);
    for (at, (name, item)) in items.iter().enumerate() {
        text.push_str(gap(next(), comments));
        text.push_str(name);
        let first = next();
        text.push_str(&written(item, &mut std::iter::repeat_n(first, 40), comments));
        text.push_str(gap(next(), comments));
        if at < last || (comments && next() % 5 == 0) {
            text.push(',');
        }
    }
    text.push_str(gap(next(), comments));
    text.push(close);
    text
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[ -~ü\n\t]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 20, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[a-z \"]{1,5}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Generates an agent's file, with or without servers.
fn files() -> impl Strategy<Value = (Value, Vec<u8>, bool, bool, bool)> {
    let servers = prop::option::of(prop::collection::btree_map("[a-m]{1,6}", values(), 0..4));
    let rest = prop::collection::btree_map("[a-z]{1,5}", values(), 0..4);
    let values = (rest, servers, any::<bool>()).prop_map(|(rest, servers, first)| {
        let servers = servers.map(|servers| ("mcpServers".to_owned(), Value::Object(servers.into_iter().collect())));
        let rest = rest.into_iter().filter(|(name, _)| name != "mcpServers");
        let (before, after) = if first { (servers, None) } else { (None, servers) };
        Value::Object(before.into_iter().chain(rest).chain(after).collect())
    });
    (values, prop::collection::vec(any::<u8>(), 0..60), any::<bool>(), any::<bool>(), any::<bool>())
}

fn round_trip(agent: &Agent, before: &str) -> Result<(), TestCaseError> {
    let document = agent.document();
    let after = document
        .set(before, "mcpkg", &change(false))
        .map_err(|fault| TestCaseError::fail(format!("{fault:?}\n{before}")))?;
    let record = Record::between(document, Path::new("/f"), "mcpkg", Some(before), &after).expect("a record");
    prop_assert_eq!(record.undo(document, &after), Ok(Some(before.to_owned())));
    // Everything that was in the file is still there, in the same order.
    let mut kept = after.chars();
    prop_assert!(before.chars().filter(|c| !c.is_whitespace()).all(|c| kept.any(|k| k == c)), "{before}\n{after}");
    // Without the record, removing also affects only the entry.
    let removed = document.remove(&after, "mcpkg", true).map_err(|fault| TestCaseError::fail(format!("{fault:?}")))?;
    prop_assert_eq!(document.rest(&removed, "mcpkg"), document.rest(before, "mcpkg"));
    // Setting the same entry again changes nothing.
    prop_assert_eq!(document.set(&after, "mcpkg", &change(false)), Ok(after));
    Ok(())
}

proptest! {
    #![proptest_config(crate::seed::config(400))]

    #[test]
    fn undo_restores_any_json((value, noise, comments, crlf, bom) in files()) {
        let mut text = written(&value, &mut noise.into_iter().cycle().take(400), comments);
        if crlf {
            text = text.replace('\n', "\r\n");
        }
        if bom {
            text.insert(0, BOM);
        }
        round_trip(if comments { agent("cursor") } else { agent("claude-code") }, &text)?;
    }

    #[test]
    fn undo_restores_any_toml(
        lines in prop::collection::vec(0_usize..9, 0..8),
        tables in prop::collection::vec((0_usize..6, prop::collection::vec(0_usize..9, 0..4)), 0..5),
        servers in 0_usize..6,
        crlf in any::<bool>(),
        bom in any::<bool>(),
        ended in any::<bool>(),
    ) {
        let text = toml_text(&lines, &tables, servers, ended);
        let text = if crlf { text.replace('\n', "\r\n") } else { text };
        round_trip(agent("codex"), &if bom { format!("{BOM}{text}") } else { text })?;
    }
}

fn toml_text(lines: &[usize], tables: &[(usize, Vec<usize>)], servers: usize, ended: bool) -> String {
    let line = |at: usize, kind: usize| match kind {
        0 => format!("k{at} = 1 # one\n"),
        1 => format!("k{at}= 'x'\n\n"),
        2 => format!("  k{at} =\"\"\"\n[not]\n\"\"\"\n"),
        3 => "# [mcp_servers.mcpkg]\n".to_owned(),
        4 => format!("k{at} = [\n  1, # a\n  2,\n]\n"),
        5 => format!("k{at} = {{ a = 1, b = {{ c = true }} }}\n"),
        6 => format!("\"q {at}\".b = 1.5\n"),
        7 => format!("k{at} = 2026-11-22T05:00:00Z\n"),
        _ => "\n".to_owned(),
    };
    let mut text: String = lines.iter().enumerate().map(|(at, kind)| line(at, *kind)).collect();
    let own = ["", "mcp_servers.a.command = 'x'\n", "mcp_servers = { a = { command = 'x' } }\n"];
    text.push_str(own.get(servers).copied().unwrap_or_default());
    for (at, (kind, lines)) in tables.iter().enumerate() {
        text.push_str(&match kind {
            0 => format!("[t{at}] # t\n"),
            1 => format!("\n[t{at}.\"u v\"]\n"),
            2 => format!("[[arr{at}]]\n"),
            3 => format!("  [ t{at} . x ]\n"),
            4 => format!("# about t{at}\n[t{at}]\n"),
            _ => format!("[t{at}]\n"),
        });
        text.extend(lines.iter().enumerate().map(|(at, kind)| line(at, *kind)));
    }
    text.push_str(match servers {
        3 => "[mcp_servers.a]\ncommand = 'x' # its\n",
        4 => "[mcp_servers]\na = { command = 'x' }\n",
        5 => "\n[mcp_servers.a]\ncommand = 'x'\n[mcp_servers.a.env]\nK = 'v'\n# last\n",
        _ => "",
    });
    if ended { text } else { text.trim_end_matches('\n').to_owned() }
}

#[test]
fn faults_have_a_place() {
    let cases = [
        (agent("cursor"), "{\n  \"a\": 1,,\n}", Some((2, 10))),
        (agent("cursor"), "{\n  \"mcpServers\": []\n}", None),
        (agent("cursor"), "{ \"mcpServers\": {}, \"mcpServers\": {} }", None),
        (agent("cursor"), "[]", None),
        (agent("codex"), "a = 1\nb = = 2\n", Some((2, 5))),
        (agent("codex"), "mcp_servers = 3\n", None),
    ];
    for (agent, text, at) in cases {
        let fault = agent.document().set(text, "mcpkg", &change(false)).expect_err(text);
        assert_eq!(fault.at, at, "{text}: {}", fault.what);
    }
    assert!(agent("claude-code").document().unreadable("{ // no\n}").is_some());
    assert!(agent("vscode").document().unreadable("{ // yes\n}").is_none());
}

#[test]
fn an_edit_keeps_the_line_ends_and_indentation_of_the_file() {
    let before = "{\r\n\t\"servers\": {\r\n\t\t\"a\": {\r\n\t\t\t\"url\": \"x\"\r\n\t\t}\r\n\t}\r\n}\r\n";
    let after = agent("vscode").document().set(before, "mcpkg", &change(false)).expect("an edit");
    let wanted = "{\r\n\t\"servers\": {\r\n\t\t\"a\": {\r\n\t\t\t\"url\": \"x\"\r\n\t\t},\r\n\t\t\"mcpkg\": {\r\n\t\t\t\"command\": \
                  \"/bin/mcpkg\",\r\n\t\t\t\"args\": [\"serve\", \"--db\", \"ü \\\"x\\\"\"]\r\n\t\t}\r\n\t}\r\n}\r\n";
    assert_eq!(after, wanted);
    let before = "model = \"o\" # mine\r\n\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n\r\n[tui]\r\nx = 1";
    let after = agent("codex").document().set(before, "mcpkg", &change(false)).expect("an edit");
    let wanted = "model = \"o\" # mine\r\n\r\n[mcp_servers.a]\r\ncommand = \"x\"\r\n\r\n[mcp_servers.mcpkg]\r\ncommand = \
                  \"/bin/mcpkg\"\r\nargs = [\"serve\", \"--db\", 'ü \"x\"']\r\n\r\n[tui]\r\nx = 1";
    assert_eq!(after.trim_end(), wanted);
}
