//! Builds the screen of a proposal: a change that was found in a deployed file, a source or a synced folder.

use mcpkg_base::error::Result;
use mcpkg_core::op::Context;

use crate::action::{Action, Invocation};
use crate::data::text;
use crate::diff::{self, Diff, three};
use crate::place::Place;
use crate::reviewed::is_reviewed;
use crate::screen::{Line, Screen, Tone};

pub fn screen(context: &Context, id: &str, out: &[usize]) -> Result<Screen> {
    let data = Invocation::new("evolve show").with(id).read(context)?;
    let module = text(&data, "module_id");
    let title = format!("Inbox > change of {module}");
    let head =
        vec![Line::of(Tone::Name, module).then(Tone::Plain, "  ").then(Tone::Dim, text(&data, "path")), Line::blank()];
    let is_open = text(&data, "state") == "open";
    let (base, proposed) = (text(&data, "base"), text(&data, "proposed"));
    if let Some(now) = data["now"].as_str() {
        let line = "Somebody changed it since the proposal, so it cannot be accepted. Reject it, or propose the change again with `mcpkg evolve propose`";
        let head = head.into_iter().chain([Line::of(Tone::Warning, "WARNING ").then(Tone::Plain, line), Line::blank()]);
        let sides = ["when it was proposed", "now", "proposed"].map(str::to_owned);
        let screen = Screen::diff(title, three(base, now, proposed, sides).under(head.collect()));
        let reject = actions(id, &[]).into_iter().filter(|action| action.key != 'a' && is_open);
        return Ok(screen.with(reject));
    }
    let unified = text(&data, "unified");
    let diff = diff::parse(unified).with_text(proposed, 1).named(["project", "proposed"]).under(head);
    let can_choose = is_open && data["in_part"].as_bool() == Some(true) && diff.hunks() > 1;
    let (diff, chosen) = match can_choose {
        true => {
            let chosen = diff.chosen(out);
            (diff.choosing(out, |out| Place::Proposal(id.to_owned(), out)), chosen)
        }
        false => (diff, Vec::new()),
    };
    let mut found = if is_open { actions(id, &hunks(&diff, &chosen)) } else { Vec::new() };
    if can_choose && chosen.is_empty() {
        found.retain(|action| action.key != 'a');
    }
    let title = diff::titled(title, is_reviewed(context, unified));
    Ok(Screen::diff(title, diff).with(found).with(diff::review(unified)))
}

/// Returns the hunks for the option `--hunks`. Returns an empty list if all hunks are chosen, because the option is not
/// needed then.
pub fn hunks(diff: &Diff, chosen: &[usize]) -> Vec<usize> {
    if chosen.len() == diff.hunks() { Vec::new() } else { chosen.to_vec() }
}

/// Makes a call accept only these hunks, by `--hunks`. Without hunks, leaves the call unchanged.
pub fn in_part(call: Invocation, hunks: &[usize]) -> Invocation {
    let hunks: Vec<String> = hunks.iter().map(usize::to_string).collect();
    if hunks.is_empty() { call } else { call.option("--hunks", &hunks.join(",")) }
}

pub fn actions(id: &str, hunks: &[usize]) -> Vec<Action> {
    let question = match hunks {
        [] => format!("Accept change {id} into the project?"),
        [one] => format!("Accept hunk {one} of change {id} into the project? The rest stays proposed."),
        more => format!("Accept {} hunks of change {id} into the project? The rest stays proposed.", more.len()),
    };
    let accept = in_part(Invocation::new("evolve accept").with(id), hunks).asking(question);
    vec![
        Action::call('a', "accept", accept),
        Action::call(
            'd',
            "reject",
            Invocation::new("evolve reject")
                .with(id)
                .asking(format!("Reject change {id}? The project stays as it is.")),
        ),
        Action::note(),
    ]
}
