//! An API that stalls, breaks off and lies: what becomes of a step is told by its command.

use serde_json::{Value, json};

use crate::support::Client;
use crate::support::api::Trouble;
use crate::workflow::runs::{Ground, code, execute, with_nonce};

/// A command of each kind: what a repeated request would do, its id, and what it is given.
const COMMANDS: [(&str, &str, &str); 4] = [
    ("safe", "hosting:apps:list", "{}"),
    ("idempotent", "hosting:apps:replace", r#"{"app_id": "app-1", "name": "x"}"#),
    ("key", "hosting:apps:create", r#"{"region": "eu"}"#),
    ("none", "hosting:databases:create", r#"{"plan": "small", "app_id": "app-1"}"#),
];

/// Runs each command while the API does so, and returns the code of what came of it with the number of requests.
fn each(trouble: &[Trouble]) -> Value {
    let ground = Ground::new();
    ground.scratch.ok(&["catalog", "set", "hosting", "--timeout", "1"]);
    let mut client = Client::start(&ground.scratch, &[]).shake_hands("2025-06-18");
    let mut found = serde_json::Map::new();
    for (kind, id, args) in COMMANDS {
        let args: Value = serde_json::from_str(args).expect("arguments");
        let arguments = json!({ "command": id, "args": args, "wait_s": 0 });
        let asked = execute(&mut client, arguments.clone());
        ground.approve(&asked);
        let before = ground.api.seen().len();
        ground.api.trouble(trouble.iter().cloned());
        let answered = execute(&mut client, with_nonce(&arguments, &asked));
        found.insert(kind.to_owned(), json!([code(&answered), ground.api.seen().len() - before]));
        let text = answered.to_string();
        assert!(!text.contains("panicked") && !text.contains("E_INTERNAL"), "{text}");
    }
    client.finish();
    found.into()
}

#[test]
fn what_was_sent_and_not_answered_is_uncertain_where_it_may_be_sent_once() {
    let length = |length: &str| vec![("content-length", length.to_owned())];
    let is_uncertain = |trouble: Trouble| {
        let when = format!("{trouble:?}");
        let failed = json!(["E_STEP_FAILED", 1]);
        let expected = json!({ "safe": failed, "idempotent": failed, "key": failed, "none": ["E_STEP_UNCERTAIN", 1] });
        let mut found = each(&[trouble]);
        if when == "Garbage" {
            // It answers before it has read what was asked, so that nothing came.
            for kind in ["safe", "idempotent", "key", "none"] {
                found[kind][1] = json!(1);
            }
        }
        assert_eq!(found, expected, "{when}");
    };
    let troubles = [
        Trouble::Drop,
        Trouble::Half,
        Trouble::Stall,
        Trouble::HeadAlone,
        Trouble::Garbage,
        Trouble::NoJson,
        Trouble::Large(9 << 20),
        Trouble::Status(200, length("99999999"), "short"),
    ];
    // Most of it is waiting.
    std::thread::scope(|scope| {
        for trouble in troubles {
            scope.spawn(|| is_uncertain(trouble));
        }
    });
}

#[test]
fn a_refusal_is_a_failure_and_a_busy_api_is_asked_again_where_that_does_no_harm() {
    let status = |status: u16, after: &[(&'static str, String)]| Trouble::Status(status, after.to_vec(), "{}");
    let failed = json!(["E_STEP_FAILED", 1]);
    for refused in [400, 404, 409, 500] {
        let expected = json!({ "safe": failed, "idempotent": failed, "key": failed, "none": failed });
        assert_eq!(each(&[status(refused, &[])]), expected, "{refused}");
    }
    for busy in [429, 503] {
        let again = json!(["ok", 2]);
        let expected = json!({ "safe": again, "idempotent": again, "key": again, "none": failed });
        assert_eq!(each(&[status(busy, &[("retry-after", "0".to_owned())])]), expected, "{busy}");
    }
}
