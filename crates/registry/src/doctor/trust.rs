//! Checks trust: the policy, keys, and database rows that this user never approved.

use std::fs;
use std::path::Path;

use super::Depth;
use crate::import::serving;
use crate::run::grants;
use crate::trust::records::{self, Record};
use crate::trust::sigstore::{self, Described, Root};
use crate::trust::{Policy, Subject, keys, rules};
use mcpkg_base::clock::rfc3339;
use mcpkg_base::disk;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_base::shell;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::tools::{env, grants as granted, trust};

pub(super) const AREA: &str = "tool trust";

pub(super) fn check(context: &Context, depth: Depth) -> Result<Vec<Finding>> {
    let (rules, named) = context.store.read(|db| Ok((rules(db, context)?, records::policy(db, context)?.1)))?;
    let trusted = plural::count(rules.trusted.len(), "identity");
    let minimum = plural::count(rules.minimum, "attestation");
    let what = format!("the policy is {} (at least {minimum} per tool); you trust {trusted}", rules.policy.word());
    let state = if rules.policy == Policy::Allow { Health::Note } else { Health::Ok };
    let mut findings = vec![Finding::new(AREA, state, what)];
    if rules.policy == Policy::Allow {
        findings[0].action =
            Some("`mcpkg tool trust policy prompt` makes mcpkg ask before it uses unverified tools".to_owned());
    }
    if rules.policy == Policy::RequireAttestation && rules.trusted.is_empty() {
        let what = "the policy requires attestations, but you trust nobody: no tool can be used";
        findings.push(Finding::new(AREA, Health::Problem, what).action("mcpkg tool trust add IDENTITY"));
    }
    if let Some(named) = named {
        let what = format!(
            "ignored the policy {} from the database: you have not approved this policy on this machine",
            named.word()
        );
        findings.push(Finding::new(AREA, Health::Note, what).action("mcpkg tool trust policy"));
    }
    findings.push(root(&rules.root));
    findings.extend(undecided(context)?);
    findings.extend(loose_keys()?);
    findings.extend(serving::look_over(context, AREA)?);
    if depth == Depth::Whole
        && let Some(folder) = context.approved.folder()
    {
        findings.extend(loose(folder, "the folder with the records of your decisions", 0o700));
    }
    Ok(findings)
}

/// Reports which root Sigstore bundles are checked against, and its date if known: an old root lacks newer keys.
fn root(root: &Root) -> Finding {
    if !sigstore::is_checked() {
        let what = "Sigstore bundles are not checked: this mcpkg was built without the feature `sigstore`";
        return Finding::new(AREA, Health::Ok, what);
    }
    let what = match (root, sigstore::described(root)) {
        (Root::Replaced(root), Ok(_)) => {
            format!("using the Sigstore root that you set on {}", rfc3339(root.since))
        }
        (_, Ok(Described { dated: Some(dated), .. })) => format!("using the embedded Sigstore root, dated {dated}"),
        (_, Ok(_)) => "using the embedded Sigstore root".to_owned(),
        (_, Err(error)) => {
            let what = format!("Sigstore bundles cannot be verified: {}", error.message());
            return Finding::new(AREA, Health::Problem, what).action("mcpkg tool trust root --default");
        }
    };
    Finding::new(AREA, Health::Ok, what)
}

/// Reports rows of the database that have no effect because this user never approved them on this machine.
fn undecided(context: &Context) -> Result<Option<Finding>> {
    let (rows, approvals, allowed, variables) =
        context.store.read(|db| Ok((trust::list(db)?, trust::approvals(db)?, granted::all(db)?, env::all(db)?)))?;
    let count = |decided: Result<Vec<bool>>| {
        Ok::<usize, mcpkg_base::error::Error>(decided?.iter().filter(|kept| !**kept).count())
    };
    let is_decided = |row| Ok(Record::Identity(row).is_kept(context)? || Record::Identity(row).has_ended(context)?);
    let identities = count(rows.iter().map(is_decided).collect())?;
    let approvals = count(
        approvals
            .into_iter()
            .map(|one| Subject { name: one.name, version: one.version, sha256: one.sha256 })
            .map(|subject| Record::Archive(&subject).is_kept(context))
            .collect(),
    )?;
    let grants = count(allowed.iter().map(|grant| grants::counts(&context.approved, grant)).collect())?;
    let secrets = count(variables.iter().map(|variable| grants::may_read(&context.approved, variable)).collect())?;
    let parts = [
        (identities, "trusted identity"),
        (approvals, "approval"),
        (grants, "grant"),
        (secrets, "reference to a secret"),
    ];
    let counted = |(count, what): &(usize, &str)| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        many => Some(format!("{many} {}", several(what))),
    };
    let named: Vec<String> = parts.iter().filter_map(counted).collect();
    if named.is_empty() {
        return Ok(None);
    }
    let what = format!(
        "these entries in the database have no effect, because you have not approved them on this machine: {}",
        named.join(", ")
    );
    Ok(Some(Finding::new(AREA, Health::Note, what).action("see `mcpkg tool trust list` and `mcpkg tool env list`")))
}

/// Returns the plural of a name that [`undecided`] uses.
fn several(what: &str) -> String {
    match what {
        "trusted identity" => "trusted identities".to_owned(),
        "reference to a secret" => "references to secrets".to_owned(),
        what => format!("{what}s"),
    }
}

/// Reports keys that other users of this machine could read.
fn loose_keys() -> Result<Vec<Finding>> {
    // Without a home folder there are no keys.
    let Ok(folder) = keys::folder() else { return Ok(Vec::new()) };
    let mut findings: Vec<Finding> = loose(&folder, "the folder of your keys", 0o700).into_iter().collect();
    for name in keys::names()? {
        findings.extend(loose(&folder.join(&name), &format!("the key '{name}'"), 0o600));
    }
    Ok(findings)
}

/// Reports a file or folder that other users can access; `mode` is the file mode that would prevent it.
fn loose(path: &Path, what: &str, mode: u32) -> Option<Finding> {
    let metadata = fs::metadata(path).ok()?;
    let found = disk::mode(&metadata) & 0o777;
    if found & 0o077 == 0 {
        return None;
    }
    let what = format!("other users can access {what} (mode {found:04o})");
    let mend = format!("chmod {mode:o} {}", shell::quote(&path.to_string_lossy()));
    Some(Finding::new(AREA, Health::Problem, what).action(mend))
}
