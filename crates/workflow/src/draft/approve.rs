//! `mcpkg draft approve`: a person at a terminal turns a draft into a revision of the workflow.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::kept::{Kept, overtaken, shown};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::DRAFTS;
use crate::finding::Finding;
use crate::saved::model::{self, Model};
use crate::saved::{approval, changes, data};
use mcpkg_base::diff;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex::tail;
use mcpkg_core::note;
use mcpkg_core::op::{Body, Changes, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::drafts::{self, Decision};
use mcpkg_store::workflows::{self, Action, Change, Workflow};

/// Approve a draft
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Approve {
    /// Id of the draft, or a unique suffix of the id
    #[arg(add = DRAFTS)]
    id: String,
    /// Save only these hunks of the change, as `mcpkg draft diff` numbers them
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    #[serde(default)]
    hunks: Vec<usize>,
    /// What to tell the agent that proposed it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    note: Option<String>,
}

impl Operation for Approve {
    const TOOL: &'static str = "approve_draft";
    const CLI: &'static [&'static str] = &["draft", "approve"];
    const TITLE: &'static str = "Approve a draft";
    const ABOUT: &'static str = "Approve a draft as a new workflow, or as the newest revision of an existing one";
    const HELP: &'static str = "Shows what the draft changes and asks you to confirm. You need a terminal to confirm; --yes cannot \
        skip the question. mcpkg refuses a draft that has errors. mcpkg also refuses a draft if its workflow has changed since the \
        draft was made. In both cases, fix the draft with `mcpkg draft edit`. With --hunks, only a part of the change \
        is saved, and the draft counts as approved. Approving a draft does not run it.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg draft list",
        "mcpkg draft approve 3f2a1b4c5d6e",
        "mcpkg draft approve 3f2a1b4c5d6e --note 'thanks; next time use a smaller plan'",
    ];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::TOOLS;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.id.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if context.confirmation != Confirmation::Ask {
            let what = "Only a person at a terminal can approve a draft; --yes cannot skip this confirmation";
            return Err(Error::new(Code::TerminalRequired, what).hint("run the command at a terminal, without --yes"));
        }
        let note = note::checked(self.note.as_deref())?;
        let kept = context.read(|db, project| {
            let kept = Kept::waiting(db, project, &self.id)?;
            kept.unless_stale(db)?;
            Ok(kept)
        })?;
        let kept = self.in_part(kept)?;
        let (model, checked) = Model::checked(context, &kept.text)?;
        if checked.sound.is_none() {
            let error = model::faulty(&format!("Draft {}", kept.draft.uuid), &checked.findings);
            return Err(error.hint(format!("fix the draft with `mcpkg draft edit {}`", tail(kept.draft.uuid))));
        }
        let number = kept.draft.base.map_or(1, |base| base.revision + 1);
        let note = note.map(|note| format!(" Your note: {}", note::quoted(note))).unwrap_or_default();
        let question = format!("Save the draft as revision {number} of workflow '{}'?{note}", kept.draft.name);
        (context.ask)(preview(&kept, &checked.findings), &question)?;
        let workflow = self.take(context, &kept, &model)?;
        approval::approve(context, &kept.project, &workflow.name, &kept.text)?;
        let sentence = format!(
            "Approved draft {}: workflow '{}' of project '{}' is at revision {}",
            kept.draft.uuid, workflow.name, kept.project, workflow.revision
        );
        let mut data = data(&kept.project, &workflow);
        if !self.hunks.is_empty() {
            data["hunks"] = json!(self.hunks);
        }
        Ok(Reply::sentence(sentence, data))
    }
}

impl Approve {
    /// Returns the draft with only the hunks that the person chose, or the whole draft if they chose none.
    fn in_part(&self, kept: Kept) -> Result<Kept> {
        if self.hunks.is_empty() {
            return Ok(kept);
        }
        if kept.draft.base.is_none() {
            return Err(Error::new(Code::InvalidArgument, "A new workflow can only be approved as a whole"));
        }
        Ok(Kept { text: diff::only(&kept.base, &kept.text, &self.hunks)?, ..kept })
    }

    /// Stores the draft as a revision, if it is still the draft that the person was shown.
    fn take(&self, context: &Context, shown: &Kept, model: &Model) -> Result<Workflow> {
        let id = shown.draft.uuid.to_string();
        context.write("draft.approve", &id, |db, project, author| {
            let kept = Kept::waiting(db, project, &id)?;
            kept.unless_stale(db)?;
            let is_shown = (kept.draft.blob, kept.draft.base) == (shown.draft.blob, shown.draft.base);
            let note = note::checked(self.note.as_deref())?;
            let decision = Decision { approved: true, actor: author.actor, now: author.now, note };
            if !is_shown || !drafts::decide(db, kept.draft.uuid, shown.draft.blob, decision)? {
                return Err(overtaken(kept.draft.uuid));
            }
            let message = kept.draft.message.as_deref();
            let change = |action| Change { message, draft: Some(kept.draft.uuid), ..Change::plain(action) };
            let new = model.stored(&shown.text);
            match (&kept.draft.base, &kept.now) {
                (Some(_), Some(now)) => workflows::update(db, author, project, now, new, change(Action::Update)),
                _ => workflows::insert(db, author, project, context.clock.uuid(), new, change(Action::Create)),
            }
        })
    }
}

/// Returns what a person sees before deciding: proposer, reason, changes and findings.
fn preview(kept: &Kept, findings: &[Finding]) -> Body {
    let diff = changes::body(shown(&kept.diff()), &kept.changes());
    let found = model::lines(findings).into_iter().map(|line| line + "\n").collect::<String>();
    Body::Several(vec![Body::Text(kept.head() + "\n"), diff, Body::Text(shown(&found))])
}
