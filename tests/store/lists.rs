//! Tests of the validators of a project's lists, and of writes that change nothing.

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::lists::{self, List};
use mcpkg_store::projects::Selection;
use mcpkg_store::revisions::{self, Kind};
use mcpkg_store::{events, projects, prompts};

use crate::support::Scratch;

fn stamp(context: &Context) -> List {
    let look = |db: &mcpkg_store::Db<'_>| match projects::resolve(db, &context.selection)? {
        Some(project) => lists::validator(db, &project, Kind::Prompt),
        None => Ok(List::EMPTY),
    };
    context.store.read(look).expect("a stamp")
}

fn update(context: &Context, content: &str, description: Option<&str>) -> Result<prompts::Prompt> {
    context.write("prompt.update", "a", |db, project, author| {
        let mut prompt = prompts::get(db, project, "a")?;
        prompt.attributes.description = description.map(str::to_owned);
        prompts::update(db, author, project, prompt, "update", content)
    })
}

#[test]
fn a_lists_validator_changes_when_the_list_does() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    assert_eq!(stamp(&context), List::EMPTY);
    let add = |context: &Context| {
        context.write("prompt.create", "a", |db, project, author| {
            let attributes = prompts::Attributes::default();
            prompts::insert(db, author, project, context.clock.uuid(), "a", attributes, "one")
        })
    };
    add(&context).expect("a prompt");
    let first = stamp(&context);
    assert_ne!(first, List::EMPTY);
    update(&context, "two", None).expect("another text");
    assert_eq!(stamp(&context), first, "no list shows the text");
    update(&context, "two", Some("d")).expect("a description");
    let described = stamp(&context);
    assert_ne!(described, first);
    context
        .write("prompt.delete", "a", |db, project, author| prompts::delete(db, author, project, "a"))
        .expect("it is deleted");
    assert_eq!(stamp(&context), List::EMPTY);
    add(&context).expect("it is made again");
    assert!(![List::EMPTY, first, described].contains(&stamp(&context)));
    // Another project has its own validators, even if it has the name of a deleted one.
    let before = stamp(&context);
    context.store.write(|db| projects::delete(db, "p")).expect("it is deleted");
    let uuid = context.clock.uuid();
    context.store.write(|db| projects::insert(db, uuid, "p", 1).map(drop)).expect("a project");
    let named = Context { selection: Selection { named: Some("p".to_owned()), ..Selection::default() }, ..context };
    assert_eq!(stamp(&named), List::EMPTY);
    add(&named).expect("a prompt");
    assert_ne!(stamp(&named), before);
}

#[test]
fn a_write_that_changes_nothing_adds_no_revision_and_no_event() {
    let scratch = Scratch::with_project_here();
    let context = scratch.context();
    context
        .write("prompt.create", "a", |db, project, author| {
            let attributes = prompts::Attributes::default();
            prompts::insert(db, author, project, context.clock.uuid(), "a", attributes, "one")
        })
        .expect("a prompt");
    let look = || {
        let read = context.read(|db, project| {
            let prompt = prompts::get(db, project, "a")?;
            let kept = revisions::last(db, project.id, Kind::Prompt, "a", 9)?.len();
            Ok((prompt.revision, prompt.updated_at, kept, events::newest(db)?))
        });
        read.expect("it is there")
    };
    let before = look();
    assert_eq!(update(&context, "one", None).expect("the same").revision, 1);
    assert_eq!(look(), before);
    assert_eq!(update(&context, "two", None).expect("another").revision, 2);
    assert_ne!(look(), before);
}
