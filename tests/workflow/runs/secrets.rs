//! Tests that no secret is in the database, the events, logs, answers or backups.

use base64::Engine;
use serde_json::{Value, json};

use super::{Ground, code, create, execute, with_nonce};
use crate::support::Client;

const SECRET: &str = "pl4nted/s3cret+value";

#[test]
fn x41_x42_a_planted_secret_is_nowhere() {
    let ground = Ground::new();
    let token = ground.scratch.file("token", SECRET);
    crate::support::set_mode(&token, 0o600);
    let reference = format!("file:{}", token.display());
    ground.scratch.ok(&["catalog", "set", "hosting", "--header", &format!("Authorization={reference}"), "--yes"]);
    // The API's answer contains the request's headers.
    ground.api.require("another");
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let asked = execute(&mut client, create());
    ground.approve(&asked);
    let failed = execute(&mut client, with_nonce(&create(), &asked));
    assert_eq!(code(&failed), "E_STEP_FAILED", "{failed}");
    client.finish();
    let seen = ground.api.seen();
    let lines: Vec<&str> = seen.iter().map(|request| request.line.as_str()).collect();
    let sent = seen.iter().find(|request| request.line.starts_with("POST /api/v1/apps")).expect("a request");
    assert_eq!(sent.headers.get("authorization").map(String::as_str), Some(SECRET), "{lines:#?}");
    ground.scratch.ok(&["backup", "copy.db"]);
    let mut places: Vec<(String, Vec<u8>)> = vec![
        ("the answer".to_owned(), failed.to_string().into_bytes()),
        ("runs".to_owned(), ground.run().to_string().into_bytes()),
        ("events".to_owned(), ground.scratch.ok(&["events"]).into_bytes()),
    ];
    for name in ["copy.db", "test.db", "test.db-wal"] {
        places.extend(std::fs::read(ground.scratch.path().join(name)).map(|bytes| (name.to_owned(), bytes)));
    }
    let percent = SECRET.replace('/', "%2F").replace('+', "%2B");
    let base64 = base64::engine::general_purpose::STANDARD.encode(SECRET);
    let escaped = Value::from(SECRET).to_string();
    for (place, bytes) in places {
        for form in [SECRET, &percent, &base64, escaped.trim_matches('"')] {
            assert!(!bytes.windows(form.len()).any(|window| window == form.as_bytes()), "{place} holds {form}");
        }
    }
}

#[test]
fn an_agent_cannot_pass_a_secret_or_a_reference() {
    let ground = Ground::new();
    let yaml = "workflow: w\ninputs:\n  token: { type: secret }\nsteps:\n  - id: a\n    run: hosting:apps:list\n";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    for value in ["env:HOME", "hunter2"] {
        let refused = execute(&mut client, json!({ "yaml": yaml, "inputs": { "token": value } }));
        assert!(matches!(code(&refused), "E_TERMINAL_REQUIRED" | "E_INVALID_ARGUMENT"), "{refused}");
    }
    client.finish();
}

#[test]
fn x45_the_environment_is_not_an_input() {
    let ground = Ground::new();
    let yaml = "workflow: w\ninputs:\n  home: { default: { from: env, value: HOME } }\nsteps:\n  - id: a\n    run: hosting:apps:list\n    with: { region: '${{ inputs.home }}' }\n";
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let refused = execute(&mut client, json!({ "yaml": yaml }));
    assert!(matches!(code(&refused), "E_INPUTS_REQUIRED" | "E_WORKFLOW_INVALID"), "{refused}");
    client.finish();
}
