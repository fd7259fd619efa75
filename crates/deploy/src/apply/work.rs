//! What is applied: the changes of a deploy, of a rollback or of a restore.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use super::roots;
use crate::plan::{Change, Plan, RowChange, names};
use crate::source::Site;
use mcpkg_store::deploys::Deployed;
use mcpkg_store::snapshots::Kind;

#[derive(Debug)]
pub struct Work<'a> {
    pub site: &'a Site,
    pub kind: Kind,
    /// The SHA-256 of the plan, in hex.
    pub plan_hash: &'a str,
    /// What a rollback goes back to.
    pub rolled_back_to: Option<&'a str>,
    /// The targets that it is of.
    pub targets: Vec<String>,
    /// Whether the user chose to adopt files that are not mcpkg's.
    pub adopt: bool,
    pub changes: Vec<Change>,
    /// The rows that change though their files do not.
    pub row_changes: Vec<RowChange>,
    /// What the place keeps on disk now.
    pub rows: BTreeMap<String, Deployed>,
    /// The folders that the user's own command writes below; other changes have to lie below one that this user
    /// deployed to before.
    pub roots: BTreeSet<PathBuf>,
}

impl<'a> Work<'a> {
    /// A deploy of a plan.
    pub fn deploy(site: &'a Site, plan: Plan, plan_hash: &'a str, adopt: bool) -> Self {
        let Plan { desired, rows, changes, row_changes } = plan;
        let targets = names(&site.selected);
        // A file that no module produces any more is known only from the database.
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
