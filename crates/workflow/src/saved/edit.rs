//! `mcpkg workflow edit`: opens a workflow in the user's editor.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::model::{self, Model};
use super::{approval, data};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::WORKFLOWS;
use crate::finding::{Finding, has_errors};
use mcpkg_base::diff;
use mcpkg_base::editor;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::workflows::{self, Action, Change, Workflow};

/// Edit a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Edit {
    /// Workflow name
    #[arg(add = WORKFLOWS)]
    name: String,
    /// Reason for the change, for the history
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
}

impl Operation for Edit {
    const TOOL: &'static str = "edit_workflow";
    const CLI: &'static [&'static str] = &["workflow", "edit"];
    const TITLE: &'static str = "Edit a workflow";
    const ABOUT: &'static str = "Edit a workflow in $VISUAL or $EDITOR, and show the change and any findings";
    const HELP: &'static str = "mcpkg stores the text exactly as you write it. If mcpkg cannot read the text as a workflow, mcpkg \
        refuses the change and saves your text in a file. mcpkg shows all other findings. If a finding is an error, the workflow does \
        not run, and the exit status is 1. If you close the editor without editing, the workflow does not change. At a terminal, you \
        also approve the text by saving it or leaving it unchanged, so that `mcpkg workflow run NAME --yes` can run the workflow.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg workflow edit app_with_db", "EDITOR=nano mcpkg workflow edit app_with_db -m 'Smaller plan'"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::TOOLS;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        model::check_message(self.message.as_deref())?;
        let (before, text, project) = context.read(|db, project| {
            let workflow = workflows::get(db, project, &self.name)?;
            let text = model::stored(db, workflow.blob)?;
            Ok((workflow, text, project.name.clone()))
        })?;
        let hint = "set EDITOR, or edit an exported file and run `mcpkg workflow import FILE --update`";
        let (file, edited) = editor::edit(&self.name, "yaml", &text, hint)?;
        if edited == text.as_bytes() {
            approval::approve(context, &project, &before.name, &text)?;
            let sentence = format!("Workflow '{}' in project '{project}' is unchanged", self.name);
            return Ok(Reply::sentence(sentence, with(data(&project, &before), &[])));
        }
        let kept = self.keep(context, &before, edited).map_err(|error| editor::keep(file, error))?;
        let (workflow, findings, after) = kept;
        approval::approve(context, &project, &workflow.name, &after)?;
        let sentence = format!("Updated workflow '{}' in project '{project}'", workflow.name);
        let file = format!("{}.yaml", workflow.name);
        let diff = diff::unified(&text, &after, &format!("a/{file}"), &format!("b/{file}"));
        let mut data = with(data(&project, &workflow), &findings);
        data["diff"] = json!(diff);
        let body = Body::Several(vec![Body::Diff(diff), Body::Sentence(sentence)]);
        let reply = Reply { failed: has_errors(&findings), ..Reply::new(body, data) };
        Ok(reply.warn(model::warnings(&findings)))
    }
}

fn with(mut data: Value, findings: &[Finding]) -> Value {
    data["findings"] = json!(findings);
    data
}

impl Edit {
    /// Stores the edited text. Fails if somebody else has changed the workflow since the editor was opened.
    fn keep(&self, context: &Context, before: &Workflow, edited: Vec<u8>) -> Result<(Workflow, Vec<Finding>, String)> {
        let text = model::given(edited)?;
        let (model, checked) = Model::checked(context, &text)?;
        let findings = checked.findings;
        model::without_secrets(&findings)?;
        if model.name != before.name {
            let what = format!("The text names workflow '{}' instead of '{}'", model.name, before.name);
            let how = format!("rename the workflow with `mcpkg workflow rename {} {}`", before.name, model.name);
            return Err(Error::new(Code::InvalidArgument, what).hint(how));
        }
        let workflow = context.write("workflow.edit", &self.name, |db, project, author| {
            let current = workflows::get(db, project, &self.name)?;
            if current.revision != before.revision {
                let what = format!("Somebody else changed workflow '{}' while you edited it", self.name);
                return Err(Error::new(Code::EditorFailed, format!("{what}; nothing was changed"))
                    .hint(format!("`mcpkg workflow show {}` shows the other change", self.name)));
            }
            let change = Change { message: self.message.as_deref(), ..Change::plain(Action::Update) };
            workflows::update(db, author, project, &current, model.stored(&text), change)
        })?;
        Ok((workflow, findings, text))
    }
}
