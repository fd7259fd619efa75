//! Tests the text that a user types after a prompt's name, as clients send it.

use serde_json::{Value, json};

use crate::support::{Client, Scratch, modern_meta};

/// Creates the prompts `fix`, a command that takes the whole typed text, and `look`, a template with two arguments.
fn prompts() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file(".claude/commands/fix.md", "Fix $ARGUMENTS now\n");
    scratch.ok(&["import", ".claude/commands/fix.md"]);
    scratch.ok(&[
        "prompt",
        "create",
        "look",
        "At {{ file }} for {{ what }}",
        "--argument",
        "file",
        "--argument",
        "what?",
    ]);
    scratch
}

/// Returns the parameters as Claude Code sends them.
fn of_claude(params: Value) -> Value {
    let mut params = params;
    params["_meta"] = modern_meta();
    params["_meta"]["io.modelcontextprotocol/clientInfo"] = json!({ "name": "claude-code", "version": "2.1.330" });
    params
}

fn arguments(listed: &Value, name: &str) -> Vec<Value> {
    let prompt = listed["prompts"].as_array().expect("prompts").iter().find(|prompt| prompt["name"] == name);
    prompt.expect(name)["arguments"].as_array().expect("arguments").clone()
}

fn text(got: &Value) -> &str {
    got["messages"][0]["content"]["text"].as_str().expect("a text")
}

#[test]
fn the_typed_text_is_a_required_argument_so_that_clients_ask_for_it() {
    let scratch = prompts();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let listed = client.result("prompts/list", json!({}));
    assert_eq!(arguments(&listed, "fix"), [json!({ "name": "arguments", "required": true })]);
    let of_look = [json!({ "name": "file", "required": true }), json!({ "name": "what", "required": false })];
    assert_eq!(arguments(&listed, "look"), of_look);
    // A request without the argument is answered too.
    assert_eq!(text(&client.result("prompts/get", json!({ "name": "fix" }))).trim(), "Fix  now");
    // An argument that the user declared as optional stays optional.
    scratch.ok(&["prompt", "create", "own", "Do {{ arguments }}", "--argument", "arguments?"]);
    let listed = client.result("prompts/list", json!({}));
    assert_eq!(arguments(&listed, "own"), [json!({ "name": "arguments", "required": false })]);
    client.finish();
}

#[test]
fn words_that_claude_code_splits_are_joined() {
    let scratch = prompts();
    for front in [true, false] {
        let mut command = scratch.command();
        command.args(["serve"]).args((!front).then_some("--no-front"));
        let mut client = Client::spawn(&mut command);
        let listed = client.result("prompts/list", of_claude(json!({})));
        for (prompt, typed, expected) in [
            ("fix", "the login bug in the API", "Fix the login bug in the API now"),
            ("fix", "it", "Fix it now"),
            ("look", "main.rs races and slow paths", "At main.rs for races and slow paths"),
        ] {
            // Claude Code passes one word to each argument, and drops the rest.
            let names: Vec<String> =
                arguments(&listed, prompt).iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect();
            let given: serde_json::Map<String, Value> =
                names.into_iter().zip(typed.split(' ').map(Value::from)).collect();
            let got = client.result("prompts/get", of_claude(json!({ "name": prompt, "arguments": given })));
            assert_eq!(text(&got).trim(), expected);
        }
        assert_eq!(
            arguments(&listed, "fix")[0]["required"],
            false,
            "it refuses a command without words where it is required"
        );
        // Other clients get only the prompt's own arguments.
        let listed = client.result("prompts/list", json!({ "_meta": modern_meta() }));
        assert_eq!(arguments(&listed, "fix").len(), 1, "{listed}");
        client.finish();
    }
}
