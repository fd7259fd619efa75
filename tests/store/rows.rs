//! Tests of rows: constraints, cascades, chunks, revisions and transactions.

use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::blobs::Verify;
use mcpkg_store::page::Page;
use mcpkg_store::projects::Project;
use mcpkg_store::revisions::Kind;
use mcpkg_store::{Db, blobs, events, projects, prompts, resources, revisions, search};

use crate::support::Scratch;

fn context(scratch: &Scratch) -> Context {
    Context { clock: Clock::fixed(1_000_000), ..scratch.context() }
}

fn add(context: &Context, name: &str, content: &str) -> Result<prompts::Prompt> {
    context.write("prompt.create", name, |db, project, author| {
        prompts::insert(db, author, project, context.clock.uuid(), name, prompts::Attributes::default(), content)
    })
}

fn add_resource(context: &Context, name: &str, uri: &str, content: &[u8]) -> Result<resources::Resource> {
    context.write("resource.create", name, |db, project, author| {
        let attributes = resources::Attributes {
            uri: uri.to_owned(),
            description: None,
            mime_type: None,
            text: std::str::from_utf8(content).is_ok(),
            executable: false,
        };
        resources::insert(db, author, project, context.clock.uuid(), name, attributes, &content.to_vec().into())
    })
}

#[test]
fn the_constraints_refuse_duplicates() {
    let scratch = Scratch::with_project();
    let context = context(&scratch);
    add(&context, "a", "x").expect("the first");
    let code = |result: Result<prompts::Prompt>| result.expect_err("a duplicate").code();
    assert_eq!(code(add(&context, "a", "y")), Code::AlreadyExists);
    add_resource(&context, "a", "file:///a", b"x").expect("a resource may have a prompt's name");
    for (name, uri, says) in [("a", "file:///b", "Resource 'a' already"), ("b", "file:///a", "URI 'file:///a' already")]
    {
        let error = add_resource(&context, name, uri, b"x").expect_err("a duplicate");
        assert!(error.code() == Code::AlreadyExists && error.message().contains(says), "{error}");
    }
}

#[test]
fn a_resource_is_unchanged_if_nothing_in_it_differs() {
    let scratch = Scratch::with_project();
    let context = context(&scratch);
    let resource = add_resource(&context, "a", "file:///a", b"x").expect("a resource");
    let other = add_resource(&context, "b", "file:///b", b"y").expect("a resource");
    let found = |name: &str, attributes: &resources::Attributes, sha256: &[u8; 32]| {
        let read =
            context.read(|db, project| resources::unchanged(db, project.id, name, attributes, sha256)).expect("read");
        let elsewhere = context.store.read(|db| resources::unchanged(db, -1, name, attributes, sha256));
        assert_eq!(elsewhere.expect("read"), None);
        read
    };
    let resources::Attributes { uri, text, .. } = &resource.attributes;
    let own = || resource.attributes.clone();
    assert_eq!(found("a", &own(), &resource.sha256), Some((resource.id, resource.uuid)));
    assert_eq!(found("b", &own(), &resource.sha256), None);
    assert_eq!(found("c", &own(), &resource.sha256), None);
    assert_eq!(found("a", &own(), &other.sha256), None);
    assert_eq!(found("a", &own(), &[0; 32]), None);
    for different in [
        resources::Attributes { uri: format!("{uri}b"), ..own() },
        resources::Attributes { description: Some(String::new()), ..own() },
        resources::Attributes { mime_type: Some("text/plain".to_owned()), ..own() },
        resources::Attributes { text: !text, ..own() },
        resources::Attributes { executable: true, ..own() },
    ] {
        assert_eq!(found("a", &different, &resource.sha256), None, "{different:?}");
    }
}

#[test]
fn contents_are_stored_once_and_in_pieces() {
    let scratch = Scratch::with_project();
    let context = context(&scratch);
    let big: Vec<u8> = (0..3_500_000_u32).flat_map(|n| n.to_le_bytes()).take(3_400_001).collect();
    let first = add_resource(&context, "a", "file:///a", &big).expect("a resource");
    let second = add_resource(&context, "b", "file:///b", &big).expect("a resource");
    assert_eq!(first.blob, second.blob);
    context
        .store
        .read(|db| {
            assert_eq!(blobs::get(db, first.blob)?, big);
            let mut pieces = Vec::new();
            blobs::stream_by_id(db, first.blob, Verify::Checksum, |piece| {
                pieces.push(piece.len());
                Ok(())
            })?;
            assert_eq!(pieces, [1 << 20, 1 << 20, 1 << 20, 3_400_001 - (3 << 20)]);
            Ok(())
        })
        .expect("they are read");
}

#[test]
fn deleting_a_project_takes_everything_with_it() {
    let scratch = Scratch::with_project();
    let context = context(&scratch);
    let prompt = add(&context, "a", "needle").expect("a prompt");
    add_resource(&context, "r", "file:///r", b"needle too").expect("a resource");
    context.store.write(|db| projects::delete(db, "p")).expect("it is deleted");
    context
        .store
        .read(|db| {
            assert_eq!(search::find(db, None, &["needle"], 10, |_, _| Ok(()))?.len(), 0);
            assert_eq!(blobs::find(db, &b"needle".to_vec().into())?, None, "nothing refers to it");
            assert!(projects::resolve(db, &context.selection)?.is_none(), "nothing is selected");
            assert!(blobs::get(db, prompt.blob).is_err());
            Ok(())
        })
        .expect("it is read");
}

#[test]
fn every_change_keeps_a_revision_and_deletion_is_one() {
    let scratch = Scratch::with_project();
    let context = context(&scratch);
    let project =
        |f: &dyn Fn(&Db<'_>, &Project) -> Result<()>| context.read(|db, project| f(db, project)).expect("a read");
    let prompt = add(&context, "a", "one").expect("a prompt");
    context.clock.advance(-5_000); // the clock may go back
    let prompt = context
        .write("t", "a", |db, project, author| prompts::update(db, author, project, prompt, "update", "two"))
        .expect("an update");
    assert_eq!(prompt.revision, 2);
    context.write("t", "a", |db, project, author| prompts::delete(db, author, project, "a")).expect("a deletion");
    project(&|db, project| {
        let history = revisions::history(db, project.id, Kind::Prompt, "a")?;
        let seen: Vec<_> = history.iter().map(|r| (r.number, r.action.as_str(), r.size)).collect();
        assert_eq!(seen, [(3, "delete", 3), (2, "update", 3), (1, "create", 3)]);
        Ok(())
    });
    let restored = context
        .write("t", "a", |db, project, author| {
            let revision = revisions::get(db, project, Kind::Prompt, "a", 1)?;
            prompts::restore(db, author, project, "a", &revision)
        })
        .expect("a restore");
    assert_eq!((restored.revision, restored.uuid), (4, prompt.uuid));
    project(&|db, project| {
        assert_eq!(blobs::get(db, prompts::get(db, project, "a")?.blob)?, b"one");
        assert_eq!(search::find(db, Some(project.id), &["one"], 9, |_, _| Ok(()))?.len(), 1);
        assert_eq!(search::find(db, Some(project.id), &["two"], 9, |_, _| Ok(()))?.len(), 0);
        Ok(())
    });
}

#[test]
fn a_failed_write_changes_nothing() {
    let scratch = Scratch::with_project();
    let context = context(&scratch);
    let before = context.store.read(events::newest).expect("a place");
    let result: Result<()> = context.write("t", "a", |db, project, author| {
        prompts::insert(db, author, project, context.clock.uuid(), "a", prompts::Attributes::default(), "x")?;
        Err(Error::internal("in the middle"))
    });
    assert!(result.is_err());
    let after = context.store.read(events::newest).expect("a place");
    assert_eq!(before, after);
    let found = context.read(|db, project| prompts::find(db, project.id, "a")).expect("a read");
    assert!(found.is_none());
    add(&context, "a", "x").expect("the connection is good for the next");
}

#[test]
fn pages_are_by_name_and_say_whether_more_follow() {
    let scratch = Scratch::with_project();
    let context = context(&scratch);
    for name in ["c", "a", "b"] {
        add(&context, name, "x").expect("a prompt");
    }
    context
        .read(|db, project| {
            let first = prompts::list(db, project.id, &Page::first(2))?;
            assert_eq!(first.rows.iter().map(|row| row.name.as_str()).collect::<Vec<_>>(), ["a", "b"]);
            assert!(first.more);
            let second = prompts::list(db, project.id, &Page { after: "b".to_owned(), limit: 2 })?;
            assert_eq!((second.rows.len(), second.more), (1, false));
            Ok(())
        })
        .expect("a read");
}
