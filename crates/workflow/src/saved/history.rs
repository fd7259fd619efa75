//! `mcpkg workflow history`, `diff` and `restore`: list, compare and restore the revisions of a workflow.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::model::{self, Model};
use super::{approval, changes, data};
use crate::answer::VERSION;
use crate::completions::WORKFLOWS;
use crate::text::argument::{Text, text};
use crate::{GROUP, answer};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::diff;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape, Table, cell};
use mcpkg_store::workflows::{self, Revision};

/// Show the revisions of a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct History {
    /// Name of the workflow, even if the workflow was deleted
    #[arg(add = WORKFLOWS)]
    name: String,
}

impl Operation for History {
    const TOOL: &'static str = "workflow_history";
    const CLI: &'static [&'static str] = &["workflow", "history"];
    const TITLE: &'static str = "History of a workflow";
    const ABOUT: &'static str = "Show the revisions of a workflow, newest first";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workflow history app_with_db"];
    const ALIASES: &'static [&'static str] = &["log"];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("revisions");
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let revisions = context.read(|db, project| {
            let revisions = workflows::history(db, project.id, &self.name)?;
            if revisions.is_empty() { Err(workflows::missing(db, project, &self.name)) } else { Ok(revisions) }
        })?;
        let row = |revision: &Revision| {
            let action = match revision.restored {
                Some(from) => format!("{} of {from}", revision.action),
                None => revision.action.clone(),
            };
            vec![
                revision.number.to_string(),
                action,
                revision.name.clone(),
                revision.size.to_string(),
                rfc3339(revision.at),
                revision.actor.clone(),
                revision.message.as_deref().map(|message| cell(message).into_owned()).unwrap_or_default(),
            ]
        };
        let table = Table {
            columns: &["REVISION", "ACTION", "NAME", "BYTES", "AT", "BY", "WHY"],
            rows: revisions.iter().map(row).collect(),
            empty: String::new(),
        };
        let data = revisions.iter().map(answer::data).collect::<Result<Vec<_>>>()?;
        Ok(Reply::new(Body::Table(table), json!({ "revisions": data })))
    }
}

/// Compare two revisions of a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Diff {
    /// Name of the workflow, even if the workflow was deleted
    #[arg(add = WORKFLOWS)]
    name: String,
    /// Revision to compare from [default: the second newest]
    from: Option<i64>,
    /// Revision to compare to [default: the newest]
    to: Option<i64>,
    /// Compare the newest revision, or FROM, with this text
    #[arg(long, value_name = "FILE", value_parser = text, conflicts_with = "to")]
    with: Option<Text>,
}

impl Operation for Diff {
    const TOOL: &'static str = "workflow_diff";
    const CLI: &'static [&'static str] = &["workflow", "diff"];
    const TITLE: &'static str = "Compare revisions of a workflow";
    const ABOUT: &'static str = "Show the last change of a workflow, or compare two revisions";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow diff app_with_db",
        "mcpkg workflow diff app_with_db 1 3",
        "mcpkg workflow diff app_with_db --with app.yaml",
    ];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let name = &self.name;
        let sides = context.read(|db, project| {
            let newest = workflows::last(db, project.id, name, 2)?;
            let Some(last) = newest.first() else { return Err(workflows::missing(db, project, name)) };
            let side = |number| {
                let revision = workflows::revision(db, project, name, number)?;
                Ok::<_, Error>((model::stored(db, revision.blob)?, Some(revision.number)))
            };
            if let Some(text) = &self.with {
                return Ok(Some((side(self.from.unwrap_or(last.number))?, (text.read()?, None))));
            }
            let Some(from) = self.from.or(newest.get(1).map(|revision| revision.number)) else { return Ok(None) };
            Ok(Some((side(from)?, side(self.to.unwrap_or(last.number))?)))
        })?;
        let Some(((old, from), (new, to))) = sides else {
            let sentence = format!("Workflow '{name}' has only one revision");
            let data = json!({ "name": name, "same": true, "diff": "", "hunks": [], "changes": [] });
            return Ok(Reply::sentence(sentence, data));
        };
        let side = |number: Option<i64>| number.map_or_else(|| name.clone(), |number| format!("{name} {number}"));
        let text = diff::unified(&old, &new, &side(from), &side(to));
        let changes = changes::of_texts(&old, &new);
        let data = json!({
            "name": name, "from": from, "to": to, "same": text.is_empty(), "diff": text,
            "hunks": diff::hunks(&old, &new), "changes": changes,
            "summary": changes.iter().flatten().map(ToString::to_string).collect::<Vec<_>>(),
        });
        Ok(Reply::new(changes::body(text, &changes), data))
    }
}

/// Bring back a revision of a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Restore {
    /// Name of the workflow, even if the workflow was deleted
    #[arg(add = WORKFLOWS)]
    name: String,
    /// Revision to restore [default: list the newest revisions]
    revision: Option<i64>,
}

impl Operation for Restore {
    const TOOL: &'static str = "restore_workflow";
    const CLI: &'static [&'static str] = &["workflow", "restore"];
    const TITLE: &'static str = "Restore a workflow";
    const ABOUT: &'static str = "Restore an earlier revision of a workflow, even if the workflow was deleted";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg workflow restore app_with_db", "mcpkg workflow restore app_with_db 2"];
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
        let Some(number) = self.revision else { return Err(which(context, &self.name)?) };
        let (workflow, project, text) = context.write("workflow.restore", &self.name, |db, project, author| {
            let revision = workflows::revision(db, project, &self.name, number)?;
            // A workflow that exists keeps its name, even if it had another name in that revision.
            let live = workflows::by_uuid(db, project.id, revision.item);
            let name = match live {
                Ok(Some(live)) => live.name,
                Err(error) if error.code() != Code::Damaged => return Err(error),
                _ => self.name.clone(),
            };
            let text = model::stored(db, revision.blob)?;
            let text = if revision.name == name { text } else { model::renamed(&text, &name)? };
            let model = Model::of(&text)?;
            let workflow = workflows::restore(db, author, project, &revision, model.stored(&text))?;
            Ok((workflow, project.name.clone(), text))
        })?;
        approval::approve(context, &project, &workflow.name, &text)?;
        let sentence = format!(
            "Restored workflow '{}' in project '{project}' from revision {number} as revision {}",
            workflow.name, workflow.revision
        );
        Ok(Reply::sentence(sentence, data(&project, &workflow)))
    }
}

/// Returns the error for a restore that names no revision. It lists the newest revisions.
fn which(context: &Context, name: &str) -> Result<Error> {
    const SHOWN: usize = 5;
    let newest = context.read(|db, project| {
        let newest = workflows::last(db, project.id, name, SHOWN)?;
        if newest.is_empty() { Err(workflows::missing(db, project, name)) } else { Ok(newest) }
    })?;
    let error = Error::new(Code::InvalidArgument, format!("Specify the revision of workflow '{name}' to restore"));
    let error = newest.iter().fold(error, |error, revision| {
        error.hint(format!("{}: {}, {}, by {}", revision.number, revision.action, rfc3339(revision.at), revision.actor))
    });
    Ok(error.hint(format!(
        "list the revisions with `mcpkg workflow history {name}`, then run `mcpkg workflow restore {name} REVISION`"
    )))
}
