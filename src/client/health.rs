//! What `mcpkg doctor` says of the agents.

use super::agent::Agent;
use super::list::{Binary, found};
use super::place::Place;
use crate::error::Error;
use crate::op::{Context, Finding, Health};

const AREA: &str = "clients";

/// Looks at every agent's entry without starting anything.
pub fn health(context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    for agent in Agent::ALL {
        let places = match Place::all(context, agent) {
            Ok(places) => places,
            Err(error) => return vec![unread(&error)],
        };
        for place in &places {
            match found(context, place) {
                Ok(entries) => findings.extend(entries.iter().map(|found| {
                    let (title, scope) = (agent.title(), place.scope.name());
                    let (health, what) = match found.binary {
                        Binary::This | Binary::None => (Health::Ok, format!("runs {}", found.runs.shown())),
                        Binary::Another => (Health::Note, format!("runs another mcpkg: {}", found.runs.shown())),
                        Binary::Missing => (Health::Problem, format!("runs what is not there: {}", found.runs.shown())),
                    };
                    let finding = Finding::new(AREA, health, format!("{title} ({scope}) {what}"));
                    match health {
                        Health::Ok => finding,
                        _ => finding.action(found.add()),
                    }
                })),
                Err(error) => findings.push(unread(&error)),
            }
        }
    }
    if findings.is_empty() {
        let none = Finding::new(AREA, Health::Note, "no agent is connected");
        findings.push(none.action("mcpkg client add NAME"));
    }
    findings
}

fn unread(error: &Error) -> Finding {
    let finding = Finding::new(AREA, Health::Problem, error.message());
    match error.hints().first() {
        Some(hint) => finding.action(hint),
        None => finding,
    }
}
