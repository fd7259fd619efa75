//! What the console offers after an operation was refused.

use mcpkg_base::error::{Code, Error};

use crate::action::{Action, Invocation};
use crate::data::{count, number};
use crate::place::Place;

/// Returns what to offer instead of a refused call. A rollback that would replace files that changed after they were
/// deployed can show what it would change, or replace them. For a run that cannot be resumed, the run can be opened: its
/// screen asks what the error asks for.
pub fn instead_of(call: &Invocation, error: &Error) -> Vec<Action> {
    if call.words == "workflow resume" {
        let run = call.first().map(|run| Action::open('r', "open the run", Place::Run(run.to_owned())));
        return run.into_iter().collect();
    }
    let is_known = call.words == "rollback" && !call.has("--adopt");
    let details = error.details().filter(|_| is_known && error.code() == Code::AdoptConfirmRequired);
    let Some(details) = details else { return Vec::new() };
    let mut preview = call.clone().flag("--dry-run");
    // Nothing has to be confirmed.
    (preview.destroys, preview.question) = (None, None);
    let files = match number(details, "adopt_updates") {
        1 => "this file".to_owned(),
        more => format!("these {}", count(more, "file")),
    };
    let replace = Action::call('b', "bring back, and replace", call.clone().flag("--adopt"));
    vec![Action::call('p', "show what would change", preview), Action { what: files, ..replace }]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_refused_rollback_can_be_looked_at_or_made_to_replace_the_files() {
        let refused = |files: u64| {
            let details = json!({ "flag": "--adopt", "adopt_updates": files, "sample_paths": [] });
            Error::new(Code::AdoptConfirmRequired, "refused").with_details(details)
        };
        let call = Invocation::new("rollback").option("--to", "pristine").destroying("pristine");
        let offers = instead_of(&call, &refused(2));
        let words: Vec<String> = offers.iter().map(Action::words).collect();
        assert_eq!(words, ["show what would change", "bring back, and replace these 2 files"]);
        let calls: Vec<&Invocation> = offers
            .iter()
            .filter_map(|offer| match &offer.does {
                crate::Does::Call(call) => Some(&**call),
                _ => None,
            })
            .collect();
        assert_eq!(calls[0].command(), "mcpkg rollback '--to=pristine' --dry-run");
        assert_eq!(calls[1].command(), "mcpkg rollback '--to=pristine' --adopt");
        assert_eq!((&calls[0].destroys, &calls[1].destroys), (&None, &call.destroys));
        assert_eq!(instead_of(&call, &refused(1))[1].words(), "bring back, and replace this file");
        assert!(instead_of(calls[1], &refused(1)).is_empty());
        assert!(instead_of(&call, &Error::new(Code::NotFound, "no")).is_empty());
        assert!(instead_of(&Invocation::new("sync"), &refused(1)).is_empty());
    }

    #[test]
    fn the_run_that_cannot_be_resumed_can_be_opened() {
        let resume = Invocation::new("workflow resume").with("r1").flag("--retry");
        let offers = instead_of(&resume, &Error::new(Code::NotFound, "no"));
        assert!(matches!(&offers[..], [Action { does: crate::Does::Open(Place::Run(id)), .. }] if id == "r1"));
    }
}
