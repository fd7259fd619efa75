//! `propose_workflow`, `mcpkg draft add`: stores a proposed workflow for a person to approve.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::kept::{Kept, base_at, base_of};
use super::said::Said;
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::WORKFLOWS;
use crate::saved::model::{self, Model};
use crate::text::argument::{Object, Text, object, text};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex::tail;
use mcpkg_base::redact::holds_token;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Rate, Reply, Shape};
use mcpkg_store::Db;
use mcpkg_store::drafts::{self, Base};
use mcpkg_store::projects::Project;
use mcpkg_store::workflows;

/// Propose a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// The workflow's text, YAML or JSON
    #[arg(value_name = "FILE", value_parser = text, required_unless_present = "draft")]
    yaml: Option<Text>,
    /// The workflow as an object, instead of text
    #[arg(long, value_name = "FILE", value_parser = object, conflicts_with = "yaml")]
    draft: Option<Object>,
    /// Reason for the change
    #[arg(long, short, value_name = "TEXT", allow_hyphen_values = true)]
    message: Option<String>,
    /// Workflow that the draft replaces; omit this for a new workflow
    #[arg(long, value_name = "NAME", add = WORKFLOWS)]
    replaces: Option<String>,
    /// Revision that the draft is based on
    #[arg(long, value_name = "N", requires = "replaces")]
    revision: Option<i64>,
}

impl Operation for Add {
    const TOOL: &'static str = "propose_workflow";
    const CLI: &'static [&'static str] = &["draft", "add"];
    const TITLE: &'static str = "Propose a workflow";
    const ABOUT: &'static str = "Propose a new or changed workflow for a person to approve";
    const USER_WORDS: &'static str = "Save a workflow";
    const HELP: &'static str = "FILE is a YAML or JSON file, or - for standard input. mcpkg keeps a YAML text as it is, and stores \
        JSON as canonical YAML. A person reviews the draft with `mcpkg draft show` and `mcpkg draft diff`, and decides with `mcpkg draft approve` or `mcpkg \
        draft reject`. Proposing a draft does not run it.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg draft add app_with_db.yaml -m 'Creates an app with its database'",
        "mcpkg draft add smaller.yaml --replaces app_with_db",
    ];
    const EFFECT: Effect = Effect::Create;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const ALWAYS_LISTED: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.replaces.clone().unwrap_or_default()
    }

    fn run(mut self, context: &Context) -> Result<Reply> {
        model::check_message(self.message.as_deref())?;
        let (yaml, draft) = (self.yaml.take(), self.draft.take());
        let text = match (yaml, draft) {
            (Some(text), None) => text.read()?,
            (None, Some(draft)) => Value::Object(draft.read_draft()?).to_string(),
            _ => return Err(Error::new(Code::InvalidArgument, "Pass either `yaml` or `draft`")),
        };
        let said = Said::of(context, as_kept(text)?)?;
        let uuid = context.clock.uuid();
        let kept = context.write("draft.add", &uuid.to_string(), |db, project, author| {
            let base = self.base(db, project, &said.model.name)?;
            let who = (author.actor, author.now);
            if !drafts::insert(db, project.id, uuid, who, self.message.as_deref(), said.stored(base))? {
                return Err(too_many(project));
            }
            let kept = Kept::named(db, project, &uuid.to_string())?;
            // Fail now instead of storing a draft that is already stale.
            kept.unless_stale(db)?;
            Ok(kept)
        })?;
        let sentence = format!("Proposed workflow '{}' in project '{}' as draft {uuid}", kept.draft.name, kept.project);
        let (id, name) = (tail(uuid), &kept.draft.name);
        let of_base = kept.draft.base.map(|base| format!(" (based on revision {})", base.revision)).unwrap_or_default();
        let reply = Reply::sentence(sentence, kept.data()).warn(model::warnings(&said.findings));
        Ok(reply.hint(format!(
            "`mcpkg draft diff {id}` shows the draft's changes to '{name}'{of_base}; approve the draft with `mcpkg draft approve {id}`"
        )))
    }
}

/// Returns the text to store. YAML stays as the author wrote it, with comments and order, because a person reviews it. JSON,
/// which has no comments, becomes canonical YAML.
fn as_kept(text: String) -> Result<String> {
    let model = Model::of(&text)?;
    if text.trim_start().starts_with('{') {
        return model::written(&model.definition);
    }
    // The checks only look for secrets in values, so look for them in comments here.
    let comment = |line: &str| line.find('#').is_some_and(|at| holds_token(&line[at..]));
    match text.lines().position(comment) {
        Some(line) => {
            let what =
                format!("The comment on line {} contains what looks like a secret; nothing was stored", line + 1);
            Err(Error::new(Code::WorkflowInvalid, what))
        }
        None => Ok(text),
    }
}

impl Add {
    /// Returns the operation that proposes this text as a new workflow.
    pub fn of(yaml: String) -> Self {
        Self { yaml: Some(Text::Agent(yaml)), draft: None, message: None, replaces: None, revision: None }
    }

    /// Returns the revision that the draft is based on; `None` for a new workflow.
    fn base(&self, db: &Db<'_>, project: &Project, name: &str) -> Result<Option<Base>> {
        let Some(replaces) = &self.replaces else {
            if workflows::find(db, project.id, name)?.is_some() {
                let what = format!("Workflow '{name}' already exists in project '{}'", project.name);
                return Err(Error::new(Code::AlreadyExists, what)
                    .hint(format!(
                        "to replace it, pass --replaces {name}, and pass the revision that you started from as --revision"
                    ))
                    .with_details(serde_json::json!({ "name": name })));
            }
            return Ok(None);
        };
        let workflow = workflows::get(db, project, replaces)?;
        if name != workflow.name && workflows::find(db, project.id, name)?.is_some() {
            let what = format!("Workflow '{name}' already exists in project '{}'", project.name);
            return Err(Error::new(Code::AlreadyExists, what).with_details(serde_json::json!({ "name": name })));
        }
        match self.revision {
            Some(number) if number != workflow.revision => base_at(db, project, replaces, number).map(Some),
            _ => Ok(Some(base_of(&workflow))),
        }
    }
}

/// Returns the error for too many pending drafts.
fn too_many(project: &Project) -> Error {
    Error::new(Code::TooMany, format!("Project '{}' has reached its limit of pending drafts", project.name))
        .hint("a person can list the drafts with `mcpkg draft list`, and decide with `mcpkg draft approve` or `mcpkg draft reject`")
}
