//! Finds the parts of a plan that allow more than the current rules do; only a person at a terminal can approve
//! them.

use super::plan::{Follow, LeftOut, Plan};
use crate::trust::{Policy, Rules};
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Confirmation, Context};
use mcpkg_store::tools::registries::Place;

/// The reason in the report for a part that is left out.
const WHY: &str = "only a person at a terminal can approve a setting that loosens the current rules: run the import again at a terminal, \
    without --yes";

/// The maximum number of changes that the question lists. If there are more, the question says how many more.
const NAMED: usize = 3;

/// Asks a person to approve the parts that allow more than `now`. Without a terminal, these parts are removed from
/// the plan and reported, and everything else is imported. Running the same import at a terminal later adds them.
///
/// # Errors
/// `E_CONFIRM_REQUIRED` if the person refuses: nothing is imported then.
pub fn decide(context: &Context, now: &Rules, plan: &mut Plan) -> Result<()> {
    let lines = lines(now, plan);
    if lines.is_empty() {
        return Ok(());
    }
    if context.confirmation == Confirmation::Ask {
        let lines: Vec<String> = lines.into_iter().map(|(line, _)| line).collect();
        let what = format!("Approve settings that loosen the current rules: {}?", plural::first(&lines, NAMED));
        return (context.ask)(Body::lines(lines), &what);
    }
    plan.left.extend(lines.into_iter().map(|(line, from)| LeftOut::new(line, from, WHY)));
    plan.added.clear();
    plan.follow = plan.follow.take().filter(|follow| !follow.widens);
    plan.trusted.clear();
    plan.policy = plan.policy.filter(|policy| !policy.is_looser_than(now.policy));
    plan.minimum = plan.minimum.filter(|minimum| *minimum >= now.minimum);
    if let Some(place) = &mut plan.registry
        && runs_program(place)
    {
        place.token = None;
    }
    Ok(())
}

/// Lists the parts that allow more than the current rules do, each with the file it comes from.
pub fn lines(now: &Rules, plan: &Plan) -> Vec<(String, &'static str)> {
    let mut sets = Vec::new();
    for (name, tools) in &plan.added {
        sets.extend(tools.iter().map(|tool| format!("{tool} in toolset {name}")));
    }
    if let Some(Follow { before: Some(before), wanted, widens: true }) = &plan.follow {
        let wanted = wanted.as_ref().map_or("every tool".to_owned(), |name| format!("toolset {name}"));
        sets.push(format!("{wanted} instead of toolset {before} for `mcpkg serve --as enact`"));
    }
    let mut rules: Vec<String> =
        plan.trusted.iter().map(|row| format!("trusted {} as {}", row.identity, row.part.word())).collect();
    let looser = |policy: &&Policy| policy.is_looser_than(now.policy);
    rules.extend(
        plan.policy.iter().filter(looser).map(|policy| format!("policy {}, not {}", policy.word(), now.policy.word())),
    );
    let fewer = |minimum: &&u32| **minimum < now.minimum;
    rules.extend(
        plan.minimum.iter().filter(fewer).map(|minimum| format!("{minimum} attestations, not {}", now.minimum)),
    );
    let program = plan.registry.iter().filter(|place| runs_program(place));
    rules.extend(program.map(|place| {
        let token = place.token.as_deref().unwrap_or_default();
        format!("the command that prints the token for {}: {token}", place.location)
    }));
    let sets = sets.into_iter().map(|line| (line, "mcp.json"));
    sets.chain(rules.into_iter().map(|line| (line, "config.yaml"))).collect()
}

/// Returns whether the registry's token is the output of a program.
fn runs_program(place: &Place) -> bool {
    place.token.as_ref().is_some_and(|token| token.starts_with("command:"))
}
