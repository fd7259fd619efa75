//! A stored draft: finds it by id, loads its texts, and checks whether its base has changed.

use serde_json::{Map, Value, json};
use uuid::Uuid;

use crate::saved::changes::{self, Change};
use crate::saved::model;
use mcpkg_base::clock::rfc3339;
use mcpkg_base::diff;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex::tail;
use mcpkg_base::marks;
use mcpkg_core::note;
use mcpkg_store::drafts::{self, Draft, State};
use mcpkg_store::page::Page;
use mcpkg_store::projects::Project;
use mcpkg_store::workflows::{self, Workflow};
use mcpkg_store::{Db, blobs};

/// Minimum length of an abbreviated draft id, which is the end of the full id.
const SHORTEST: usize = 4;

/// A draft with its texts.
#[derive(Debug)]
pub(super) struct Kept {
    pub(super) draft: Draft,
    pub(super) text: String,
    /// The text that the draft is based on. Empty for a new workflow.
    pub(super) base: String,
    /// The saved workflow that the draft changes, as it is now. For a draft of a new workflow, the saved workflow that
    /// already has the draft's name. `None` if there is no such workflow.
    pub(super) now: Option<Workflow>,
    pub(super) project: String,
}

impl Kept {
    /// Returns the draft with this id, which may be abbreviated to a unique end. Ids created within the same hour share
    /// their first characters, so a prefix would not tell them apart.
    pub(super) fn named(db: &Db<'_>, project: &Project, id: &str) -> Result<Self> {
        let draft = find(db, project, id.trim())?.ok_or_else(|| missing(project, id))?;
        let now = match draft.base {
            Some(base) => workflows::by_uuid(db, project.id, base.item)?,
            None => workflows::find(db, project.id, &draft.name)?,
        };
        let base = draft.base.map(|base| model::stored(db, base.blob)).transpose()?.unwrap_or_default();
        Ok(Self { text: model::stored(db, draft.blob)?, base, now, project: project.name.clone(), draft })
    }

    /// Like [`Kept::named`], but fails with `E_DRAFT_STALE` if a person has already decided about the draft.
    pub(super) fn waiting(db: &Db<'_>, project: &Project, id: &str) -> Result<Self> {
        let kept = Self::named(db, project, id)?;
        if kept.draft.state.waits() { Ok(kept) } else { Err(decided(&kept.draft)) }
    }

    /// Returns the unified diff from the base to the draft.
    pub(super) fn diff(&self) -> String {
        let name = &self.draft.name;
        let old = self.draft.base.map_or_else(|| "/dev/null".to_owned(), |base| format!("{name} {}", base.revision));
        diff::unified(&self.base, &self.text, &old, &format!("{name} (draft)"))
    }

    /// Returns the changes by meaning. `None` for a new workflow, or if one of the texts is not a valid workflow.
    pub(super) fn changes(&self) -> Option<Vec<Change>> {
        self.draft.base.and_then(|_| changes::of_texts(&self.base, &self.text))
    }

    /// Refuses a draft whose base has changed, with a diff of the change.
    pub(super) fn unless_stale(&self, db: &Db<'_>) -> Result<()> {
        if self.draft.state != State::Stale {
            return Ok(());
        }
        let moved = self.moved(db)?;
        let name = &self.draft.name;
        let why = match (self.draft.base, &self.now) {
            (Some(base), Some(now)) => {
                format!(
                    "Workflow '{}' has changed: it is at revision {}, but the draft is based on revision {}",
                    now.name, now.revision, base.revision
                )
            }
            (Some(_), None) => format!("Workflow '{name}' was deleted after the draft was made"),
            (None, _) => format!("A workflow '{name}' was created after the draft was made"),
        };
        let details = json!({
            "draft": self.draft.uuid.to_string(),
            "name": name,
            "base_revision": self.draft.base.map(|base| base.revision),
            "revision": self.now.as_ref().map(|now| now.revision),
            "diff": moved,
        });
        Err(Error::new(Code::DraftStale, why)
            .hint(format!(
                "review the changes and propose the draft again with `mcpkg draft edit {}`",
                tail(self.draft.uuid)
            ))
            .with_details(details))
    }

    /// Returns the unified diff from the base to the current revision.
    pub(super) fn moved(&self, db: &Db<'_>) -> Result<String> {
        let name = &self.draft.name;
        let now = self.now.as_ref().map(|now| model::stored(db, now.blob)).transpose()?.unwrap_or_default();
        let revision =
            |number: Option<i64>| number.map_or_else(|| "/dev/null".to_owned(), |number| format!("{name} {number}"));
        let (old, new) = (self.draft.base.map(|base| base.revision), self.now.as_ref().map(|now| now.revision));
        Ok(diff::unified(&self.base, &now, &revision(old), &revision(new)))
    }

    /// Returns the header that people see above the text.
    pub(super) fn head(&self) -> String {
        let Draft { uuid, name, state, message, base, actor, created_at, .. } = &self.draft;
        let of =
            base.map_or_else(|| "a new workflow".to_owned(), |base| format!("based on revision {}", base.revision));
        let mut lines = vec![
            format!("Draft {uuid} of workflow '{name}' in project '{}': {}, {of}", self.project, state.word()),
            format!("Proposed by {actor} at {}", rfc3339(*created_at)),
        ];
        lines.extend(message.iter().flat_map(|message| message.lines()).map(|line| format!("  {line}")));
        if let (Some(note), Some(by)) = (&self.draft.note, &self.draft.decided_by) {
            lines.push(format!("{by}: {}", note::quoted(note)));
        }
        shown(&lines.join("\n"))
    }

    /// Returns the JSON of the draft, with its text, its findings and, if it has one, its plan.
    pub(super) fn data(&self) -> Value {
        let mut data = data(&self.project, &self.draft);
        data.insert("yaml".to_owned(), self.text.clone().into());
        data.insert("findings".to_owned(), blobs::shown_json(&self.draft.findings));
        if let Some(plan) = &self.draft.plan {
            data.insert("plan".to_owned(), blobs::shown_json(plan));
        }
        Value::Object(data)
    }
}

/// Returns the JSON of a draft without its text.
pub(super) fn data(project: &str, draft: &Draft) -> Map<String, Value> {
    let findings = blobs::shown_json(&draft.findings);
    // If the stored findings are damaged, the counts are null, and `put` leaves them out.
    let count = |severity: &str| {
        let of = |found: &&Value| found["severity"] == severity;
        json!(findings.as_array().map(|findings| findings.iter().filter(of).count()))
    };
    let mut data = Map::new();
    let mut put = |key: &str, value: Value| {
        if !value.is_null() {
            data.insert(key.to_owned(), value);
        }
    };
    put("id", draft.uuid.to_string().into());
    put("workflow", draft.name.clone().into());
    put("project", project.into());
    put("state", draft.state.word().into());
    put("message", json!(draft.message));
    put("base_revision", json!(draft.base.map(|base| base.revision)));
    put("errors", count("error"));
    put("warnings_found", count("warning"));
    put("proposed_by", draft.actor.clone().into());
    put("created_at", rfc3339(draft.created_at).into());
    put("edited_at", json!(draft.edited_at.map(rfc3339)));
    put("decided_by", json!(draft.decided_by));
    put("decided_at", json!(draft.decided_at.map(rfc3339)));
    put("note", json!(draft.note));
    data
}

/// Escapes control and bidirectional characters, so that the text is safe for a terminal.
pub(super) fn shown(text: &str) -> String {
    text.lines().map(|line| marks::text(line).into_owned() + "\n").collect()
}

/// Returns the error for a draft that a person has already decided about.
pub(super) fn decided(draft: &Draft) -> Error {
    let by = draft.decided_by.as_deref().map(|by| format!(" by {by}")).unwrap_or_default();
    let note = draft.note.as_deref().map(|note| format!(": {}", note::quoted(note))).unwrap_or_default();
    let what = format!("Draft {} was already {}{by}{note}", draft.uuid, draft.state.word());
    let mut details = json!({ "draft": draft.uuid.to_string(), "state": draft.state.word() });
    if let Some(note) = &draft.note {
        details["note"] = json!(note);
    }
    Error::new(Code::DraftStale, what).with_details(details)
}

/// Returns the error for a draft that somebody edited or decided about at the same time.
pub(super) fn overtaken(id: Uuid) -> Error {
    Error::new(
        Code::DraftStale,
        format!("Somebody else edited, approved or rejected draft {id} in the meantime; nothing was changed"),
    )
    .hint(format!("see what happened to the draft with `mcpkg draft show {}`", tail(id)))
    .with_details(json!({ "draft": id.to_string() }))
}

fn find(db: &Db<'_>, project: &Project, id: &str) -> Result<Option<Draft>> {
    if let Ok(uuid) = Uuid::parse_str(id) {
        return drafts::get(db, project.id, uuid);
    }
    let id = id.to_ascii_lowercase();
    let ends = |draft: &Draft| id.len() >= SHORTEST && draft.uuid.to_string().ends_with(&id);
    let mut found: Vec<Draft> = drafts::list(db, project.id, false, &Page::all())?.rows;
    found.retain(ends);
    Ok(if found.len() == 1 { found.pop() } else { None })
}

fn missing(project: &Project, id: &str) -> Error {
    let what = format!("Project '{}' has no draft '{}'", project.name, id.escape_debug());
    Error::new(Code::NotFound, what)
        .hint("list drafts with `mcpkg draft list --all`; a unique suffix of an id is enough")
        .with_details(json!({ "id": id }))
}

/// Returns the base of a draft that builds on the current revision of a workflow.
pub(super) fn base_of(workflow: &Workflow) -> drafts::Base {
    drafts::Base { item: workflow.uuid, revision: workflow.revision, blob: workflow.blob }
}

/// Returns the base of a draft that builds on an earlier revision of a workflow.
pub(super) fn base_at(db: &Db<'_>, project: &Project, name: &str, number: i64) -> Result<drafts::Base> {
    let revision = workflows::revision(db, project, name, number)?;
    if revision.action == "delete" {
        return Err(blobs::damaged_value("an existing workflow was deleted in its last revision"));
    }
    Ok(drafts::Base { item: revision.item, revision: revision.number, blob: revision.blob })
}
