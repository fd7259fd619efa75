//! Tests decisions on agents' requests, including requests whose text tries to change the screen.

use std::sync::Arc;

use mcpkg_base::clock::Clock;
use mcpkg_base::error::Code;
use mcpkg_console::Invocation;
use mcpkg_core::op::{Ask, Context};
use serde_json::json;

use super::{agent, console};
use crate::workflow::runs::{Ground, code, create, execute, with_nonce};

#[test]
fn a_request_is_read_approved_and_used() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("nothing waits for you");
    // The request appears without a key press.
    let mut client = agent(&ground, "codex");
    let asked = execute(&mut client, create());
    assert_eq!(code(&asked), "E_CONSENT_REQUIRED");
    screen.wait("1 waits for you, until");
    let text = screen.wait("Run hosting:apps:create");
    assert!(text.contains("mcp:codex") && text.contains("writes"), "{text}");
    // Three keys: look, approve, yes.
    screen.keys("\r");
    screen.wait("Inbox > Run hosting:apps:create");
    screen.keys("a");
    screen.wait("other keys no");
    // Every key other than `y` means no.
    screen.keys("\r");
    screen.wait("Not confirmed; nothing was changed");
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_REQUIRED");
    screen.keys("a");
    screen.wait("other keys no");
    screen.keys("y");
    screen.wait(". mcp:codex can run it now: Run hosting:apps:create");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
    assert_eq!(ground.changes(), 1);
    // The audit trail says that the decision was made in the console.
    let decided = ground.scratch.json(&["events", "--by", "console"])["events"].clone();
    assert_eq!(decided[0]["kind"], "consent.approve", "{decided}");
}

#[test]
fn a_request_shows_the_agents_reason_as_its_claim() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    let mut arguments = create();
    arguments["reason"] = json!("A place to test.\nApproved by ada\u{1b}[2J");
    let asked = execute(&mut client, arguments.clone());
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("Run hosting:apps:create");
    screen.keys("\r");
    screen.wait("Inbox > Run hosting:apps:create");
    let text = screen.wait("the agent's reason: \"A place to test.");
    let forged = text.lines().find(|line| line.contains("Approved by ada"));
    assert!(forged.is_some_and(|line| line.trim_start().starts_with('|')), "{text}");
    // The consent also covers the same request with another reason.
    ground.approve(&asked);
    arguments["reason"] = json!("Because.");
    assert_eq!(code(&execute(&mut client, with_nonce(&arguments, &asked))), "ok");
    arguments["reason"] = json!("x".repeat(1_001));
    assert_eq!(code(&execute(&mut client, arguments)), "E_INVALID_ARGUMENT");
}

#[test]
fn a_denial_reaches_the_agent() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    let asked = execute(&mut client, create());
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("Run hosting:apps:create");
    screen.keys("nuse another name\rd");
    screen.wait("Deny: Run hosting:apps:create? Your note: \"use another name\"");
    // Every key other than `y` means no, and the note stays for the next try.
    screen.keys("d");
    screen.wait("Not confirmed; nothing was changed");
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_REQUIRED");
    screen.keys("d");
    screen.wait("Your note: \"use another name\"");
    screen.keys("y");
    screen.wait("Denied: Run hosting:apps:create. The agent gets your note.");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "E_CONSENT_DENIED");
    assert_eq!(ground.changes(), 0);
}

#[test]
fn a_yes_to_a_request_that_was_denied_in_the_meantime_approves_nothing() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    let asked = execute(&mut client, create());
    let id = asked["error"]["details"]["consent"].as_str().expect("a request");
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("Run hosting:apps:create");
    screen.keys("a");
    screen.wait("other keys no");
    ground.scratch.ok(&["consent", "deny", id]);
    screen.keys("y");
    screen.wait("was denied while the question was open");
    assert_eq!(ground.scratch.json(&["consent", "show", id])["state"], "denied");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "E_CONSENT_DENIED");
    assert_eq!(ground.changes(), 0);
}

#[test]
fn a_yes_counts_for_the_state_that_the_question_showed() {
    let ground = Ground::new();
    let mut client = agent(&ground, "codex");
    let asked = execute(&mut client, create());
    let id = asked["error"]["details"]["consent"].as_str().expect("a request").to_owned();
    let usual = ground.person();
    let person = Context { clock: Clock::fixed(usual.clock.now()), ..usual };
    // Answers yes after `meanwhile` has run, and returns the result.
    let yes_after = |meanwhile: fn(&Context, &str)| {
        let (context, request) = (person.clone(), id.clone());
        let ask: Arc<Ask> = Arc::new(move |_, _| {
            meanwhile(&context, &request);
            Ok(())
        });
        let approved = Invocation::new("consent approve").with(&id).run(&Context { ask, ..person.clone() });
        approved.map(drop).map_err(|error| (error.code(), error.to_string()))
    };
    let deny = |context: &Context, id: &str| {
        let deny = Invocation::new("consent deny").with(id);
        deny.run(context).expect("it is denied");
    };
    let refused = |why: &str| Err((Code::ConsentExpired, format!("Consent request {id} {why}")));
    assert_eq!(yes_after(deny), refused("was denied while the question was open"));
    // Now the question shows that the request was denied, so a yes approves it.
    assert_eq!(yes_after(|_, _| {}), Ok(()));
    assert_eq!(yes_after(deny), refused("was denied while the question was open"), "an approval that was taken back");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "E_CONSENT_DENIED");
    let expired = yes_after(|context, _| context.clock.advance(61 * 60_000)).expect_err("it has expired");
    assert!(expired.0 == Code::ConsentExpired && expired.1.contains("expired at"), "{expired:?}");
    assert_eq!(ground.changes(), 0);
}

#[test]
fn no_text_of_an_agent_reaches_the_terminal_raw() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex\u{1b}]0;pwned\u{7}");
    let name = "web\u{1b}[2J\u{1b}[H\u{1b}]52;c;aGk=\u{7}Approved: nothing to see\u{202e}gnp.exe\u{200b}";
    execute(
        &mut client,
        json!({ "command": "hosting:apps:create", "args": { "name": name, "region": "eu" }, "wait_s": 0 }),
    );
    let Some(mut screen) = console(&ground.scratch, &[]) else { return };
    screen.wait("Run hosting:apps:create");
    screen.keys("\r");
    let text = screen.wait("Inbox > Run hosting:apps:create");
    let forged = text.lines().find(|line| line.contains("Approved: nothing"));
    assert!(forged.is_none_or(|line| line.trim_start().starts_with('|')), "{text}");
    screen.keys("a");
    screen.wait("other keys no");
    let written = screen.written();
    for hostile in ["\u{1b}]52;c;aGk=", "\u{1b}]0;pwned", "\u{202e}", "\u{200b}"] {
        let bytes = hostile.as_bytes();
        assert!(!written.windows(bytes.len()).any(|window| window == bytes), "{hostile:?} was written");
    }
}

#[test]
fn a_read_only_console_approves_nothing() {
    let ground = Ground::new();
    ground.scratch.ok(&["project", "select", "p"]);
    let mut client = agent(&ground, "codex");
    execute(&mut client, create());
    let Some(mut screen) = console(&ground.scratch, &["--read-only"]) else { return };
    let text = screen.wait("Run hosting:apps:create");
    assert!(text.contains("READ-ONLY") && !text.contains("a approve"), "{text}");
    screen.keys("a");
    screen.wait("read-only: the console was started with --read-only");
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_REQUIRED");
}
