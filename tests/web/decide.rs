//! Tests decisions about agents' requests in the browser: what a question shows, and outdated pages.

use serde_json::json;

use super::{Browser, ground, opened, text};
use crate::console::ground::{HOSTILE, filled};
use crate::workflow::runs::{code, create, execute, with_nonce};

/// Returns the address of the only request in the inbox.
fn request(browser: &Browser) -> String {
    let links = super::browser::links(&browser.page("/inbox"));
    links.into_iter().find(|link| link.starts_with("/request?")).expect("a request")
}

#[test]
fn a_request_is_read_approved_and_used() {
    let (ground, mut client) = ground();
    let asked = execute(&mut client, create());
    let Some(browser) = opened(&ground, &[]) else { return };
    let inbox = browser.page("/inbox");
    let shown = text(&inbox);
    assert!(shown.contains("1 waits for you") && shown.contains("mcp:codex") && shown.contains("writes"), "{shown}");
    // Answering no changes nothing.
    let question = browser.pressed(&inbox, "approve", &[]);
    let shown = text(&question);
    assert!(shown.contains("hosting:apps:create") && shown.contains("Consent to it?"), "{shown}");
    assert!(shown.contains("POST"), "the question says what is sent: {shown}");
    let no = text(&browser.pressed(&question, "No", &[]));
    assert!(no.contains("Not confirmed; nothing was changed"), "{no}");
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_REQUIRED");
    // Approve from the page of the request, with a note.
    let page = browser.page(&request(&browser));
    assert!(text(&page).contains("mcp:codex asks: Run hosting:apps:create"), "{}", text(&page));
    let question = browser.pressed(&page, "approve", &[("note", "delete it afterwards")]);
    assert!(text(&question).contains("Your note: \"delete it afterwards\""), "{}", text(&question));
    let done = text(&browser.pressed(&question, "Yes", &[]));
    assert!(done.contains("Approved once") && done.contains("mcp:codex can run it now"), "{done}");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
    assert_eq!(ground.changes(), 1);
    let decided = ground.scratch.json(&["events", "--by", "console"])["events"].clone();
    assert!(
        decided.as_array().is_some_and(|all| all.iter().any(|event| event["kind"] == "consent.approve")),
        "{decided}"
    );
    // An answer counts only for its own question.
    let again = browser.press(&question, "Yes", &[]);
    assert_eq!(again.status, 409);
    assert!(text(&again.text()).contains("This question is no longer open"));
}

#[test]
fn a_denial_reaches_the_agent() {
    let (ground, mut client) = ground();
    let asked = execute(&mut client, create());
    let Some(browser) = opened(&ground, &[]) else { return };
    let page = browser.page(&request(&browser));
    let question = browser.pressed(&page, "deny", &[("note", "use another name")]);
    let shown = text(&question);
    assert!(shown.contains("Deny: Run hosting:apps:create? Your note: \"use another name\""), "{shown}");
    assert_eq!(code(&execute(&mut client, create())), "E_CONSENT_REQUIRED", "nothing is decided yet");
    let done = text(&browser.pressed(&question, "Yes", &[]));
    assert!(done.contains("The agent gets your note."), "{done}");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "E_CONSENT_DENIED");
    assert_eq!(ground.changes(), 0);
}

#[test]
fn a_destructive_operation_needs_the_name_to_be_typed() {
    let (ground, mut client) = ground();
    let delete = json!({ "command": "hosting:apps:delete", "args": { "app_id": "app_7f3" }, "wait_s": 0 });
    let asked = execute(&mut client, delete.clone());
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let Some(browser) = opened(&ground, &[]) else { return };
    for (page, button, name, typed, done) in [
        (request(&browser), "approve", "app_7f3", "typed", "Approved once"),
        ("/prompt?name=review".to_owned(), "delete", "review", "typed", "Deleted prompt 'review'"),
    ] {
        let question = browser.pressed(&browser.page(&page), button, &[]);
        assert!(text(&question).contains(&format!("Type {name} to confirm")), "{}", text(&question));
        for wrong in ["", "yes", &name.to_uppercase()] {
            let refused = browser.press(&question, "Yes", &[(typed, wrong)]);
            assert_eq!(refused.status, 409, "{wrong}");
            assert!(text(&refused.text()).contains("That is not the name"), "{}", text(&refused.text()));
        }
        let answer = text(&browser.pressed(&question, "Yes", &[(typed, name)]));
        assert!(answer.contains(done), "{answer}");
    }
    // The deletion was approved, but fails, because the API does not have this app.
    assert_eq!(code(&execute(&mut client, with_nonce(&delete, &asked))), "E_STEP_FAILED");
    assert!(!ground.scratch.ok(&["prompt", "list"]).contains("review"));
}

#[test]
fn a_form_of_an_outdated_page_is_refused() {
    let (ground, mut client) = ground();
    execute(&mut client, create());
    let Some(browser) = opened(&ground, &[]) else { return };
    let (inbox, page) = (browser.page("/inbox"), browser.page(&request(&browser)));
    let id = ground.scratch.json(&["consent", "list"])["consents"][0]["id"].as_str().expect("an id").to_owned();
    ground.scratch.ok(&["consent", "deny", &id]);
    for old in [&inbox, &page] {
        let refused = browser.press(old, "approve", &[]);
        assert_eq!(refused.status, 409);
        assert!(text(&refused.text()).contains("older than what is stored"), "{}", text(&refused.text()));
    }
    assert_eq!(ground.scratch.json(&["consent", "show", &id])["state"], "denied");
    let other = json!({ "command": "hosting:apps:create", "args": { "name": "other", "region": "eu" }, "wait_s": 0 });
    assert_eq!(code(&execute(&mut client, other)), "E_CONSENT_REQUIRED");
    // A button is refused if the hidden fields of its form do not match the page.
    let page = browser.page(&request(&browser));
    for (name, value) in [("seen", "x"), ("seen", ""), ("row", "1")] {
        let refused = browser.press(&page, "approve", &[(name, value)]);
        assert_eq!(refused.status, 409, "{name} {value}");
    }
}

#[test]
fn a_yes_to_a_request_that_was_denied_in_the_meantime_approves_nothing() {
    let (ground, mut client) = ground();
    let asked = execute(&mut client, create());
    let id = asked["error"]["details"]["consent"].as_str().expect("a request");
    let Some(browser) = opened(&ground, &[]) else { return };
    let question = browser.pressed(&browser.page(&request(&browser)), "approve", &[]);
    ground.scratch.ok(&["consent", "deny", id]);
    let late = text(&browser.pressed(&question, "Yes", &[]));
    assert!(late.contains("was denied while the question was open"), "{late}");
    assert_eq!(ground.scratch.json(&["consent", "show", id])["state"], "denied");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "E_CONSENT_DENIED");
    assert_eq!(ground.changes(), 0);
}

#[test]
fn a_draft_that_changed_after_the_question_is_not_approved() {
    let (ground, mut client) = ground();
    let yaml = "workflow: fresh\nsteps:\n  - id: first\n    run: hosting:apps:list\n";
    client.result("tools/call", json!({ "name": "propose_workflow", "arguments": { "yaml": yaml } }));
    let Some(browser) = opened(&ground, &[]) else { return };
    let inbox = browser.page("/inbox");
    let question = browser.pressed(&inbox, "approve", &[]);
    let shown = text(&question);
    // The operation itself asks, so there is no other question before it.
    assert!(shown.contains("Save the draft as revision 1 of workflow 'fresh'?"), "{shown}");
    assert!(shown.contains("run: hosting:apps:list") && shown.contains("mcpkg draft approve"), "quotes it: {shown}");
    let id = ground.scratch.json(&["draft", "list"])["drafts"][0]["id"].as_str().expect("an id").to_owned();
    let file = ground.scratch.path().join("other.yaml");
    std::fs::write(&file, yaml.replace("apps:list", "apps:delete\n    with:\n      app_id: '\"a\"'")).expect("written");
    let edited = ground.scratch.run(&["draft", "edit", &id, "--from", &file.display().to_string()]);
    assert_eq!(edited.status, 0, "{edited}");
    let late = text(&browser.pressed(&question, "Yes", &[]));
    assert!(late.contains("error:") && late.contains("draft"), "{late}");
    assert_eq!(ground.scratch.json(&["workflow", "list"])["workflows"], json!([]));
}

#[test]
fn a_read_only_console_changes_nothing() {
    let (ground, mut client) = ground();
    execute(&mut client, create());
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    let Some(writing) = opened(&ground, &[]) else { return };
    let Some(browser) = opened(&ground, &["--read-only"]) else { return };
    for (address, button) in [(request(&browser), "Approve"), ("/prompt?name=review".to_owned(), "Delete")] {
        let page = browser.page(&address);
        assert!(!page.contains(&format!(">{button}</button>")), "{page}");
        // Send the form of the console that can write, with this session's secret.
        let form = super::browser::forms(&writing.page(&address)).pop().expect("a form");
        let own = super::browser::forms(&page)[0].fields[0].1.clone();
        let key = if button == "Approve" { "a" } else { "D" };
        let refused = browser.submit(&form, Some(("key", key)), &[("secret", &own)]);
        assert_eq!(refused.status, 409);
        assert!(text(&refused.text()).contains("--read-only"), "{}", text(&refused.text()));
    }
    let form = browser.page("/form?words=prompt+create");
    let refused = browser.press(&form, "Run", &[("value.name", "x"), ("value.content", "y")]);
    assert!(text(&refused.text()).contains("--read-only"), "{}", text(&refused.text()));
    assert_eq!(ground.scratch.json(&["consent", "list"])["consents"][0]["state"], "pending");
    // Neither does a command that only reads the database, but writes a file.
    let file = ground.scratch.path().join("written");
    let file = file.to_str().expect("a path");
    for (words, values) in [
        ("backup", &[("value.to", file)][..]),
        ("export", &[("value.folder", file)]),
        ("tool+lock", &[("value.file", file)]),
        ("workflow+validate", &[("value.yaml", file), ("value.--fix", "true")]),
    ] {
        let refused = text(&browser.pressed(&browser.page(&format!("/form?words={words}")), "Run", values));
        assert!(refused.contains("--read-only"), "{words}: {refused}");
    }
    assert!(!std::path::Path::new(file).exists());
    let read = text(&browser.pressed(&browser.page("/form?words=prompt+list"), "Run", &[]));
    assert!(read.contains("review") && !read.contains("--read-only"), "{read}");
}

#[test]
fn a_question_quotes_a_hostile_request() {
    let (ground, _client) = filled();
    let Some(browser) = opened(&ground, &[]) else { return };
    let links = super::browser::links(&browser.page("/inbox"));
    let mut questions = 0;
    for link in links.into_iter().filter(|link| link.starts_with("/request?")) {
        let page = browser.page(&link);
        if !page.contains(">Approve</button>") {
            continue;
        }
        let question = browser.pressed(&page, "approve", &[]);
        assert!(question.contains("class=\"quoted\""), "{question}");
        assert!(!question.contains(HOSTILE) && !question.contains('\u{202e}') && !question.contains('\u{1b}'));
        browser.pressed(&question, "No", &[]);
        questions += 1;
    }
    assert!(questions >= 2, "{questions}");
}
