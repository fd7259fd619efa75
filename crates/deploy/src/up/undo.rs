//! `mcpkg up --undo`: restores the files that were deployed to the folder, and disconnects the agents that `mcpkg up`
//! connected there.

use std::sync::Arc;

use serde_json::json;

use super::wish;
use crate::operations::rollback::Rollback;
use crate::plan::changes_json;
use crate::plan::show;
use crate::rollback::goal::{Goal, PRISTINE};
use crate::rollback::plan::RollbackPlan;
use crate::source::Choice;
use mcpkg_agents::client::connections;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_base::shell::quote;
use mcpkg_core::op::{Body, Context, Operation, Reply};
use mcpkg_store::projects;

/// The maximum number of files that the question lists.
const MANY: usize = 20;

pub(super) fn undo(context: &Context, what: Option<&str>, dry_run: bool) -> Result<Reply> {
    let (folder, _) = wish::folder(context, what)?;
    let bound = wish::stored(&folder)?;
    let project = context.store.read(|db| projects::bound_to(db, &bound))?.ok_or_else(|| {
        let why = format!("There is nothing to undo: {} is not bound to a project", folder.display());
        Error::new(Code::NotFound, why).hint("name the folder that was set up, as in `mcpkg up ~/code/shop --undo`")
    })?;
    let mut context = context.clone();
    (context.selection.named, context.selection.named_by) = (Some(project.name.clone()), "mcpkg up");
    let choice = Choice { root: Some(folder.clone()), ..Choice::default() };
    let goal = Goal::find(&context, PRISTINE)?;
    let site = goal.site(&context, &choice)?;
    let planned = context.store.read(|db| RollbackPlan::compare(db, &site, &goal))?;
    let connected = connections::made_in(&context, &folder)?;
    let mut data = json!({
        "project": project.name,
        "folder": folder,
        "changes": changes_json(&planned.changes),
        "disconnects": connected.iter().map(|made| json!({ "agent": made.agent.name, "path": made.file })).collect::<Vec<_>>(),
        "dry_run": dry_run,
    });
    let stays = format!("project '{0}' stays in the database; to delete it: `mcpkg project delete {0}`", project.name);
    if planned.changes.is_empty() && planned.row_changes.is_empty() && connected.is_empty() {
        let sentence = format!("Nothing to undo: no file is deployed below {}", folder.display());
        return Ok(Reply::sentence(sentence, data).warn(planned.warnings).hint(stays));
    }
    let listed = &planned.changes[..planned.changes.len().min(MANY)];
    let mut screen = vec![show::table(listed, &site)];
    if planned.changes.len() > MANY {
        screen.push(Body::Sentence(format!("and {} more", plural::count(planned.changes.len() - MANY, "file"))));
    }
    screen.extend(connected.iter().map(|made| {
        Body::Sentence(format!("{} is disconnected from mcpkg: {}", made.agent.title, made.file.display()))
    }));
    if dry_run {
        let reply = Reply::new(Body::Several(screen), data).warn(planned.warnings);
        return Ok(reply.hint("dry run: nothing was written"));
    }
    let edited: Vec<_> = planned.changes.iter().filter(|change| change.adopt).collect();
    if let Some(first) = edited.first() {
        let count = plural::count(edited.len(), "file");
        let why = format!("{count} changed after the deploy, such as `{}`; nothing was changed", first.path.display());
        let (name, root) = (&project.name, quote(&folder.to_string_lossy()));
        return Err(Error::new(Code::AdoptConfirmRequired, why)
            .hint(format!("see them: `mcpkg rollback --to pristine --project {name} --root {root} --dry-run`"))
            .hint(format!(
                "restore them too, and keep the edits: `mcpkg rollback --to pristine --project {name} --root {root} --adopt`"
            )));
    }
    (context.ask)(Body::Several(screen), &format!("Take back what was set up in {}?", folder.display()))?;
    let mut warnings = Vec::new();
    if !planned.changes.is_empty() || !planned.row_changes.is_empty() {
        // The person has just agreed to all of this, so the rollback must not ask again.
        context.ask = Arc::new(|_, _| Ok(()));
        let rolled_back = Rollback::to_pristine(choice).run(&context)?;
        data["snapshot_id"] = rolled_back.data["event_snapshot_id"].clone();
        warnings.extend(rolled_back.warnings);
    }
    for made in &connected {
        if let Err(error) = connections::disconnect(&context, made.agent) {
            warnings.push(format!("{} stays connected: {error}", made.agent.title));
        }
    }
    let files = plural::count(planned.changes.len(), "file");
    let sentence = match connected.len() {
        0 => format!("Restored {files} below {}", folder.display()),
        count => {
            format!("Restored {files} below {}, and disconnected {}", folder.display(), plural::count(count, "agent"))
        }
    };
    Ok(Reply::sentence(sentence, data).warn(warnings).hint(stays))
}
