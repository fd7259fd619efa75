//! Checks the agents' entries for `mcpkg doctor`.

use super::binary::Binary;
use super::config_file::ConfigFile;
use super::our_entry::our_entries;
use crate::agents;
use mcpkg_base::error::Error;
use mcpkg_core::op::{Context, Finding, Health};

const AREA: &str = "clients";

/// Checks every agent's entry without starting anything.
pub fn health(context: &Context) -> Vec<Finding> {
    let mut findings = Vec::new();
    for agent in agents::ALL {
        let configs = match ConfigFile::all(context, agent) {
            Ok(configs) => configs,
            Err(error) => return vec![unread(&error)],
        };
        for config in &configs {
            match our_entries(context, config) {
                Ok(entries) => findings.extend(entries.iter().map(|found| {
                    let (title, scope) = (agent.title, config.scope.name());
                    let (health, what) = match found.binary {
                        Binary::This | Binary::None => (Health::Ok, format!("runs {}", found.runs.shown())),
                        Binary::Another => (Health::Note, format!("runs another mcpkg: {}", found.runs.shown())),
                        Binary::Missing => {
                            (Health::Problem, format!("runs a program that does not exist: {}", found.runs.shown()))
                        }
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
        let none = Finding::new(AREA, Health::Note, "no agents are connected");
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
