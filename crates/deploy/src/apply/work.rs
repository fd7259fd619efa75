//! Describes what an apply does: the changes of a deploy, a rollback or a restore.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::roots;
use crate::plan::{Change, Plan, RowChange, names};
use crate::source::{Adopted, Site};
use mcpkg_store::deploys::Deployed;
use mcpkg_store::snapshots::Kind;

#[derive(Debug)]
pub struct Work<'a> {
    pub site: &'a Site,
    pub kind: Kind,
    /// The SHA-256 of the plan, in hex.
    pub plan_hash: &'a str,
    /// The goal of a rollback.
    pub rolled_back_to: Option<&'a str>,
    pub targets: Vec<String>,
    pub adopt: Adopted,
    pub changes: Vec<Change>,
    /// Changes to rows of files that stay unchanged on disk.
    pub row_changes: Vec<RowChange>,
    /// The rows of the files that this source has deployed to this root, by path.
    pub rows: BTreeMap<String, Deployed>,
    /// The folders that the user's own command writes below. All other changes must be below folders that this user
    /// deployed to before.
    pub roots: BTreeSet<PathBuf>,
}

impl<'a> Work<'a> {
    /// Converts a plan to the work that carries it out.
    pub fn deploy(site: &'a Site, plan: Plan, plan_hash: &'a str, adopt: Adopted) -> Self {
        let Plan { desired, rows, changes, row_changes } = plan;
        let targets = names(&site.selected);
        // A file that no module produces any more is known only from the database, so the user's command does not
        // approve its root.
        let landed = changes.iter().filter(|change| desired.output(&change.path).is_some());
        let mut roots = roots::of_changes(landed);
        roots.extend(roots::of_claims(&row_changes));
        roots.extend(desired.roots.into_iter().map(|root| root.path));
        Self {
            site,
            kind: Kind::Deploy,
            plan_hash,
            rolled_back_to: None,
            targets,
            adopt,
            changes,
            row_changes,
            rows,
            roots,
        }
    }
}
