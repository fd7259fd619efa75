//! Tests with random bytes, random JSON and requests that were tampered with.

use std::collections::HashSet;

use serde_json::{Map, Value, json};

use crate::support::{LEGACY, Random, Raw, Scratch, modern_meta};

/// Returns random JSON with a depth of at most `depth`.
fn any_json(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 6 } else { 8 }) {
        0 => Value::Null,
        1 => json!(random.next().is_multiple_of(2)),
        2 => json!(random.next() as i64 >> random.below(64)),
        3 => json!(random.next() as f64 / 3.0),
        4 => json!(
            ["", "2.0", "p", "n", "prompts/get", "file:///r", "\u{0}", "é\u{1f389}", "2026-07-28"][random.below(9)]
        ),
        5 => {
            let length = random_length(random);
            json!(String::from_utf8_lossy(&random.bytes(length)))
        }
        6 => (0..random.below(4)).map(|_| any_json(random, depth - 1)).collect(),
        _ => {
            let keys =
                ["jsonrpc", "id", "method", "params", "name", "uri", "arguments", "_meta", "cursor", "result", ""];
            let pairs =
                (0..random.below(5)).map(|_| (keys[random.below(keys.len())].to_owned(), any_json(random, depth - 1)));
            Value::Object(pairs.collect::<Map<_, _>>())
        }
    }
}

fn random_length(random: &mut Random) -> usize {
    let most = [4, 40, 400][random.below(3)];
    random.below(most)
}

/// Returns a valid request with this id.
fn good(random: &mut Random, id: &Value) -> Value {
    let methods = [
        ("ping", json!({})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({ "name": "p", "arguments": { "a": "b" } })),
        ("resources/list", json!({ "cursor": null })),
        ("resources/read", json!({ "uri": "file:///r" })),
        ("resources/read", json!({ "uri": "mcpkg://history/prompt/p" })),
        ("resources/read", json!({ "uri": "skill://p/SKILL.md" })),
        ("resources/templates/list", json!({})),
        ("resources/directory/read", json!({ "uri": "skill://p" })),
        ("skills/list", json!({})),
        ("skills/get", json!({ "uri": "skill://p/SKILL.md" })),
        ("tools/list", json!({})),
        ("tools/call", json!({ "name": "create_prompt", "arguments": { "name": format!("n{id}"), "content": "x" } })),
        ("tools/call", json!({ "name": "search_content", "arguments": { "query": "x" } })),
        (
            "completion/complete",
            json!({ "ref": { "type": "ref/prompt", "name": "p" }, "argument": { "name": "a", "value": "" } }),
        ),
        ("server/discover", json!({})),
        (
            "initialize",
            json!({ "protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": { "name": "n", "version": "1" } }),
        ),
    ];
    let (method, mut params) = methods[random.below(methods.len())].clone();
    if random.below(4) == 0 {
        params["_meta"] = modern_meta();
    }
    json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params })
}

/// Replaces one value, at any depth, with random JSON.
fn tamper(random: &mut Random, value: &mut Value) {
    let replaced = any_json(random, 3);
    match value {
        Value::Object(map) if !map.is_empty() && random.below(4) > 0 => {
            let at = random.below(map.len());
            if let Some(inner) = map.values_mut().nth(at) {
                tamper(random, inner);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            let at = random.below(items.len());
            tamper(random, &mut items[at]);
        }
        other => *other = replaced,
    }
}

/// Returns a line of noise.
fn noise(random: &mut Random, id: &Value) -> Vec<u8> {
    let mut line = match random.below(8) {
        0 => {
            let length = random_length(random);
            random.bytes(length)
        }
        1 => any_json(random, 5).to_string().into_bytes(),
        2 | 3 => good(random, id).to_string().into_bytes(),
        4 | 5 => {
            let mut request = good(random, id);
            tamper(random, &mut request);
            request.to_string().into_bytes()
        }
        _ => {
            let mut bytes = good(random, id).to_string().into_bytes();
            for _ in 0..=random.below(3) {
                let at = random.below(bytes.len());
                match random.below(3) {
                    0 => bytes[at] = random.next() as u8,
                    1 => drop(bytes.remove(at)),
                    _ => bytes.insert(at, b"{}[]\",:\\\0 0"[random.below(11)]),
                }
            }
            bytes
        }
    };
    line.retain(|byte| *byte != b'\n');
    line
}

/// Returns the id of a line that must be answered: an object that has an id and is not an answer itself.
fn owed(line: &[u8]) -> Option<Value> {
    let value: Value = serde_json::from_slice(line).ok()?;
    let object = value.as_object()?;
    let id = object.get("id").filter(|id| id.is_string() || id.is_i64() || id.is_u64())?;
    let answers = !object.contains_key("method") && (object.contains_key("result") || object.contains_key("error"));
    (!answers).then(|| id.clone())
}

#[test]
fn f24_noise_never_ends_a_server_and_every_readable_id_is_answered() {
    let mut random = Random::new();
    for session in [Some(LEGACY[0]), Some(LEGACY[1]), Some(LEGACY[3]), None] {
        let scratch = Scratch::with_project();
        scratch.ok(&["prompt", "create", "p", "x"]);
        scratch.ok(&["resource", "create", "r", "file:///r", "x"]);
        let mut server = Raw::spawn(&scratch, scratch.command().arg("serve"));
        if let Some(version) = session {
            let hello = json!({ "protocolVersion": version, "capabilities": {}, "clientInfo": { "name": "n", "version": "1" } });
            server
                .write(format!("{}\n", json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello })));
            assert!(server.answer()["result"].is_object());
            server.write("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
        }
        let lines: Vec<Vec<u8>> = (0..1500)
            .map(|n| {
                let id = if random.below(2) == 0 { json!(n) } else { json!(format!("é{n}")) };
                noise(&mut random, &id)
            })
            .collect();
        let mut input = server.input.take().expect("the input");
        let all =
            [lines.join(&b'\n'), b"\n{\"jsonrpc\":\"2.0\",\"id\":\"last\",\"method\":\"ping\"}\n".to_vec()].concat();
        let sender = std::thread::spawn(move || std::io::Write::write_all(&mut input, &all));
        let answers = server.rest();
        sender.join().expect("the sender ends").expect("the server reads to the end");
        let flat = answers.iter().flat_map(|line| match line {
            Value::Array(items) => items.clone(),
            other => vec![other.clone()],
        });
        let answered: HashSet<String> =
            flat.filter(|line| line.get("method").is_none()).map(|line| line["id"].to_string()).collect();
        server.assert_no_panic();
        assert!(server.ended().success(), "{}", server.stderr());
        assert!(answered.contains("\"last\""), "the last good request was not answered");
        for line in &lines {
            if let Some(id) = owed(line) {
                assert!(answered.contains(&id.to_string()), "no answer to {}", String::from_utf8_lossy(line));
            }
        }
    }
}
