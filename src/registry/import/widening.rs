//! What of a plan lets through more than now: a person at a terminal decides it, and nobody else does.

use super::plan::{LeftOut, Plan};
use crate::error::Result;
use crate::op::{Body, Confirmation, Context};
use crate::plural;
use crate::registry::trust::{Policy, Rules};
use crate::store::tools::registries::Place;

/// Why it is left out.
const WHY: &str =
    "it lets through more than now, which a person at a terminal decides: import again there, without --yes";

/// What a question names of it; it counts the rest.
const NAMED: usize = 3;

/// The file that says it.
const FROM: &str = "config.yaml";

/// Asks a person about what lets through more than `now`. Where none sits at a terminal, it is left out of the plan and told:
/// all else is taken, and the same import at a terminal takes the rest.
///
/// # Errors
/// `E_CONFIRM_REQUIRED` where the person says no: nothing is taken then.
pub fn decide(context: &Context, now: &Rules, plan: &mut Plan) -> Result<()> {
    let lines = lines(now, plan);
    if lines.is_empty() {
        return Ok(());
    }
    if context.confirmation == Confirmation::Ask {
        let what = format!("Allow more than now: {}?", plural::first(&lines, NAMED));
        return (context.ask)(Body::lines(lines), &what);
    }
    plan.left.extend(lines.into_iter().map(|line| LeftOut::new(line, FROM, WHY)));
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

/// Says what lets through more than now.
pub fn lines(now: &Rules, plan: &Plan) -> Vec<String> {
    let mut lines: Vec<String> =
        plan.trusted.iter().map(|row| format!("trusted {} as {}", row.identity, row.part.word())).collect();
    let looser = |policy: &&Policy| policy.is_looser_than(now.policy);
    lines.extend(
        plan.policy.iter().filter(looser).map(|policy| format!("policy {}, not {}", policy.word(), now.policy.word())),
    );
    let fewer = |minimum: &&u32| **minimum < now.minimum;
    lines.extend(
        plan.minimum.iter().filter(fewer).map(|minimum| format!("{minimum} attestations, not {}", now.minimum)),
    );
    let program = plan.registry.iter().filter(|place| runs_program(place));
    lines.extend(program.map(|place| {
        format!(
            "the program that prints the token of {}: {}",
            place.location,
            place.token.as_deref().unwrap_or_default()
        )
    }));
    lines
}

/// Whether the token of a registry is what a program prints.
fn runs_program(place: &Place) -> bool {
    place.token.as_ref().is_some_and(|token| token.starts_with("command:"))
}
