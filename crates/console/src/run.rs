//! Builds the screen of a workflow run or command run.

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::{rows, text};
use crate::figure::{Figure, Shows};
use crate::place::Place;
use crate::reply;
use crate::screen::{Line, Screen, Tone};
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

/// Shows the steps and attempts of a run. If the effect of a step is uncertain, the actions offer to retry the step,
/// skip it, give its answer, or cancel the run.
pub fn screen(context: &Context, id: &str) -> Result<Screen> {
    let shown = Invocation::new("workflow runs").with(id);
    let found = shown.run(context)?;
    let mut lines = reply::lines(&found);
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
        lines.push(Line::plain("  r  retry: send it again; its effect may happen twice"));
        lines.push(Line::plain("  s  skip: go on without its answer"));
        lines.push(Line::plain("  a  done: it worked, and you type its answer"));
        let answer = |key, label, word: &str, question: &str| {
            let call = Invocation::new("workflow resume").with(id).option("--step", &format!("{step}={word}"));
            Action::call(key, label, call.asking(question))
        };
        actions.push(answer('r', "retry", "retry", "Send the request again? Its effect may happen twice."));
        actions.push(answer('s', "skip", "skip", "Go on without its answer?"));
        let done = Invocation::new("workflow resume").with(id).option("--step", &format!("{step}=done"));
        actions.push(Action::call('a', "done", done));
    }
    let timeline = timeline::of(&data, context.clock.now()).map(|chart| Figure::before(0, Shows::Chart(chart)));
    Ok(Screen::text(format!("Workflows > run of {name}    {}", state.to_uppercase()), lines)
        .with(actions)
        .figures(timeline))
}
