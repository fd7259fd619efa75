//! Tests a prompt that cannot be written as a file: it is reported, and all other prompts are still deployed.

use serde_json::{Value, json};

use crate::deploy::answers::{tool, word};
use crate::deploy::place::Place;
use crate::support::Client;

const TEMPLATE: &str = "Look at {{ file }}\n";

/// Returns a place whose prompt `broken` was deployed, and has since become a template that does not render.
fn with_broken() -> Place {
    let place = Place::with_project();
    place.ok(&["prompt", "create", "broken", TEMPLATE, "--argument", "file"]);
    place.deploy(&[]);
    // `file.name` is valid template syntax, but `file` is a text and has no `name`.
    place.ok(&["prompt", "update", "broken", "--content", "Look at {{ file.name }}\n"]);
    place.prompt("review", "Review twice.\n");
    place
}

#[test]
fn the_other_prompts_are_deployed_and_a_broken_prompts_file_stays() {
    let place = with_broken();
    let before = place.tree();
    let planned = place.envelope(&["plan"]);
    let changes = planned["data"]["changes"].to_string();
    assert!(changes.contains("review") && !changes.contains("broken"), "{planned:#}");
    let warnings = planned["warnings"].as_array().expect("a list").iter().map(word);
    let told: Vec<&str> = warnings.filter(|warning| warning.contains("broken")).collect();
    let [told] = told.as_slice() else { panic!("{told:?}") };
    for part in ["module 'command:broken'", "does not render", "mcpkg prompt edit broken", "mcpkg module remove"] {
        assert!(told.contains(part), "{told}");
    }
    let left_out = planned["data"]["left_out"].as_array().expect("what is left out");
    let broken = |item: &&Value| item["module_id"] == "command:broken" && item["reason_code"] == "broken";
    assert_eq!(left_out.iter().filter(broken).count(), 4, "once for each target: {left_out:?}");
    place.deploy(&[]);
    assert_eq!(place.read("root/.claude/commands/review.md"), "Review twice.\n");
    let after = place.tree();
    for path in before.keys().filter(|path| path.contains("broken")) {
        assert_eq!(before[path], after[path], "{path}");
    }
    assert_eq!(place.drift(&[]), [""; 0]);
    // Once fixed, the prompt is deployed again. Once removed, its files are deleted.
    place.ok(&["prompt", "update", "broken", "--content", "Look well at {{ file }}\n"]);
    place.deploy(&[]);
    assert!(place.read("root/.claude/commands/broken.md").contains("Look well at $ARGUMENTS"));
    place.ok(&["module", "remove", "command:broken"]);
    place.deploy(&[]);
    assert!(!place.exists("root/.claude/commands/broken.md"));
}

#[test]
fn a_template_with_an_undeclared_variable_is_refused() {
    let place = Place::with_project();
    let ran = place.run(&["prompt", "create", "typo", "Look at {{ flie }}", "--argument", "file"]);
    assert_eq!(ran.status, 1, "{ran}");
    assert!(ran.stderr.contains("'flie'") && ran.stderr.contains("did you mean 'file'?"), "{ran}");
    let ran = place.run(&["prompt", "create", "none", "{{ a }} and {{ b }}", "--template"]);
    assert!(ran.stderr.contains("'a', 'b'") && ran.stderr.contains("--argument a --argument b"), "{ran}");
    // An undeclared variable is also refused if the arguments are declared in front matter, and if an update changes
    // the text or the arguments.
    let front = "---\narguments:\n  - name: file\n---\nLook at {{ flie }}\n";
    assert_ne!(place.run(&["prompt", "create", "front", front]).status, 0);
    place.ok(&["prompt", "create", "good", TEMPLATE, "--argument", "file"]);
    assert_ne!(place.run(&["prompt", "update", "good", "--content", "See {{ other }}"]).status, 0);
    assert_ne!(place.run(&["prompt", "update", "good", "--argument", "other"]).status, 0);
    assert_eq!(place.ok(&["prompt", "show", "good", "--raw"]), TEMPLATE);
    let listed = place.ok(&["prompt", "list"]);
    assert!(!["typo", "none", "front"].iter().any(|name| listed.contains(name)), "{listed}");
    // A variable is not an error if the template itself handles its absence.
    place.ok(&[
        "prompt",
        "create",
        "kind",
        "{{ a|default('x') }}{% if b is defined %}{{ b }}{% endif %}",
        "--template",
    ]);
    assert_eq!(place.ok(&["prompt", "show", "kind"]), "x");
    place.ok(&["prompt", "show", "kind", "-a", "b=2"]);

    let mut client = Client::spawn(place.command().arg("serve")).shake_hands("2025-06-18");
    let arguments = json!({ "name": "typo", "content": "Look at {{ flie }}", "arguments": [{ "name": "file" }] });
    let (text, is_error) = client.call("create_prompt", arguments);
    assert!(is_error && text.starts_with("Error: ") && text.contains("'flie'"), "{text}");
    let (text, is_error) = client.call("update_prompt", json!({ "name": "good", "content": "See {{ other }}" }));
    assert!(is_error && text.contains("'other'"), "{text}");
    client.finish();
    place.deploy(&[]);
}

#[test]
fn an_import_reports_a_template_with_an_undeclared_variable() {
    let place = Place::with_project();
    let odd = "---\narguments: [file]\n---\nLook at {{ file }} and {{ other }}\n";
    place.write("src/.claude/commands/odd.md", odd);
    let ran = place.run(&["import", &place.scratch.path().join("src/.claude").display().to_string()]);
    let told = format!("{}{}", ran.stdout, ran.stderr);
    assert_eq!(ran.status, 0, "{ran}");
    assert!(told.contains("odd.md") && told.contains("'other'"), "{ran}");
    // The file was imported unchanged, so nothing is lost and it can be deployed.
    place.deploy(&[]);
    assert_eq!(place.read("root/.claude/commands/odd.md"), odd);
}

#[test]
fn the_plan_for_agents_says_what_is_left_out() {
    let place = with_broken();
    let mut client = place.server(&["--as", "agentpack"]);
    for name in ["plan", "deploy", "status"] {
        let envelope = tool(&mut client, name, json!({}));
        assert_eq!(envelope["ok"], true, "{envelope:#}");
        assert!(envelope["warnings"].to_string().contains("command:broken"), "{envelope:#}");
    }
    client.finish();
}
