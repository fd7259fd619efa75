//! Checks installed tools: reports those that were yanked, are outdated, or are not trusted.

use super::Depth;
use crate::installed::checked;
use crate::installed::newer::standing;
use crate::trust::{self, Status};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Finding, Health};
use mcpkg_store::tools::installs::{self, Install};

pub(super) const AREA: &str = "tool installs";

/// An install, its trust status, and whether its registry is known to have a newer version.
struct Judged {
    install: Install,
    status: Status,
    newer: bool,
}

pub(super) fn check(context: &Context, _depth: Depth) -> Result<Vec<Finding>> {
    let judged = context.store.read(|db| {
        let rules = trust::rules(db, context)?;
        let judged = installs::all(db)?.into_iter().map(|install| {
            let verdict = trust::judge_by(&rules, db, context, &checked::subject(&install))?;
            let newer = standing(db, &install, false)?.newer.is_some();
            Ok(Judged { install, status: verdict.status, newer })
        });
        judged.collect::<Result<Vec<Judged>>>()
    })?;
    let of = |is_meant: &dyn Fn(&Judged) -> bool| -> Vec<String> {
        let meant = judged.iter().filter(|judged| is_meant(judged)).map(|judged| &judged.install);
        let mut names: Vec<String> = meant.map(|install| format!("{}@{}", install.name, install.version)).collect();
        names.dedup();
        names
    };
    let mut findings = Vec::new();
    let mut tell = |health, found: Vec<String>, what: &str, action: &str| {
        if !found.is_empty() {
            let counted = plural::count(found.len(), "installed tool");
            let what = format!("{counted} {what}: {}", plural::first(&found, 3));
            findings.push(Finding::new(AREA, health, what).action(action));
        }
    };
    let refused = of(&|judged| judged.status == Status::Refused);
    tell(Health::Problem, refused, "vetoed by somebody you trust", "mcpkg tool verify TOOL; mcpkg tool uninstall TOOL");
    let yanked = of(&|judged| judged.install.yanked_at.is_some());
    tell(Health::Note, yanked, "yanked by the publisher", "mcpkg tool update TOOL, or uninstall it");
    let unverified = of(&|judged| judged.status == Status::Unverified);
    tell(Health::Note, unverified, "not signed by anybody you trust", "mcpkg tool verify TOOL");
    let outdated = of(&|judged| judged.newer && judged.install.active);
    tell(Health::Note, outdated, "with a newer version", "mcpkg tool update TOOL");
    if findings.is_empty() {
        let what = match judged.len() {
            0 => "no tool is installed".to_owned(),
            1 => "1 installed tool is trusted".to_owned(),
            many => format!("{many} installed tools are trusted"),
        };
        findings.push(Finding::new(AREA, Health::Ok, what));
    }
    Ok(findings)
}
