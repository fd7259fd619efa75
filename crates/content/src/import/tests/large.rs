//! Tests imports of more files than one short transaction can store.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tokio_util::sync::CancellationToken;

use super::*;
use mcpkg_store::backup::Progress;
use mcpkg_store::search;

const FILES: usize = 2100;

fn world() -> World {
    let world = World::new();
    for n in 0..FILES {
        world.file(&format!("docs/{}/f{n}.md", n % 7), format!("# File {n}\n"));
    }
    world
}

/// Opens the same database a second time, like another user.
fn beside(world: &World) -> Context {
    let store = Store::open(&world.folder.path().join("db/mcpkg.db")).unwrap();
    Context::shell(mcpkg_core::op::Domains::NONE, store, Selection::default())
}

fn create(context: &Context, name: &str) {
    let made = context.write("prompt.create", name, |db, project, author| {
        prompts::insert(db, author, project, context.clock.uuid(), name, prompts::Attributes::default(), "beside")
            .map(drop)
    });
    made.unwrap();
}

/// Checks that the database is sound, and returns the number of contents in it.
fn contents(world: &World) -> usize {
    let found = world.context.store.inspect(&Progress::new(&|_, _| {}, &CancellationToken::new())).unwrap();
    assert_eq!(found.faults().collect::<Vec<_>>(), [""; 0]);
    found.verified as usize
}

/// Returns how many items a search for `word` finds, at most ten.
fn found(context: &Context, word: &str) -> usize {
    context.store.read(|db| search::find(db, None, &[word], 10, |_, _| Ok(()))).unwrap().len()
}

#[test]
fn others_can_write_and_compact_during_a_large_import() {
    let mut world = world();
    let (other, calls) = (beside(&world), Arc::new(AtomicUsize::new(0)));
    let counted = Arc::clone(&calls);
    world.context.progress = Arc::new(move |doing, done, _| {
        if doing == "Indexing" && done == 1000 {
            // Compacting also deletes the words that were indexed so far, so the import has to index them again.
            other.store.compact().unwrap();
        }
        if doing == "Storing" {
            let call = counted.fetch_add(1, Ordering::Relaxed);
            create(&other, &format!("beside-{call}"));
            // Nothing refers to the content that was stored so far, so compacting deletes it, and the import has to store it
            // again.
            other.store.compact().unwrap();
        }
    });
    world.import(&[], &["docs"]).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), FILES.div_ceil(1000));
    let items = world.items();
    assert_eq!(items.len(), FILES + FILES.div_ceil(1000));
    assert_eq!(world.resource("file:///0/f7.md").1, b"# File 7\n");
    assert_eq!((found(&world.context, "file"), found(&world.context, "2099")), (10, 1));
    contents(&world);
    let trail = world.trail();
    assert_eq!(trail.iter().filter(|line| *line == "import ok").count(), 1, "{trail:?}");
}

#[test]
fn words_are_found_only_after_the_import() {
    let mut world = world();
    let (other, calls) = (beside(&world), Arc::new(AtomicUsize::new(0)));
    create(&other, "file");
    let counted = Arc::clone(&calls);
    world.context.progress = Arc::new(move |doing, _, _| {
        if doing == "Indexing" {
            create(&other, &format!("file-{}", counted.fetch_add(1, Ordering::Relaxed)));
        }
        if doing == "Writing" {
            assert_eq!(found(&other, "file"), 4, "what others wrote, and nothing else");
        }
    });
    world.import(&[], &["docs"]).unwrap();
    assert_eq!(calls.load(Ordering::Relaxed), 3);
    assert_eq!((found(&world.context, "file"), found(&world.context, "2099")), (10, 1));
    contents(&world);
    world.context.progress = Arc::new(|_, _, _| {});
    world.file("docs/0/f7.md", "# Something else\n");
    world.import(&["--update"], &["docs"]).unwrap();
    assert_eq!(found(&world.context, "something"), 1);
    contents(&world);
}

#[test]
fn a_name_that_others_take_meanwhile_fails_the_whole_import() {
    let mut world = world();
    let other = beside(&world);
    world.file("docs/.claude/commands/c.md", "Do it");
    world.context.progress = Arc::new(move |doing, done, _| {
        if doing == "Storing" && done == 0 {
            create(&other, "c");
        }
    });
    let error = world.import(&[], &["docs"]).unwrap_err();
    assert_eq!(error.code(), Code::ImportConflict, "{error}");
    assert_eq!(world.items().len(), 1, "only what the other wrote is there");
    assert_eq!(contents(&world), 1, "what was stored for the import was taken back");
}

#[test]
fn a_cancelled_large_import_leaves_nothing() {
    for step in ["Storing", "Indexing", "Writing"] {
        let mut world = world();
        let cancelled = world.context.cancelled.clone();
        world.context.progress = Arc::new(move |doing, done, _| {
            if doing == step && done > 0 {
                cancelled.cancel();
            }
        });
        let error = world.import(&[], &["docs"]).unwrap_err();
        assert_eq!(error.code(), Code::Cancelled, "{error}");
        assert_eq!((world.items().len(), contents(&world), found(&world.context, "file")), (0, 0, 0), "{step}");
    }
}

#[test]
fn an_import_without_changes_writes_nothing() {
    let world = World::new();
    world.file("docs/a.md", "a").file(".mcp.json", r#"{"mcpServers": {"s": {"command": "s"}}}"#);
    world.import(&[], &[""]).unwrap();
    let trail = world.trail();
    let mut again = beside(&world);
    again.store = again.store.reading();
    let reading = World { folder: world.folder, context: again };
    let reply = reading.import(&[], &[""]).unwrap();
    assert!(sentence_of(&reply).contains("unchanged"), "{}", sentence_of(&reply));
    assert_eq!(reading.trail(), trail);
}
