//! `mcpkg draft edit`: opens a draft in the user's editor. Saving a stale draft bases it on the current revision.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::kept::{Kept, base_of, overtaken};
use super::said::Said;
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::DRAFTS;
use crate::saved::model;
use crate::text::argument::Text;
use mcpkg_base::editor;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex::tail;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::drafts::{self, State};

/// Prefix of the lines above the text that show what has changed since the draft was made.
const TOLD: &str = "#|";

/// Edit a draft
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Edit {
    /// Id of the draft, or a unique suffix of the id
    #[arg(add = DRAFTS)]
    id: String,
    /// Take the new text from this file, instead of opening an editor
    #[arg(long, value_name = "FILE")]
    #[serde(skip)]
    from: Option<PathBuf>,
    /// Edit only if the workflow is at this revision; 0 means that there is none
    #[arg(long, value_name = "N", requires = "from")]
    #[serde(skip)]
    revision: Option<i64>,
}

impl Operation for Edit {
    const TOOL: &'static str = "edit_draft";
    const CLI: &'static [&'static str] = &["draft", "edit"];
    const TITLE: &'static str = "Edit a draft";
    const ABOUT: &'static str = "Edit a draft in $VISUAL or $EDITOR, and show any findings";
    const HELP: &'static str = "If the workflow has changed since the draft was made, the text in the editor begins with lines that \
        show the changes to the workflow. When you delete these lines or edit the text, mcpkg proposes the draft again, based on the \
        workflow's current revision. If you close the editor without editing, the draft does not change.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg draft edit 3f2a1b4c5d6e", "mcpkg draft edit 3f2a1b4c5d6e --from app.yaml"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (kept, told) = context.read(|db, project| {
            let kept = Kept::waiting(db, project, &self.id)?;
            let told = if kept.draft.state == State::Stale { told(&kept, &kept.moved(db)?) } else { String::new() };
            Ok((kept, told))
        })?;
        let uuid = kept.draft.uuid;
        let now = kept.now.as_ref().map_or(0, |now| now.revision);
        if let Some(expected) = self.revision.filter(|expected| *expected != now) {
            let what =
                format!("Workflow '{}' is at revision {now}, not {expected}; nothing was changed", kept.draft.name);
            return Err(Error::new(Code::DraftStale, what)
                .hint(format!("see the workflow with `mcpkg workflow show {}`", kept.draft.name))
                .with_details(json!({ "draft": uuid.to_string(), "revision": now, "expected_revision": expected })));
        }
        let is_same = |text: &str, edited: &[u8]| edited == text.as_bytes();
        let unchanged = || {
            let sentence = format!("Draft {uuid} of workflow '{}' is unchanged", kept.draft.name);
            Ok(Reply::sentence(sentence, kept.data()))
        };
        let (kept, said) = match &self.from {
            Some(path) => {
                let edited = Text::File(path.clone()).read()?.into_bytes();
                if kept.draft.state != State::Stale && is_same(&kept.text, &edited) {
                    return unchanged();
                }
                keep(context, &kept, edited)?
            }
            None => {
                let text = told + &kept.text;
                let hint = "set EDITOR, or propose another text with `mcpkg draft add FILE`";
                let (file, edited) = editor::edit(&kept.draft.name, "yaml", &text, hint)?;
                if is_same(&text, &edited) {
                    return unchanged();
                }
                keep(context, &kept, edited).map_err(|error| editor::keep(file, error))?
            }
        };
        let sentence = format!("Edited draft {uuid} of workflow '{}'", kept.draft.name);
        Ok(Reply::sentence(sentence, kept.data()).warn(model::warnings(&said.findings)))
    }
}

/// Returns the lines that show a person what has changed since the draft was made.
fn told(kept: &Kept, moved: &str) -> String {
    let head = format!("The workflow has changed since this draft was made: {}. The changes are:", now(kept));
    let end = "Delete these lines or edit the text to propose the draft again, based on the current revision.";
    let lines = std::iter::once(head.as_str()).chain(moved.lines()).chain([end]);
    lines.map(|line| format!("{TOLD} {line}\n")).collect()
}

/// Describes the workflow's current state as part of a sentence.
fn now(kept: &Kept) -> String {
    match &kept.now {
        Some(now) => format!("it is now at revision {}", now.revision),
        None => "it was deleted".to_owned(),
    }
}

/// Returns the error for a draft whose workflow changed during the edit, so the person has not seen the change.
fn outdated(kept: &Kept) -> Error {
    let what =
        format!("Workflow '{}' has changed in the meantime: {}; the draft was not edited", kept.draft.name, now(kept));
    let details = json!({
        "draft": kept.draft.uuid.to_string(),
        "revision": kept.now.as_ref().map(|now| now.revision),
    });
    Error::new(Code::DraftStale, what)
        .hint(format!("see the changes and edit the draft again: `mcpkg draft edit {}`", tail(kept.draft.uuid)))
        .with_details(details)
}

/// Stores the edited text, based on the current revision. Fails if, since the editor was opened, the workflow has changed
/// or somebody has edited the draft or decided about it.
fn keep(context: &Context, before: &Kept, edited: Vec<u8>) -> Result<(Kept, Said)> {
    let text = model::given(edited)?;
    let text: String = text.split_inclusive('\n').skip_while(|line| line.starts_with(TOLD)).collect();
    let said = Said::of(context, text)?;
    let id = before.draft.uuid.to_string();
    let kept = context.write("draft.edit", &id, |db, project, author| {
        let kept = Kept::waiting(db, project, &id)?;
        let is_same = (kept.draft.blob, kept.draft.base) == (before.draft.blob, before.draft.base);
        if is_same && kept.now != before.now {
            return Err(outdated(&kept));
        }
        let base = kept.now.as_ref().map(base_of);
        if !is_same || !drafts::edit(db, kept.draft.uuid, before.draft.blob, author.now, said.stored(base))? {
            return Err(overtaken(kept.draft.uuid));
        }
        Kept::named(db, project, &id)
    })?;
    Ok((kept, said))
}
