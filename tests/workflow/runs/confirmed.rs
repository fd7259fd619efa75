//! Tests steps that need contract 000's confirm token. One consent to the workflow's plan covers them.

use std::sync::Arc;

use mcpkg_core::op::{Confirmation, Context};
use serde_json::{Value, json};
use uuid::Uuid;

use super::{approved, code, execute, with_nonce};
use crate::deploy::place::Place;

const SHIP: &str = "\
workflow: ship
steps:
  - id: plan
    run: mcpkg:deploy
  - id: apply
    run: mcpkg:deploy_apply
    with: { yes: true, confirm_token: '${{ steps.plan.output.confirm_token }}' }
";

#[test]
fn a_deploy_within_a_workflow_is_consented_to_with_the_workflows_plan() {
    let place = Place::with_project();
    let mut client = place.server(&[]);
    let arguments = json!({ "yaml": SHIP, "wait_s": 0 });
    let asked = execute(&mut client, arguments.clone());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED", "{asked}");
    let effects = asked["error"]["details"]["effects"].to_string();
    assert!(effects.contains("apply: mcpkg:deploy_apply (writes)"), "{effects}");
    let pending = execute(&mut client, with_nonce_at_once(&arguments, &asked));
    assert_eq!(code(&pending), "E_CONSENT_PENDING");
    let person = Context { confirmation: Confirmation::Ask, ask: Arc::new(|_, _| Ok(())), ..place.scratch.context() };
    let id = asked["error"]["details"]["consent"].as_str().expect("a request");
    approved(&person, Uuid::parse_str(id).expect("an id"), None);
    let done = execute(&mut client, with_nonce(&arguments, &asked));
    assert_eq!(done["state"], "succeeded", "{done}");
    assert_eq!(done["final_output"]["applied"], true, "{done}");
    assert!(place.root().join(".claude/commands/review.md").exists());
    // The confirm token is not stored. It was used anyway.
    let runs = place.scratch.json(&["workflow", "runs"]);
    let run = place.scratch.json(&["workflow", "runs", runs["runs"][0]["run"].as_str().expect("an id")]);
    assert_eq!(run["steps"][1]["attempts"][0]["arguments"]["confirm_token"], "***", "{run}");
    let waiting = place.scratch.json(&["consent", "list"]);
    assert_eq!(waiting["consents"], json!([]), "nothing else was asked for: {waiting}");
    client.finish();
}

fn with_nonce_at_once(arguments: &Value, asked: &Value) -> Value {
    let mut arguments = with_nonce(arguments, asked);
    arguments["wait_s"] = json!(0);
    arguments
}
