//! Changes workflows. Each change adds a revision.

use uuid::Uuid;

use super::read::{by_uuid, get, missing};
use super::revisions::{self, Revision};
use super::row::sum;
use super::workflow::{Action, Change, New, Workflow};
use crate::engine::{Unique, params, sql};
use crate::projects::Project;
use crate::revisions::{Author, next};
use crate::{Db, blobs};
use mcpkg_base::error::{Code, Error, Result};

const NAME: Unique = Unique::new("workflow", &["project_id", "name"]);

/// Adds a workflow. If a deleted workflow had the same name, this continues its id and history.
pub fn insert(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    uuid: Uuid,
    new: New<'_>,
    change: Change<'_>,
) -> Result<Workflow> {
    let uuid = revisions::deleted(db, project.id, new.name)?.unwrap_or(uuid);
    add(db, author, project, uuid, new, change)
}

/// Writes a changed workflow, and adds a revision. An unchanged workflow gets no new revision.
///
/// # Errors
/// `E_ALREADY_EXISTS` if a new name is taken; `E_NOT_FOUND` if the workflow no longer exists.
pub fn update(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    before: &Workflow,
    new: New<'_>,
    change: Change<'_>,
) -> Result<Workflow> {
    let (blob, sha256) = blobs::put_hashed(db, new.text.as_bytes())?;
    let is_same = before.blob == blob && before.name == new.name && before.summary == *new.summary;
    if is_same {
        return Ok(before.clone());
    }
    let workflow = Workflow {
        name: new.name.to_owned(),
        summary: new.summary.clone(),
        blob,
        size: size(new.text),
        sha256,
        revision: next(before.revision)?,
        updated_at: author.now,
        ..before.clone()
    };
    let sql = sql!(
        "UPDATE workflow SET name = ?3, title = ?4, description = ?5, model_hash = ?6, blob_id = ?7, revision = ?8,
                             created_at = ?9, updated_at = ?10, row_sum = ?11
          WHERE project_id = ?1 AND uuid = ?2"
    );
    let row_sum = sum(project.id, &workflow);
    let columns = params![
        project.id,
        workflow.uuid,
        workflow.name,
        workflow.summary.title,
        workflow.summary.description,
        workflow.summary.model_hash,
        workflow.blob,
        workflow.revision,
        workflow.created_at,
        workflow.updated_at,
        row_sum
    ];
    if db.run(sql, columns).map_err(|error| name_taken(error, project, new.name))? == 0 {
        return Err(missing(db, project, &before.name));
    }
    revisions::keep(db, author, project, &workflow, change)?;
    Ok(workflow)
}

/// Deletes a workflow. Its revisions stay, and a new last revision records the deletion.
pub fn delete(db: &Db<'_>, author: Author<'_>, project: &Project, name: &str) -> Result<Workflow> {
    let mut workflow = get(db, project, name)?;
    workflow.revision = next(workflow.revision)?;
    revisions::keep(db, author, project, &workflow, Change::plain(Action::Delete))?;
    if db.run(sql!("DELETE FROM workflow WHERE id = ?1"), params![workflow.id])? == 0 {
        return Err(missing(db, project, name));
    }
    Ok(workflow)
}

/// Restores `revision`. `new` is the revision's text under the workflow's future name. An existing workflow is
/// changed; a deleted one is added again with its old id.
///
/// # Errors
/// `E_ALREADY_EXISTS` if another workflow has the name now.
pub fn restore(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    revision: &Revision,
    new: New<'_>,
) -> Result<Workflow> {
    let change = Change { restored: Some(revision.number), ..Change::plain(Action::Restore) };
    match by_uuid(db, project.id, revision.item) {
        Ok(Some(live)) => update(db, author, project, &live, new, change),
        Ok(None) => add(db, author, project, revision.item, new, change),
        // Restoring a revision also repairs a damaged row.
        Err(error) if error.code() == Code::Damaged => {
            let sql = sql!("DELETE FROM workflow WHERE project_id = ?1 AND uuid = ?2");
            db.run(sql, params![project.id, revision.item])?;
            add(db, author, project, revision.item, new, change)
        }
        Err(error) => Err(error),
    }
}

/// Adds the row of a workflow with this id, which may already have revisions.
fn add(
    db: &Db<'_>,
    author: Author<'_>,
    project: &Project,
    uuid: Uuid,
    new: New<'_>,
    change: Change<'_>,
) -> Result<Workflow> {
    let (blob, sha256) = blobs::put_hashed(db, new.text.as_bytes())?;
    let mut workflow = Workflow {
        id: 0,
        uuid,
        name: new.name.to_owned(),
        summary: new.summary.clone(),
        blob,
        size: size(new.text),
        sha256,
        revision: next(revisions::newest(db, uuid)?)?,
        created_at: author.now,
        updated_at: author.now,
    };
    let sql = sql!(
        "INSERT INTO workflow (project_id, uuid, name, title, description, model_hash, blob_id, revision, created_at,
                               updated_at, row_sum)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11) RETURNING id"
    );
    let row_sum = sum(project.id, &workflow);
    let columns = params![
        project.id,
        workflow.uuid,
        workflow.name,
        workflow.summary.title,
        workflow.summary.description,
        workflow.summary.model_hash,
        workflow.blob,
        workflow.revision,
        workflow.created_at,
        workflow.updated_at,
        row_sum
    ];
    workflow.id = db.insert(sql, columns).map_err(|error| name_taken(error, project, new.name))?;
    revisions::keep(db, author, project, &workflow, change)?;
    Ok(workflow)
}

fn size(text: &str) -> i64 {
    i64::try_from(text.len()).unwrap_or(i64::MAX)
}

/// If `error` says that a workflow's name is not unique, returns the error for a name that is taken. Returns any other
/// error unchanged.
fn name_taken(error: Error, project: &Project, name: &str) -> Error {
    if !NAME.is_violated_by(&error) {
        return error;
    }
    Error::new(Code::AlreadyExists, format!("Workflow '{name}' already exists in project '{}'", project.name))
        .with_details(serde_json::json!({ "name": name }))
}
