//! Computes a plan and keeps it together with all its inputs.

use std::collections::HashMap;
use std::path::Path;

use serde_json::{Value, json};

use super::code::{self, Code};
use super::{After, Change, Plan, RowChange, changes_json, compare, names, overlooked, summary};
use crate::desired::{LeftOut, layout, left_out, remark};
use crate::module::{Kind, Module};
use crate::repo::Checkouts;
use crate::source::{Choice, Composed, Site};
use crate::targets::Target;
use mcpkg_base::disk::listings::Listings;
use mcpkg_base::error::Result;
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::Db;
use mcpkg_store::deploys::{self, Deployed};
use mcpkg_store::modules::Applies;

/// A plan together with all its inputs.
pub struct Prepared {
    pub site: Site,
    /// What an apply would do.
    pub plan: Plan,
    pub warnings: Vec<String>,
    /// The kind of each module, by id.
    pub kinds: HashMap<String, Kind>,
    /// The git sources that were fetched.
    pub checkouts: Checkouts,
    /// The source's fingerprint, if the plan was computed again for an apply. The apply checks in its transaction that
    /// the fingerprint is unchanged. `None` for a config repo.
    pub fingerprint: Option<sha256::Sha>,
    /// The SHA-256 of everything that an apply would do, in hex.
    pub hash: String,
    /// The listings of folders that were searched to measure what agents load ([`super::budget`]).
    pub listings: Listings,
}

impl Prepared {
    /// Computes the plan for a choice. Fetches git sources first, before it takes any lock that others wait for.
    pub fn new(context: &Context, choice: &Choice) -> Result<Self> {
        let site = Site::find(context, choice)?;
        let checkouts = site.fetch(context)?;
        Self::of(context, site, checkouts, false)
    }

    /// Computes the plan for a choice again. Uses the git sources that were fetched before, so it needs neither git nor
    /// the network.
    ///
    /// # Errors
    /// `E_PLAN_CHANGED` if the plan now needs other git sources, and the errors of [`Prepared::new`].
    pub fn again(context: &Context, choice: &Choice, checkouts: Checkouts) -> Result<Self> {
        Self::of(context, Site::find_again(context, choice, &checkouts)?, checkouts, true)
    }

    fn of(context: &Context, site: Site, checkouts: Checkouts, is_again: bool) -> Result<Self> {
        // The files of a config repo may be on a slow disk, so they are read before the database transaction.
        let composed = site.compose_repo(&checkouts)?;
        context.store.read(|db| {
            let composed = site.compose(context, db, composed)?;
            let fingerprint = if is_again { site.fingerprint(db)? } else { None };
            Ok(Self { fingerprint, ..Self::at(context, db, site, composed, checkouts)? })
        })
    }

    fn at(context: &Context, db: &Db<'_>, site: Site, composed: Composed, checkouts: Checkouts) -> Result<Self> {
        context.unless_cancelled()?;
        let present = present(db, &site, &composed.modules)?;
        let mut desired = layout::desired(
            &composed.modules,
            &site.configs,
            &site.selected,
            &present,
            &site.bases,
            site.collisions(context),
        )?;
        let mut warnings = composed.warnings;
        warnings.append(&mut desired.warnings);
        left_out::add_broken(&mut desired.left_out, &composed.broken, &site.selected);
        let mut plan = compare::compare(context, db, &site, desired, &composed.broken)?;
        if !site.only.is_empty() {
            site.only.check(&site.place.root, plan.files())?;
            plan.keep_only(|path| site.only.has(path));
        }
        warnings.extend(let_go(&plan));
        let hash = hash(&site, &plan);
        let kinds = composed.modules.iter().map(|module| (module.id.clone(), module.kind)).collect();
        Ok(Self { site, plan, warnings, kinds, fingerprint: None, checkouts, hash, listings: Listings::default() })
    }

    /// Returns the plan as JSON data. `listed` are the changes that the answer lists.
    pub fn data(&self, listed: &[Change]) -> Value {
        let mut data = json!({
            "profile": self.site.profile,
            "targets": names(&self.site.selected),
            "changes": changes_json(listed),
            "summary": summary(&self.plan.changes),
        });
        let left_out = &self.plan.desired.left_out;
        if !left_out.is_empty() {
            data["left_out"] = left_out.iter().map(LeftOut::json).collect();
        }
        let code = code::of(&self.plan.changes);
        if !code.is_empty() {
            data["code"] = code.iter().map(Code::json).collect();
        }
        data
    }

    /// Returns one line for each module that a target does not get, and for each remark. [`Prepared::said_with_plan`]
    /// combines these lines for several modules.
    pub fn details(&self) -> Vec<String> {
        let desired = &self.plan.desired;
        left_out::each(&desired.left_out).into_iter().chain(remark::each(&desired.remarks)).collect()
    }

    /// Returns remarks that only a plan shows: what is left out for which target, what is deployed once for several
    /// targets, and what agents will run.
    pub fn said_with_plan(&self) -> Vec<String> {
        let desired = &self.plan.desired;
        let code = code::lines(&code::of(&self.plan.changes));
        let notes = desired.notes.iter().cloned().chain(overlooked::servers(&self.site, desired));
        let remarks = remark::lines(&desired.remarks);
        left_out::lines(&desired.left_out).into_iter().chain(remarks).chain(notes).chain(code).collect()
    }
}

/// Returns a remark on files that are kept although no module needs them: they already had the desired content before
/// the first deploy.
fn let_go(plan: &Plan) -> Option<String> {
    let is_left = |row: &&Deployed| !row.written && Path::new(&row.path).symlink_metadata().is_ok();
    let rows = plan.row_changes.iter().filter_map(|change| match change {
        RowChange::Forget(path) => plan.rows.get(path),
        RowChange::Claim(..) | RowChange::Keep(_) | RowChange::Follow(..) => None,
    });
    let paths: Vec<&str> = rows.filter(is_left).map(|row| row.path.as_str()).collect();
    let stay = if paths.len() == 1 { "stays because it" } else { "stay because they" };
    (!paths.is_empty()).then(|| {
        let files = plural::count(paths.len(), "file");
        let named = plural::first(&paths, 3);
        format!("{files} without a module {stay} existed before the first deploy: {named}")
    })
}

/// Returns the selected targets and, if a module does not always apply, also the targets that this source already
/// deployed files for.
fn present(db: &Db<'_>, site: &Site, modules: &[Module]) -> Result<Vec<Target>> {
    let mut present = site.selected.clone();
    let is_scoped = |module: &Module| module.about.applies != Applies::Always;
    if modules.iter().any(is_scoped)
        && let Some(place) = deploys::place(db, &site.place)?
    {
        let names = deploys::targets_of_place(db, place)?;
        present.extend(names.iter().filter_map(|name| Target::named(name)));
    }
    Ok(present)
}

/// Returns the SHA-256 of the choice, and of every change and claim, in order. Any different byte, mode or path changes
/// the hash.
fn hash(site: &Site, plan: &Plan) -> String {
    let mut hash = sha256::Hasher::new();
    // End each field with a byte that no field contains.
    let mut field = |bytes: &[u8]| {
        hash.update(bytes);
        hash.update([0]);
    };
    field(site.inputs().to_string().as_bytes());
    for change in &plan.changes {
        field(change.op.word().as_bytes());
        change.targets.iter().chain(&change.module_ids).for_each(|word| field(word.as_bytes()));
        field(change.path.as_os_str().as_encoded_bytes());
        field(change.before.sha256().map_or(String::new(), |sha256| hex::encode(sha256)).as_bytes());
        match &change.after {
            After::Absent => field(b"nothing"),
            After::Link(text) => field(text.as_bytes()),
            After::File { sha256, mode, .. } => field(format!("{} {mode:o}", hex::encode(sha256)).as_bytes()),
        }
        field(change.reason.as_bytes());
        field(&[u8::from(change.adopt) + 2 * u8::from(change.drifted) + b'0']);
    }
    let claims = plan.row_changes.iter().filter_map(|change| match change {
        RowChange::Claim(row, _) => Some(row.path.as_str()),
        RowChange::Keep(_) | RowChange::Follow(..) | RowChange::Forget(_) => None,
    });
    let mut claims: Vec<&str> = claims.collect();
    claims.sort_unstable();
    claims.into_iter().for_each(|path| field(path.as_bytes()));
    hex::encode(&hash.finish())
}
