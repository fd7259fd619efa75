//! Says which part of a run an event of the feed is about: its beginning, one of its steps, or how it ended.

use std::collections::HashMap;

use serde_json::Value;

use mcpkg_base::clock::Millis;
use mcpkg_core::op::Context;

use crate::action::Invocation;
use crate::data::{rows, text, time};

/// How many of the newest runs are read for the states of runs.
const RUNS: &str = "50";

/// Returns the id of the run that an event is about. The subject of a step's event is `RUN/STEP`.
pub fn run(event: &Value) -> Option<&str> {
    let is_run = matches!(text(event, "kind"), "command.run" | "workflow.run");
    text(event, "subject").split('/').next().filter(|run| is_run && !run.is_empty())
}

/// Returns which step an event is about, such as `step add_db`. The only step of a command has no name that people know.
pub fn step(event: &Value) -> Option<String> {
    let (_, step) = text(event, "subject").split_once('/').filter(|_| run(event).is_some())?;
    Some(if text(event, "kind") == "command.run" { "request".to_owned() } else { format!("step {step}") })
}

/// What the events about whole runs say, by the numbers of the events: `began`, or the state of the run.
#[derive(Default)]
pub struct Phases(HashMap<i64, String>);

impl Phases {
    /// Finds the phases of the runs among `events`, which come newest first.
    pub fn of(context: &Context, events: &[&Value]) -> Self {
        let mut phases = Self::default();
        let number = |event: &Value| event["seq"].as_i64().unwrap_or_default();
        let whole =
            || events.iter().filter(|event| step(event).is_none()).filter_map(|event| Some((run(event)?, event)));
        // The last event that is inserted for a run is its oldest one.
        let oldest: HashMap<&str, &&Value> = whole().collect();
        let begins = |(run, event): &(&&str, &&&Value)| began_at(run).is_some_and(|at| Some(at) == time(event, "at"));
        for (_, event) in oldest.iter().filter(begins) {
            phases.0.insert(number(event), "began".to_owned());
        }
        let mut newest: HashMap<&str, &Value> = HashMap::new();
        for (run, event) in whole() {
            newest.entry(run).or_insert(event);
        }
        newest.retain(|_, event| text(event, "outcome") == "ok" && !phases.0.contains_key(&number(event)));
        if newest.is_empty() {
            return phases;
        }
        // The events do not say whether a run succeeded or was paused.
        let runs = Invocation::new("workflow runs").option("--limit", RUNS).read(context).unwrap_or_default();
        for found in rows(&runs, "runs") {
            if let Some(event) = newest.get(text(found, "run")) {
                phases.0.insert(number(event), text(found, "state").to_owned());
            }
        }
        phases
    }

    /// Returns the words to add to the row of an event, such as `: step add_db`; empty if it is not about a run.
    pub fn words(&self, event: &Value) -> String {
        let own = || event["seq"].as_i64().and_then(|seq| self.0.get(&seq).cloned());
        step(event).or_else(own).map(|phase| format!(": {phase}")).unwrap_or_default()
    }
}

/// Returns when a run began, in whole seconds like the times of events. The id of a run begins with its time.
fn began_at(run: &str) -> Option<Millis> {
    let digits: String = run.chars().filter(|c| *c != '-').take(12).collect();
    Millis::from_str_radix(&digits, 16).ok().map(|at| at - at % 1_000)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_event_names_its_step() {
        let event = |kind: &str, subject: &str| json!({ "seq": 1, "kind": kind, "subject": subject });
        let named = |kind: &str, subject: &str| step(&event(kind, subject));
        assert_eq!(named("workflow.run", "0198/add_db").as_deref(), Some("step add_db"));
        assert_eq!(named("command.run", "0198/command").as_deref(), Some("request"));
        assert_eq!((named("workflow.run", "0198"), named("prompt.update", "a/b")), (None, None));
        let phases = Phases(HashMap::from([(1, "succeeded".to_owned())]));
        assert_eq!(phases.words(&event("workflow.run", "0198")), ": succeeded");
        assert_eq!(phases.words(&event("workflow.run", "0198/add_db")), ": step add_db");
        assert_eq!(began_at("0198f3a1-b2c3-7000-8000-000000000000"), Some(0x0198_f3a1_b2c3 / 1000 * 1000));
    }
}
