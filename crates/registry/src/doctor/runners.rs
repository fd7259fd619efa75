//! Checks which runners work on this machine, and which limits they cannot enforce.

use super::Depth;
use crate::run::health::{self, Probed};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Finding, Health};

pub(super) const AREA: &str = "tool runners";

pub(super) fn check(_context: &Context, depth: Depth) -> Result<Vec<Finding>> {
    let bubblewrap = health::bubblewrap();
    let mut findings = vec![match &bubblewrap.works {
        Ok(unlimited) => works("tools run in bubblewrap", unlimited),
        Err(why) => {
            Finding::new(AREA, Health::Problem, format!("bubblewrap does not work: {why}")).action(health::mend(why))
        }
    }];
    findings.push(match health::runs_modules() {
        true => Finding::new(AREA, Health::Ok, "WebAssembly modules run in mcpkg itself"),
        false => Finding::new(AREA, Health::Note, "this mcpkg was built without WebAssembly support"),
    });
    if depth == Depth::Whole {
        findings.extend(health::engines().iter().map(engine));
        let left = health::left_groups();
        if left > 0 {
            let left = plural::count(left, "control group");
            let what = format!("{left} left behind by killed servers; the next run removes them");
            findings.push(Finding::new(AREA, Health::Note, what));
        }
    }
    Ok(findings)
}

/// Reports on a container engine. Few tools need one, so an engine that does not work is not a problem by itself.
fn engine(probed: &Probed) -> Finding {
    let engine = probed.kind.word();
    match &probed.works {
        Ok(unlimited) => works(&format!("tools that need a container image run in {engine}"), unlimited),
        Err(why) => {
            Finding::new(AREA, Health::Note, format!("tools that need a container image cannot run in {engine}: {why}"))
        }
    }
}

/// Reports that a runner works, and which limits it cannot enforce.
fn works(what: &str, unlimited: &[&str]) -> Finding {
    match unlimited {
        [] => Finding::new(AREA, Health::Ok, what),
        limits => Finding::new(AREA, Health::Note, format!("{what}, but without limits on: {}", limits.join(", "))),
    }
}
