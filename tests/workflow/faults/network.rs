//! Tests APIs that stall, break connections or send garbage. The result of a step depends on whether its command can be
//! repeated safely.

use serde_json::{Value, json};

use crate::support::Client;
use crate::support::api::Trouble;
use crate::workflow::runs::{Ground, code, execute, with_nonce};

/// A command of each kind of idempotency: the kind, the command's id, and its arguments.
const COMMANDS: [(&str, &str, &str); 4] = [
    ("safe", "hosting:apps:list", "{}"),
    ("idempotent", "hosting:apps:replace", r#"{"app_id": "app-1", "name": "x"}"#),
    ("key", "hosting:apps:create", r#"{"region": "eu"}"#),
    ("none", "hosting:databases:create", r#"{"plan": "small", "app_id": "app-1"}"#),
];

/// Runs each command while the API has this trouble. Returns the resulting code and the number of requests for each.
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
fn an_unanswered_request_is_uncertain_if_it_cannot_be_repeated() {
    let length = |length: &str| vec![("content-length", length.to_owned())];
    let is_uncertain = |trouble: Trouble| {
        let when = format!("{trouble:?}");
        let failed = json!(["E_STEP_FAILED", 1]);
        let expected = json!({ "safe": failed, "idempotent": failed, "key": failed, "none": ["E_STEP_UNCERTAIN", 1] });
        let mut found = each(&[trouble]);
        if when == "Garbage" {
            // Here the API answers before it reads the request, so each command is sent once.
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
    // Run these in parallel, because most of the time is spent waiting.
    std::thread::scope(|scope| {
        for trouble in troubles {
            scope.spawn(|| is_uncertain(trouble));
        }
    });
}

#[test]
fn a_refusal_is_a_failure_and_a_busy_api_is_retried_if_that_is_safe() {
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
