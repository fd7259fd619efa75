//! Tests of access keys: which keys are accepted, and what happens to keys when projects and databases change.

use mcpkg_base::clock::Clock;
use mcpkg_base::error::Code;
use mcpkg_core::access::{Grant, Refused, required, verify};
use mcpkg_core::op::Context;
use mcpkg_core::op::Holder;
use mcpkg_store::access;
use mcpkg_store::page::Page;
use serde_json::{Value, json};

use crate::support::Scratch;

const DAY: i64 = 86_400_000;

fn context(scratch: &Scratch) -> Context {
    Context { clock: Clock::fixed(1_000_000), ..scratch.context() }
}

fn run(context: &Context, command: &[&str], arguments: Value) -> mcpkg_base::error::Result<Value> {
    let entry = mcpkg::DOMAINS.operations().find(|entry| entry.cli == command).expect("an operation");
    Ok(entry.from_agent(arguments)?.run(context)?.data)
}

fn create(context: &Context, arguments: Value) -> String {
    let made = run(context, &["access", "create"], arguments).expect("a key");
    made["key"].as_str().expect("the key").to_owned()
}

fn ask(context: &Context, key: &str) -> Result<Grant, Refused> {
    context.store.read(|db| verify(db, context.clock.now(), key)).expect("the database answers")
}

fn states(context: &Context) -> Vec<String> {
    let listed = run(context, &["access", "list"], json!({})).expect("a list");
    let keys = listed["keys"].as_array().expect("keys").iter();
    keys.map(|key| format!("{} {}", key["name"], key["state"]).replace('"', "")).collect()
}

#[test]
fn a_key_is_accepted_until_it_expires_or_is_revoked() {
    let scratch = Scratch::with_project_here();
    let context = context(&scratch);
    let asked = |context: &Context| context.store.read(required).expect("an answer");
    assert!(!asked(&context));
    let (ever, day) =
        (create(&context, json!({ "name": "ever" })), create(&context, json!({ "name": "day", "expires": "1d" })));
    assert!(asked(&context));
    let grant = ask(&context, &ever).expect("it is let in");
    assert_eq!(
        grant,
        Grant {
            holder: Holder::Key("ever".to_owned()),
            project: None,
            project_name: None,
            read_only: false,
            consent: false,
            publish: Vec::new(),
            attest: false,
            execute: false,
            expires_at: None
        }
    );
    context.clock.advance(DAY - 1);
    assert_eq!(ask(&context, &day).map(|grant| grant.holder), Ok(Holder::Key("day".to_owned())));
    context.clock.advance(1);
    assert_eq!(ask(&context, &day), Err(Refused::Expired));
    run(&context, &["access", "revoke"], json!({ "name": "ever" })).expect("it is revoked");
    assert_eq!(ask(&context, &ever), Err(Refused::Revoked));
    assert_eq!(states(&context), ["day expired", "ever revoked"]);
    // No key is accepted now, but one is still required.
    assert!(asked(&context));
}

#[test]
fn malformed_keys_and_keys_of_another_database_are_refused() {
    let scratch = Scratch::with_project_here();
    let context = context(&scratch);
    let key = create(&context, json!({ "name": "a" }));
    let other = create(&context, json!({ "name": "b" }));
    let of_another = create(&self::context(&Scratch::with_project_here()), json!({ "name": "a" }));
    let mixed = format!("{}{}", &key[..19], &other[19..]);
    let mut flipped = key.clone();
    flipped.replace_range(key.len() - 1.., if key.ends_with('0') { "1" } else { "0" });
    assert_eq!(ask(&context, ""), Err(Refused::Missing));
    for bad in ["x", "Bearer", &key[1..], &format!("{key} "), &format!("{key}\0"), &key.to_uppercase(), "mcpkg_é_é"] {
        assert_eq!(ask(&context, bad), Err(Refused::Malformed), "{bad:?}");
    }
    for wrong in [&of_another, &mixed, &flipped] {
        assert_eq!(ask(&context, wrong), Err(Refused::Unknown), "{wrong}");
    }
    // Without the secret, the answer does not reveal that the key was revoked.
    run(&context, &["access", "revoke"], json!({ "name": "a" })).expect("it is revoked");
    assert_eq!(ask(&context, &flipped), Err(Refused::Unknown));
}

#[test]
fn a_key_of_a_project_follows_it_and_reaches_nothing_once_it_is_deleted() {
    let scratch = Scratch::with_project_here();
    let mut context = context(&scratch);
    context.selection.named = Some("p".to_owned());
    let key = create(&context, json!({ "name": "of-p", "read_only": true }));
    context.selection.named = None;
    let grant = ask(&context, &key).expect("it is let in");
    assert_eq!((grant.project_name.as_deref(), grant.read_only), (Some("p"), true));
    run(&context, &["project", "rename"], json!({ "name": "p", "to": "q" })).expect("a new name");
    assert_eq!(ask(&context, &key).map(|grant| grant.project_name), Ok(Some("q".to_owned())));
    run(&context, &["project", "delete"], json!({ "name": "q" })).expect("it is deleted");
    assert_eq!(ask(&context, &key), Err(Refused::ProjectGone));
    assert_eq!(states(&context), ["of-p project gone"]);
    assert!(context.store.read(required).expect("an answer"));
    // Another project with the same name is a different project.
    for name in ["p", "q"] {
        run(&context, &["project", "create"], json!({ "name": name })).expect("a project");
    }
    assert_eq!(ask(&context, &key), Err(Refused::ProjectGone));
    context.selection.named = Some("nowhere".to_owned());
    let error = run(&context, &["access", "create"], json!({ "name": "b" })).expect_err("no project");
    assert_eq!(error.code(), Code::NotFound);
}

#[test]
fn names_of_keys_are_never_reused_and_lists_have_pages() {
    let scratch = Scratch::with_project_here();
    let context = context(&scratch);
    for name in ["c", "a", "b"] {
        create(&context, json!({ "name": name }));
    }
    run(&context, &["access", "revoke"], json!({ "name": "b" })).expect("it is revoked");
    let error = run(&context, &["access", "create"], json!({ "name": "b" })).expect_err("it is taken");
    assert_eq!((error.code(), error.message()), (Code::AlreadyExists, "Access key 'b' already exists"));
    context
        .store
        .read(|db| {
            let first = access::list(db, &Page::first(2))?;
            assert!(first.more);
            assert_eq!(first.rows.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
            let rest = access::list(db, &Page { after: "b".to_owned(), limit: 2 })?;
            assert_eq!((rest.rows.len(), rest.more), (1, false));
            assert!(access::get(db, &first.rows[1].name)?.revoked_at.is_some());
            assert!(access::find(db, "000000000000")?.is_none());
            Ok(())
        })
        .expect("the lists");
}

#[test]
fn the_secret_is_stored_nowhere() {
    let scratch = Scratch::with_project_here();
    let context = context(&scratch);
    let key = create(&context, json!({ "name": "a" }));
    let secret = &key[19..];
    run(&context, &["access", "revoke"], json!({ "name": format!("{key}00") })).expect_err("no such name");
    drop(context);
    for entry in std::fs::read_dir(scratch.path()).expect("the folder") {
        let bytes = std::fs::read(entry.expect("an entry").path()).expect("a file");
        assert!(!bytes.windows(secret.len()).any(|window| window == secret.as_bytes()));
    }
}

#[test]
fn a_rule_that_was_removed_or_narrowed_does_not_come_back_with_a_restore() {
    let scratch = Scratch::with_project();
    let rule = |verb: &str, claim: &str, more: &[&str]| {
        scratch.ok(&[&["access", "rule", verb, "--claim", claim], more].concat());
    };
    for claim in ["groups=a", "groups=b", "groups=c"] {
        rule("add", claim, &[]);
    }
    let twice = scratch.run(&["access", "rule", "add", "--claim", "groups=a", "--read-only"]);
    assert!(twice.status == 1 && twice.stderr.contains("mcpkg access rule remove --claim 'groups=a'"), "{twice}");
    scratch.ok(&["backup", "b.db"]);
    rule("remove", "groups=a", &["--yes"]);
    rule("remove", "groups=b", &["--yes"]);
    rule("add", "groups=b", &["--read-only"]);
    let rules = |scratch: &Scratch| {
        let listed = scratch.json(&["access", "rule", "list"])["rules"].clone();
        let rules = listed.as_array().expect("rules").iter();
        rules.map(|rule| format!("{} {}", rule["claim"], rule["read_only"]).replace('"', "")).collect::<Vec<_>>()
    };
    scratch.ok(&["restore", "b.db", "--yes"]);
    assert_eq!(rules(&scratch), ["groups=b true", "groups=c false"]);
    // A database that never had rules gets those of the backup.
    let other = Scratch::with_project();
    other.ok(&["restore", scratch.path().join("b.db").to_str().expect("UTF-8"), "--yes"]);
    assert_eq!(rules(&other), ["groups=a false", "groups=b false", "groups=c false"]);
}

#[test]
fn a_rule_for_a_project_that_was_deleted_can_be_removed() {
    let scratch = Scratch::with_project();
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["access", "rule", "add", "--claim", "groups=a", "--project", "q"]);
    let missed = scratch.run(&["access", "rule", "remove", "--claim", "groups=a", "--yes"]);
    assert!(missed.status == 1 && missed.stderr.contains("--project q"), "{missed}");
    scratch.ok(&["project", "delete", "q", "--yes"]);
    scratch.ok(&["access", "rule", "remove", "--claim", "groups=a", "--yes"]);
    for claim in ["groups", "=a", "groups=", ""] {
        assert_eq!(scratch.run(&["access", "rule", "add", "--claim", claim]).status, 2, "{claim}");
    }
}
