//! What runs tools: whether it works on this machine, and which limits cannot be held.

use super::look::Depth;
use crate::error::Result;
use crate::op::{Context, Finding, Health};
use crate::plural;
use crate::registry::run::health::{self, Probed};

/// The name of the area.
pub(super) const AREA: &str = "tool runners";

pub(super) fn look(_context: &Context, depth: Depth) -> Result<Vec<Finding>> {
    let probed = health::runners();
    let mut findings: Vec<Finding> = probed.iter().map(finding).collect();
    if probed.iter().any(|probed| probed.works.is_ok()) {
        let note = |what| Finding::new(AREA, Health::Note, what);
        findings.extend(health::not_applied().into_iter().map(note));
    }
    let left = health::left_groups();
    if left > 0 && depth == Depth::Whole {
        let what = format!(
            "{} left of servers that were killed; the next run removes them",
            plural::count(left, "control group")
        );
        findings.push(Finding::new(AREA, Health::Note, what));
    }
    Ok(findings)
}

fn finding(probed: &Probed) -> Finding {
    match &probed.works {
        Ok(()) => Finding::new(AREA, Health::Ok, format!("tools run in {}", probed.runner)),
        Err(why) => Finding::new(AREA, Health::Problem, format!("{} does not work: {why}", probed.runner))
            .action(health::mend(why)),
    }
}
