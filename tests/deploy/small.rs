//! Tests that answers to agents are small: the token first, each fact once, and long lists in pages.

use serde_json::{Value, json};

use crate::deploy::answers::{checked, tool_data, tool_refused, word};
use crate::deploy::place::Place;
use crate::support::Client;

/// Returns a project whose plan has 39 files for four targets: skills, commands, rules and instructions.
fn thirty_nine() -> Place {
    let place = Place::with_project();
    for name in ["release-notes", "code-review", "database-migrations", "incident-reports", "api-design", "load-tests"]
    {
        let text = format!("---\nname: {name}\ndescription: Helps with {name}\n---\nDo it well.\n");
        place.resource(&format!("skill://{name}/SKILL.md"), &text);
        place.resource(&format!("skill://{name}/references/guide.md"), "More.\n");
    }
    place.prompt("changelog", "Write the changelog.\n");
    place.prompt("explain", "Explain the code.\n");
    place.prompt("migrate", "Write a migration.\n");
    assert_eq!(place.planned(&[]).len(), 39);
    place
}

fn call(client: &mut Client, name: &str, arguments: Value) -> (String, Value) {
    let result = client.result("tools/call", json!({ "name": name, "arguments": arguments }));
    let text = word(&result["content"][0]["text"]).to_owned();
    (text, checked(name, &result)["data"].take())
}

#[test]
fn a_deploy_of_39_files_is_small_and_begins_with_its_token() {
    let place = thirty_nine();
    let mut client = place.server(&[]);
    let (text, data) = call(&mut client, "deploy", json!({}));
    assert!(text.len() <= 6 << 10, "{} bytes\n{text}", text.len());
    let token = word(&data["confirm_token"]);
    let end = text.find(token).expect("the token") + token.len();
    assert!(end <= 600, "the token ends at {end}");
    let order: Vec<&String> = data.as_object().expect("an object").keys().collect();
    let first = ["confirm_token", "confirm_plan_hash", "confirm_token_expires_at", "summary"];
    assert_eq!(order[..4], first, "{order:?}");
    assert!(text.find("\"summary\"") < text.find("\"changes\""), "{text}");
    assert_eq!(data["root"], json!(place.root()));
    let changes = data["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 39);
    for change in changes {
        let keys: Vec<&String> = change.as_object().expect("an object").keys().collect();
        assert_eq!(keys, ["op", "path", "targets"], "{change}");
        assert!(!word(&change["path"]).starts_with('/'), "{change}");
    }
    assert_eq!(text.matches(place.root().to_str().expect("a path")).count(), 1, "{text}");
    let (text, applied) = call(&mut client, "deploy_apply", json!({ "confirm_token": token, "yes": true }));
    assert!(text.len() < 600, "{text}");
    let keys: Vec<&String> = applied.as_object().expect("an object").keys().collect();
    assert_eq!(keys, ["applied", "summary", "snapshot_id", "root"], "{applied}");
    assert_eq!(applied["summary"]["create"], 39);
    client.finish();
}

#[test]
fn as_agentpack_an_answer_keeps_every_field() {
    let place = thirty_nine();
    let mut client = place.server(&["--as", "agentpack"]);
    let (_, data) = call(&mut client, "deploy", json!({}));
    let shown: Vec<Value> = place.data(&["plan"])["changes"].as_array().expect("changes").clone();
    assert_eq!(data["changes"], json!(shown), "as the shell has them");
    let token = word(&data["confirm_token"]);
    let (_, applied) = call(&mut client, "deploy_apply", json!({ "confirm_token": token, "yes": true }));
    assert_eq!(applied["changes"], json!(shown));
    assert!(applied["snapshot_id"].is_string(), "{applied}");
    client.finish();
}

#[test]
fn hashes_are_returned_only_on_request() {
    let place = Place::with_project();
    let mut client = place.server(&[]);
    for name in ["plan", "deploy", "diff"] {
        let plain = tool_data(&mut client, name, json!({}));
        assert!(plain["changes"][0].get("after_sha256").is_none(), "{name}: {plain}");
        let asked = tool_data(&mut client, name, json!({ "hashes": true }));
        assert_eq!(word(&asked["changes"][0]["after_sha256"]).len(), 64, "{name}: {asked}");
    }
    let drift = tool_data(&mut client, "status", json!({ "hashes": true }));
    assert!(word(&drift["drift"][0]["expected"]).starts_with("sha256:"), "{drift}");
    client.finish();
}

/// Returns a project with a skill of this many files.
fn many(files: usize) -> Place {
    let place = Place::with_project();
    let folder = place.scratch.path().join("many");
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("SKILL.md"), "---\nname: many\ndescription: Many files\n---\nRead.\n").expect("a file");
    for n in 1..files {
        std::fs::write(folder.join(format!("part-{n:04}.md")), format!("Part {n}\n")).expect("a file");
    }
    place.ok(&["skill", "create", "many", "--from", folder.to_str().expect("a path")]);
    place
}

#[test]
fn of_more_than_200_files_the_first_are_listed_with_a_cursor_for_the_rest() {
    let place = many(230);
    let choice = json!({ "target": "claude_code" });
    let mut client = place.server(&[]);
    let whole = place.data(&["plan", "--target", "claude_code"])["changes"].as_array().expect("changes").len();
    assert!(whole > 230, "{whole}");
    for name in ["plan", "deploy", "explain", "status", "preview"] {
        let list = if name == "status" { "drift" } else { "changes" };
        let mut arguments = choice.clone();
        if name == "explain" {
            arguments["kind"] = json!("plan");
        }
        let result = client.result("tools/call", json!({ "name": name, "arguments": arguments }));
        let envelope = checked(name, &result);
        let data = &envelope["data"];
        let listed = if name == "preview" { &data["plan"]["changes"] } else { &data[list] };
        assert_eq!(listed.as_array().map(Vec::len), Some(200), "{name}: {data}");
        let said = envelope["warnings"].to_string();
        let rest = if name == "deploy" { "plan" } else { name };
        assert!(said.contains(&format!("200 of {whole} files are listed; call {rest} with cursor=")), "{name}: {said}");
        arguments["cursor"] = data["next_cursor"].clone();
        let more = tool_data(&mut client, rest, arguments);
        let listed = if rest == "preview" { &more["plan"]["changes"] } else { &more[list] };
        assert_eq!(listed.as_array().map(Vec::len), Some(whole - 200), "{name}: {more}");
        assert!(more.get("next_cursor").is_none(), "{name}: {more}");
    }
    let refused = tool_refused(&mut client, "plan", json!({ "cursor": "gone" }), "E_INVALID_ARGUMENT");
    assert!(word(&refused["message"]).contains("'gone' is not a cursor"), "{refused}");
    for limit in [0, 201] {
        let refused = tool_refused(&mut client, "plan", json!({ "limit": limit }), "E_INVALID_ARGUMENT");
        assert!(word(&refused["message"]).contains("is not between 1 and 200"), "{refused}");
    }
    client.finish();
}

#[test]
fn a_diff_contains_the_changed_lines() {
    let place = Place::with_project();
    place.deploy(&["--target", "cursor"]);
    place.prompt("review", "Review the change well.\n");
    let lines = "--- a/.cursor/commands/review.md\n+++ b/.cursor/commands/review.md\n@@ -1 +1 @@\n-Review the change.\n+Review the change well.\n";
    let shell = place.data(&["diff", "--target", "cursor"]);
    assert_eq!(shell["changes"][0]["unified"], lines, "{shell:#}");
    for arguments in [&[][..], &["--as", "agentpack"]] {
        let mut client = place.server(arguments);
        let data = tool_data(&mut client, "diff", json!({ "target": "cursor" }));
        assert_eq!(data["changes"][0]["unified"], lines, "{data:#}");
        let preview = tool_data(&mut client, "preview", json!({ "target": "cursor", "diff": true }));
        let own = if arguments.is_empty() { &preview["plan"]["changes"][0] } else { &preview["diff"]["files"][0] };
        assert!(word(&own["unified"]).contains("+Review the change well."), "{preview:#}");
        client.finish();
    }
}

#[test]
fn a_long_diff_is_returned_in_pages() {
    let place = many(60);
    let long = "a line of forty bytes that fills the file\n".repeat(500);
    for n in 0..4 {
        place.resource(&format!("skill://many/long-{n}.md"), &long);
    }
    // A single diff that is too long for an answer is cut.
    place.resource("skill://many/longest.md", &"x\n".repeat(30_000));
    let whole = place.data(&["diff", "--target", "codex"]);
    let whole = whole["changes"].as_array().expect("changes");
    assert!(whole.iter().all(|change| change["unified"].is_string()), "the shell has all of them");
    let first = place.data(&["diff", "--target", "codex", "--limit", "2"]);
    assert_eq!(first["changes"].as_array().map(Vec::len), Some(2));
    let next = word(&first["next_cursor"]);
    let second = place.data(&["diff", "--target", "codex", "--limit", "2", "--cursor", next]);
    assert_eq!(second["changes"][0], whole[2]);

    let mut client = place.server(&[]);
    let (mut paths, mut cursor, mut pages, mut cut) = (Vec::new(), None::<String>, 0, 0);
    loop {
        let mut arguments = json!({ "target": "codex" });
        if let Some(cursor) = &cursor {
            arguments["cursor"] = json!(cursor);
        }
        let (text, data) = call(&mut client, "diff", arguments);
        assert!(text.len() < 64 << 10, "{} bytes", text.len());
        for change in data["changes"].as_array().expect("changes") {
            cut += usize::from(word(&change["unified"]).contains("more lines; see the file itself"));
            paths.push(word(&change["path"]).to_owned());
        }
        pages += 1;
        match data["next_cursor"].as_str() {
            Some(next) => cursor = Some(next.to_owned()),
            None => break,
        }
    }
    let expected: Vec<String> =
        whole.iter().map(|change| place.short(word(&change["path"])).replacen("root/", "", 1)).collect();
    assert_eq!((paths, cut), (expected, 1));
    assert!(pages > 3, "{pages}");
    client.finish();

    let mut client = place.server(&["--as", "agentpack"]);
    let (_, data) = call(&mut client, "diff", json!({ "target": "codex" }));
    let changes = data["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), whole.len(), "every change is listed");
    assert!(changes.iter().any(|change| change.get("unified").is_none()) && data["next_cursor"].is_string());
    client.finish();
}
