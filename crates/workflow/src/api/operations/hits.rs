//! Finds the saved workflows and open drafts that use commands that a refresh changed or removed.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use crate::api::difference::Difference;
use crate::check::shaped;
use crate::commands::reachable;
use crate::source::{Commands, Resolved};
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;
use mcpkg_store::page::Page;
use mcpkg_store::{blobs, drafts, projects, workflows};

/// A workflow or draft that uses changed commands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hit {
    /// The project of the workflow.
    pub project: String,
    pub workflow: String,
    /// The id of the draft; absent for a saved workflow.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draft: Option<String>,
    /// Removed commands that the workflow uses.
    pub removed: Vec<String>,
    /// Commands with a breaking change that the workflow uses.
    pub breaking: Vec<String>,
    /// Commands with any other change that the workflow uses.
    pub changed: Vec<String>,
}

/// Returns the workflows and drafts that use changed commands, project by project.
pub fn hits(context: &Context, difference: &Difference) -> Result<Vec<Hit>> {
    if difference.removed.is_empty() && difference.changed.is_empty() {
        return Ok(Vec::new());
    }
    let texts = context.store.read(|db| {
        let mut texts = Vec::new();
        for project in projects::list(db, &Page::all())?.rows {
            let project = project.project;
            for workflow in
                workflows::list(db, project.id, &Page::all())?.rows.into_iter().filter(|kept| kept.blob != 0)
            {
                texts.push((project.name.clone(), workflow.name, None, blobs::get(db, workflow.blob)?));
            }
            for draft in drafts::list(db, project.id, true, &Page::all())?.rows {
                let id = Some(draft.uuid.to_string());
                texts.push((project.name.clone(), draft.name, id, blobs::get(db, draft.blob)?));
            }
        }
        Ok(texts)
    })?;
    let mut ids = Ids { context, known: BTreeMap::new() };
    let mut hits = Vec::new();
    for (project, workflow, draft, text) in texts {
        let used = ids.used(&String::from_utf8_lossy(&text))?;
        let among =
            |ids: &mut dyn Iterator<Item = &String>| ids.filter(|id| used.contains(*id)).cloned().collect::<Vec<_>>();
        let of = |breaks: bool| {
            let changed = difference.changed.iter().filter(|changed| changed.breaks() == breaks);
            among(&mut changed.map(|changed| &changed.id))
        };
        let (removed, breaking, changed) = (among(&mut difference.removed.iter()), of(true), of(false));
        if !(removed.is_empty() && breaking.is_empty() && changed.is_empty()) {
            hits.push(Hit { project, workflow, draft, removed, breaking, changed });
        }
    }
    Ok(hits)
}

impl Hit {
    pub fn line(&self) -> String {
        let draft = self.draft.as_ref().map(|id| format!("draft {id} of ")).unwrap_or_default();
        let uses = [("removed", &self.removed), ("breaking change", &self.breaking), ("changed", &self.changed)];
        let uses: Vec<String> = uses
            .iter()
            .filter(|(_, ids)| !ids.is_empty())
            .map(|(what, ids)| format!("{} ({what})", ids.join(", ")))
            .collect();
        format!("{draft}workflow '{}' of project '{}' uses {}", self.workflow, self.project, uses.join("; "))
    }
}

/// Resolves names of commands to ids, and remembers the results.
struct Ids<'a> {
    context: &'a Context,
    known: BTreeMap<String, Option<String>>,
}

impl Ids<'_> {
    /// Returns the ids of the commands that a workflow text runs, or uses as providers.
    fn used(&mut self, text: &str) -> Result<BTreeSet<String>> {
        let Some(definition) = shaped(text)?.0 else { return Ok(BTreeSet::new()) };
        let providers = definition.inputs.list.iter().filter_map(|named| named.input.provider.as_ref());
        let written = definition.steps.iter().map(|step| &step.run).chain(providers);
        let mut used = BTreeSet::new();
        for written in written {
            if let Some(id) = self.id(written)? {
                used.insert(id);
            }
        }
        Ok(used)
    }

    fn id(&mut self, written: &str) -> Result<Option<String>> {
        if let Some(known) = self.known.get(written) {
            return Ok(known.clone());
        }
        let id = match reachable(self.context).resolve(written)? {
            Resolved::One(spec) => Some(spec.id.clone()),
            Resolved::Several(_) | Resolved::None(_) => None,
        };
        self.known.insert(written.to_owned(), id.clone());
        Ok(id)
    }
}
