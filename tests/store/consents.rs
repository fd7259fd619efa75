//! Tests of confirm tokens and requests for consent: who may use them, for how long, and that each is used once.

use std::sync::Barrier;

use mcpkg_base::approved::Kind;
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error};
use mcpkg_core::consent::request::{self, Consent, Need};
use mcpkg_core::consent::token::{self, Plan, Refused};
use mcpkg_core::op::{Caller, Confirmation, Connection, Context, Effect, Grant, Holder, Identity};
use mcpkg_store::consents::{self, Request, State};
use mcpkg_store::events;
use mcpkg_store::page::Page;
use serde_json::{Value, json};
use uuid::Uuid;

use crate::support::Scratch;

const MINUTE: i64 = 60_000;

/// Returns the context of an agent over stdio, at a fixed time.
fn agent(scratch: &Scratch) -> Context {
    let caller = Caller::client(Some("cursor"), None, Connection::Stdio, Identity::Mcpkg);
    Context { caller, clock: Clock::fixed(1_800_000_000_000), ..scratch.context() }
}

/// Returns the context of an agent with an access key, with the same clock.
fn keyed(context: &Context, name: &str, consent: bool) -> Context {
    let grant = Grant {
        holder: Holder::Key(name.to_owned()),
        project: None,
        project_name: None,
        read_only: false,
        consent,
        publish: Vec::new(),
        attest: false,
        execute: false,
        expires_at: None,
    };
    let caller = Caller::client(Some("cursor"), Some(grant), Connection::Network, Identity::Mcpkg);
    Context { caller, ..context.clone() }
}

/// Returns the context of this user, who consents at a terminal. It has the same clock.
fn person(context: &Context) -> Context {
    let ask: std::sync::Arc<mcpkg_core::op::Ask> = std::sync::Arc::new(|_, _| Ok(()));
    Context { caller: Caller::Shell, confirmation: Confirmation::Ask, ask, ..context.clone() }
}

fn ask(context: &Context, inputs: &Value, plan_hash: &str) -> Result<Consent, Error> {
    let need = Need {
        operation: "rollback",
        project: "p",
        inputs,
        plan_hash,
        summary: "Roll everything back".to_owned(),
        effects: vec!["delete /a".to_owned(), "update /b".to_owned()],
        effect: Effect::Destroy,
    };
    request::ask(context, &need)
}

/// Checks that the operation is refused, and returns the id of the request.
#[track_caller]
fn asked(context: &Context, inputs: &Value, plan_hash: &str) -> Uuid {
    let error = ask(context, inputs, plan_hash).expect_err("nobody consented");
    assert_eq!(error.code(), Code::ConsentRequired, "{error}");
    let details = error.details().expect("details");
    let id = details["consent"].as_str().expect("an id");
    assert_eq!(details["command"], format!("mcpkg consent approve {id}"));
    assert_eq!(details["effects"], json!(["delete /a", "update /b"]));
    Uuid::parse_str(id).expect("an id")
}

fn consume(context: &Context, consent: &Consent) -> Result<(), Error> {
    context.store.write(|db| consent.consume(context, db))
}

fn row(context: &Context, id: Uuid) -> Request {
    context.store.read(|db| consents::get(db, id)).expect("read").expect("a row")
}

/// Approves a request that was pending when it was shown.
fn approve(context: &Context, id: Uuid) -> Result<Request, Error> {
    request::approve(context, &Request { state: State::Pending, ..row(context, id) }, None)
}

#[test]
fn a_yes_approves_the_request_that_was_shown() {
    let scratch = Scratch::with_project_here();
    let (context, inputs) = (agent(&scratch), json!({}));
    let id = asked(&context, &inputs, "hash");
    let shown = row(&context, id);
    scratch.change("UPDATE consent SET plan_hash = 'another'");
    let error = request::approve(&person(&context), &shown, None).expect_err("it is another request now");
    assert_eq!(error.code(), Code::PlanChanged, "{error}");
    assert_eq!(row(&context, id).state, State::Pending);
    assert!(context.approved.all(Kind::Consent).expect("records").is_empty());
}

#[test]
fn a_consent_counts_only_if_its_request_showed_what_is_done() {
    for changed in ["summary = 'Look at the weather'", "effects = '[]'", "effect = 'reads'"] {
        let scratch = Scratch::with_project_here();
        let (context, inputs) = (agent(&scratch), json!({}));
        let id = asked(&context, &inputs, "hash");
        scratch.change(&format!("UPDATE consent SET {changed}"));
        // The person approves what they see, and that is not what the operation is going to do.
        approve(&person(&context), id).expect("approved");
        assert_ne!(asked(&context, &inputs, "hash"), id, "{changed}");
    }
}

#[test]
fn a_request_is_approved_by_a_person_and_used_once() {
    let scratch = Scratch::with_project_here();
    let (context, inputs) = (agent(&scratch), json!({ "to": "pristine" }));
    let id = asked(&context, &inputs, "hash");
    assert_eq!(asked(&context, &inputs, "hash"), id, "asked again it is the same request");
    approve(&person(&context), id).expect("approved");
    let consent = ask(&context, &inputs, "hash").expect("a consent");
    let again = ask(&context, &inputs, "hash").expect("the same, not used yet");
    consume(&context, &consent).expect("used");
    for late in [&consent, &again] {
        assert_eq!(consume(&context, late).expect_err("used already").code(), Code::ConsentExpired);
    }
    assert_eq!(row(&context, id).state, State::Consumed);
    assert!(context.approved.all(Kind::Consent).expect("records").is_empty());
    assert_ne!(asked(&context, &inputs, "hash"), id, "the next time is asked again");
    assert_eq!(approve(&person(&context), id).expect_err("used").code(), Code::ConsentExpired);
}

#[test]
fn consent_is_for_one_operation_plan_and_asker() {
    let scratch = Scratch::with_project_here();
    let (context, inputs) = (agent(&scratch), json!({ "to": "pristine" }));
    let id = asked(&context, &inputs, "hash");
    approve(&person(&context), id).expect("approved");
    assert_ne!(asked(&context, &inputs, "another"), id);
    assert_ne!(asked(&context, &json!({ "to": "other" }), "hash"), id);
    assert_ne!(asked(&keyed(&context, "ci", false), &inputs, "hash"), id);
    // This user in the shell is the same requester, so the stored consent counts even without a terminal.
    let shell = Context { caller: Caller::Shell, ..context.clone() };
    drop(ask(&shell, &inputs, "hash").expect("the user's own"));
}

#[test]
fn nothing_that_an_agent_can_send_approves() {
    let scratch = Scratch::with_project_here();
    let context = agent(&scratch);
    let inputs = json!({});
    let key = keyed(&context, "ci", false);
    let id = asked(&key, &inputs, "hash");
    // The agent's own key may not consent, another key does not see the request, and neither `--yes` nor a shell
    // without a terminal is enough.
    assert_eq!(approve(&key, id).expect_err("may not").code(), Code::TerminalRequired);
    assert_eq!(approve(&keyed(&context, "other", true), id).expect_err("not its own").code(), Code::NotFound);
    for confirmation in [Confirmation::Given, Confirmation::Nobody] {
        let shell = Context { caller: Caller::Shell, confirmation, ..context.clone() };
        assert_eq!(approve(&shell, id).expect_err("no terminal").code(), Code::TerminalRequired);
    }
    assert_eq!(row(&context, id).state, State::Pending);
    // An approved row does not count if this user's own records do not confirm it.
    let approved = context
        .store
        .write(|db| consents::approve(db, id, State::Pending, context.clock.now(), context.clock.now() + MINUTE, None));
    assert!(approved.expect("a row"));
    assert_ne!(asked(&key, &inputs, "hash"), id);
    // A key with the right to consent can pass on its user's consent.
    let trusted = keyed(&context, "desk", true);
    let id = asked(&trusted, &inputs, "hash");
    approve(&trusted, id).expect("approved");
    consume(&trusted, &ask(&trusted, &inputs, "hash").expect("a consent")).expect("used");
}

#[test]
fn a_no_holds_until_a_person_says_otherwise() {
    let scratch = Scratch::with_project_here();
    let (context, inputs) = (agent(&scratch), json!({}));
    let id = asked(&context, &inputs, "hash");
    request::deny(&person(&context), id, None).expect("denied");
    assert_eq!(ask(&context, &inputs, "hash").expect_err("denied").code(), Code::ConsentDenied);
    assert_eq!(
        approve(&person(&context), id).expect_err("denied").code(),
        Code::ConsentExpired,
        "the person did not see that it was denied"
    );
    request::approve(&person(&context), &row(&context, id), None).expect("approved after all");
    let consent = ask(&context, &inputs, "hash").expect("a consent");
    // The consent is taken back before it is used.
    request::deny(&person(&context), id, None).expect("taken back");
    assert_eq!(consume(&context, &consent).expect_err("taken back").code(), Code::ConsentExpired);
}

#[test]
fn the_trail_says_what_a_request_was_before_its_denial() {
    let scratch = Scratch::with_project_here();
    let (context, inputs) = (agent(&scratch), json!({}));
    let newest = || -> Vec<String> {
        let changes = context.store.read(|db| events::changes(db, events::newest(db)?)).expect("the changes");
        changes.iter().map(|change| format!("{} -> {}", change.before, change.after)).collect()
    };
    let id = asked(&context, &inputs, "hash");
    approve(&person(&context), id).expect("approved");
    request::deny(&person(&context), id, None).expect("taken back");
    assert_eq!(newest(), ["approved -> denied"]);
    request::deny(&person(&context), id, Some("not now")).expect("a later note");
    assert!(newest().is_empty(), "a note alone changes no state");
    let other = asked(&context, &inputs, "other");
    request::deny(&person(&context), other, None).expect("denied");
    assert_eq!(newest(), ["pending -> denied"]);
}

#[test]
fn a_request_waits_an_hour_and_a_consent_ten_minutes() {
    let scratch = Scratch::with_project_here();
    let (context, inputs) = (agent(&scratch), json!({}));
    let id = asked(&context, &inputs, "hash");
    context.clock.advance(60 * MINUTE);
    assert_eq!(approve(&person(&context), id).expect_err("late").code(), Code::ConsentExpired);
    let id = asked(&context, &inputs, "hash");
    approve(&person(&context), id).expect("approved");
    context.clock.advance(10 * MINUTE - 1);
    let consent = ask(&context, &inputs, "hash").expect("in time");
    context.clock.advance(1);
    assert_eq!(consume(&context, &consent).expect_err("late").code(), Code::ConsentExpired);
    assert_ne!(asked(&context, &inputs, "hash"), id);
    // If the clock goes back, the consent expires.
    let id = asked(&context, &inputs, "other");
    approve(&person(&context), id).expect("approved");
    context.clock.advance(-MINUTE - 1);
    assert_ne!(asked(&context, &inputs, "other"), id);
}

#[test]
fn ended_requests_are_deleted_after_a_day_and_at_most_a_thousand_wait() {
    let scratch = Scratch::with_project_here();
    let context = agent(&scratch);
    let count = || context.store.read(|db| consents::list(db, None, &Page::all())).expect("rows").rows.len();
    let first = asked(&context, &json!({ "n": 0 }), "hash");
    for n in 1..1_000 {
        asked(&context, &json!({ "n": n }), "hash");
    }
    let refused = ask(&context, &json!({ "n": 1_000 }), "hash").expect_err("too many");
    assert_eq!(refused.code(), Code::TooMany, "{refused}");
    assert_eq!(count(), 1_000);
    assert_eq!(row(&context, first).state, State::Pending, "the oldest still waits");
    asked(&keyed(&context, "ci", false), &json!({}), "hash");
    // Expired requests make room for new ones.
    context.clock.advance(61 * MINUTE);
    for n in 0..3 {
        asked(&context, &json!({ "n": n }), "hash");
    }
    assert_eq!(count(), 1_001);
    context.clock.advance(26 * 60 * MINUTE);
    asked(&context, &json!({}), "hash");
    assert_eq!(count(), 1);
}

#[test]
fn a_token_that_many_use_at_once_is_used_once() {
    let scratch = Scratch::with_project_here();
    let context = agent(&scratch);
    let inputs = json!({ "root": "/r" });
    let plan = Plan { operation: "deploy_apply", project: "p", inputs: &inputs, hash: "hash", summary: "Write to /r" };
    let issued = token::issue(&context, &plan).expect("a token");
    let barrier = Barrier::new(4);
    let used = std::thread::scope(|scope| {
        let uses: Vec<_> = (0..4)
            .map(|_| {
                scope.spawn(|| {
                    // Use a separate connection, as another process would.
                    let context = Context { store: scratch.store(), ..context.clone() };
                    let check =
                        |db: &mcpkg_store::Db<'_>| token::check(db, &context, &issued.token, "deploy_apply", &inputs);
                    let confirmed = context.store.read(check).expect("read").expect("good");
                    barrier.wait();
                    context.store.write(|db| confirmed.consume(db, context.clock.now())).expect("a write")
                })
            })
            .collect();
        uses.into_iter().map(|used| used.join().expect("a thread")).collect::<Vec<_>>()
    });
    assert_eq!(used.iter().filter(|used| used.is_ok()).count(), 1, "{used:?}");
    assert_eq!(used.iter().filter(|used| **used == Err(Refused::Consumed)).count(), 3, "{used:?}");
}

#[test]
fn a_token_belongs_to_its_requester_and_only_its_hash_is_stored() {
    let scratch = Scratch::with_project_here();
    let context = agent(&scratch);
    let inputs = json!({});
    let plan = Plan { operation: "deploy_apply", project: "p", inputs: &inputs, hash: "hash", summary: "x" };
    let issued = token::issue(&context, &plan).expect("a token");
    let check = |context: &Context, operation: &str| {
        let check = |db: &mcpkg_store::Db<'_>| token::check(db, context, &issued.token, operation, &inputs);
        context.store.read(check).expect("read").map(drop)
    };
    assert_eq!(check(&context, "deploy_apply"), Ok(()));
    assert_eq!(check(&Context { caller: Caller::Shell, ..context.clone() }, "deploy_apply"), Ok(()));
    assert_eq!(check(&keyed(&context, "ci", true), "deploy_apply"), Err(Refused::Unknown));
    assert_eq!(check(&context, "rollback"), Err(Refused::Unknown));
    let bytes = scratch.bytes();
    assert!(!bytes.windows(64).any(|window| window == issued.token.as_bytes()));
    // A token is not a request that a person could be asked about.
    assert!(context.store.read(|db| consents::list(db, None, &Page::all())).expect("rows").rows.is_empty());
}
