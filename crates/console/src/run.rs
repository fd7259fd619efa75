//! Builds the screen of a workflow run or command run.

use serde_json::Value;

use mcpkg_base::clock::Millis;
use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{rows, text};
use crate::figure::{Figure, Shows};
use crate::place::Place;
use crate::reply;
use crate::screen::{Line, Screen, Tone};
use crate::time::local;
use crate::timeline;

/// Returns the actions for a run in this state.
pub fn actions(id: &str, state: &str) -> Vec<Action> {
    let run = |words: &str| Invocation::new(words).with(id);
    let cancel = Action::call('x', "cancel", run("workflow cancel").asking("Cancel the run? What was done stays."));
    match state {
        "running" | "waiting" | "pending" => vec![Action::call('z', "pause", run("workflow pause")), cancel],
        "paused" | "interrupted" => vec![Action::call('z', "resume", run("workflow resume")), cancel],
        "failed" => vec![
            Action::call('z', "retry", run("workflow resume").flag("--retry")),
            Action::open('r', "retry from a step", Place::Filled("workflow resume".to_owned(), id.to_owned())),
        ],
        "uncertain" => vec![cancel],
        _ => Vec::new(),
    }
}

/// Returns a sentence about the step that a run is at, such as `Step create_app is under way (2 of 3).` Returns `None`
/// between two steps, and for a run that cannot be read.
pub fn under_way(context: &Context, id: &str) -> Option<String> {
    let data = Invocation::new("workflow runs").with(id).read(context).ok()?;
    let steps = rows(&data, "steps");
    let does = |step: &Value| match text(step, "state") {
        "running" => Some("is under way"),
        "waiting" => Some("waits for its next attempt"),
        _ => None,
    };
    let (at, does) = steps.iter().enumerate().find_map(|(at, step)| Some((at, does(step)?)))?;
    Some(format!("Step {} {does} ({} of {}).", text(&steps[at], "id"), at + 1, steps.len()))
}

/// Makes the time of an attempt local: `  1 2026-11-28T12:48:09.250Z POST ...`.
fn with_local_time(line: Line, now: Millis) -> Line {
    let text = line.text();
    let attempt = text.strip_prefix("  ").and_then(|rest| {
        let (number, rest) = rest.split_once(' ')?;
        let (at, rest) = rest.split_once(' ')?;
        Some(format!("  {} {} {rest}", number.parse::<u64>().ok()?, local(at, now)?))
    });
    attempt.map_or(line, |attempt| Line::quoted(&attempt))
}

/// Shows the steps and attempts of a run. If the effect of a step is uncertain, the actions offer to retry the step,
/// skip it, give its answer, or cancel the run.
pub fn screen(context: &Context, id: &str) -> Result<Screen> {
    let shown = Invocation::new("workflow runs").with(id);
    let found = shown.run(context)?;
    let now = context.clock.now();
    let mut lines: Vec<Line> =
        reply::lines(&found, context.asked_in).into_iter().map(|line| with_local_time(line, now)).collect();
    let data = found.into_value();
    let runs = rows(&data, "runs");
    let state = runs.first().map_or_else(|| text(&data, "state"), |run| text(run, "state"));
    let name = runs.first().map_or_else(|| text(&data, "name"), |run| text(run, "name"));
    let mut actions = actions(id, state);
    let steps = rows(&data, "steps");
    if let Some(step) = steps.iter().find(|step| text(step, "state") == "uncertain") {
        let step = match text(step, "step") {
            "" => text(step, "id"),
            step => step,
        };
        lines.push(Line::blank());
        lines.push(
            Line::plain("Did ")
                .then(Tone::Name, step)
                .then(Tone::Plain, " do its work? Look at the API, then choose:")
                .stop(),
        );
        lines.push(
            Line::plain("  ").then_keys("r  ").then(Tone::Plain, "retry: send it again; its effect may happen twice"),
        );
        lines.push(Line::plain("  ").then_keys("s  ").then(Tone::Plain, "skip: go on without its answer"));
        lines.push(Line::plain("  ").then_keys("a  ").then(Tone::Plain, "done: it worked, and you type its answer"));
        let answer = |key, label, word: &str, question: &str| {
            let call = Invocation::new("workflow resume").with(id).option("--step", &format!("{step}={word}"));
            Action::call(key, label, call.asking(question))
        };
        actions.push(answer('r', "retry", "retry", "Send the request again? Its effect may happen twice."));
        actions.push(answer('s', "skip", "skip", "Go on without its answer?"));
        let done = Invocation::new("workflow resume").with(id).option("--step", &format!("{step}=done"));
        actions.push(Action::call('a', "done", done));
    }
    let timeline = timeline::of(&data, now).map(|chart| Figure::before(0, Shows::Chart(chart)));
    Ok(Screen::text(format!("Workflows > run of {name}    {}", state.to_uppercase()), lines)
        .with(actions)
        .figures(timeline))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::exact;

    #[test]
    fn the_time_of_an_attempt_is_local() {
        let now = mcpkg_base::clock::from_rfc3339("2026-11-28T12:48:09Z").expect("a time");
        let shown = |text: &str| with_local_time(Line::quoted(text), now).text();
        let at = exact(now, now);
        assert_eq!(
            shown("  1 2026-11-28T12:48:09.250Z POST a/b {}: ok 201"),
            format!("  1 {at} POST a/b {{}}: ok 201")
        );
        for same in ["- look hosting:apps:list: succeeded", "    it answered: 2026-11-28T12:48:09Z x", "  1 2 3"] {
            assert_eq!(shown(same), same);
        }
    }
}
