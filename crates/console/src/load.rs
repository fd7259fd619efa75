//! Maps each [`Place`] to the function that builds its screen.

use mcpkg_base::disk;
use mcpkg_base::error::{Code, Result};
use mcpkg_core::op::Context;

use crate::form::Form;
use crate::place::{Choice, Part, Place, ROOTS};
use crate::screen::{Body, Line, Screen};
use crate::survey::{self, Survey};
use crate::{
    answers, ask, consent, content, deploy, draft, editor, feed, health, inbox, keys, lists, palette, proposal, run,
    sessions, snapshots, workflows,
};

/// Builds the screen of a place. If there is no project, a top-level screen says how to select one. If there is no
/// folder to deploy to, the screen says so instead of failing.
pub fn load(place: &Place, context: &Context, part: &Part) -> Result<Screen> {
    let root = ROOTS.iter().find(|(_, _, root)| root == place);
    match (built(place, context, part), root) {
        (Err(error), Some((_, name, _))) if error.code() == Code::NoProject => {
            let how = Line::plain("All > project lists the projects").then_keys(": a selects one, + creates one");
            Ok(Screen::text(format!("{name}: no project"), vec![Line::plain("No project is selected."), how]))
        }
        // Without a home folder, `E_ROOT_REQUIRED` has another reason.
        (Err(error), _) if error.code() == Code::RootRequired && disk::home().is_ok() => Ok(deploy::nowhere()),
        (built, _) => built,
    }
}

fn built(place: &Place, context: &Context, part: &Part) -> Result<Screen> {
    let view = part.view;
    match place {
        Place::Inbox => inbox::screen(context, Some(&Survey::new(context))),
        Place::Feed => feed::screen(context, part, &[]),
        Place::Marked(runs) => feed::screen(context, part, runs),
        Place::Content => content::screen(context, part),
        Place::New => Ok(content::new(context)),
        Place::Deploy => deploy::screen(context, &Choice::default(), view),
        Place::Chosen(choice) => deploy::screen(context, choice, view),
        Place::Sessions => sessions::screen(context),
        Place::Workflows => workflows::screen(context, part),
        Place::All => lists::all(context),
        Place::Health => health::screen(context),
        Place::Consent(id) => consent::screen(context, id),
        Place::Answers(id) => answers::screen(context, id),
        Place::Sync => survey::screen(context),
        Place::Audit(project) => survey::audited(context, project),
        Place::Draft(id) => draft::screen(context, id),
        Place::DraftDiff(id, out) => draft::diff(context, id, out),
        Place::Editor(text) => editor::screen(context, text),
        Place::Prompt(name) => content::prompt(context, name, view),
        Place::ItemDiff(noun, name, revisions) => content::diff(context, noun, name, *revisions),
        Place::History(noun, name) => content::history(context, noun, name),
        Place::Resource(uri) => content::resource(context, uri, view),
        Place::Skill(name) => content::skill(context, name, view),
        Place::File(path) => deploy::file(context, path),
        Place::Proposal(id, out) => proposal::screen(context, id, out),
        Place::Snapshots => snapshots::screen(context),
        Place::Snapshot(id) => snapshots::snapshot(context, id),
        Place::Workflow(name) => workflows::workflow(context, name),
        Place::Plan(name) => workflows::plan(context, name),
        Place::Run(id) => run::screen(context, id),
        Place::List(words) => lists::list(context, words, part),
        Place::Shown(noun, name) => lists::shown(context, noun, name),
        Place::Event(seq) => feed::event(context, *seq),
        Place::Ask(about) => ask::screen(context, about.as_ref()),
        Place::Form(words) => form(Form::of(context, words)?),
        Place::Filled(words, name) => form(Form::of(context, words)?.filled(name)),
        Place::Verbs(noun, name) => lists::verbs(context, noun, name),
        Place::Undo(undo) => feed::undo(context, undo),
        Place::Palette => palette::screen(context, part),
        Place::Help => Ok(keys::screen(&[])),
        Place::Printed => Ok(Screen::text("", Vec::new())),
    }
}

fn form(form: Form) -> Result<Screen> {
    let title = format!("mcpkg {}", form.words);
    Ok(Screen::of(title, Body::Form(form)))
}
