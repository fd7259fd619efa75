//! `mcpkg client check`: does what an agent does when it starts, and reports each step.

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::agents;
use crate::agents::homes::Homes;
use crate::client::GROUP;
use crate::client::check::report::Report;
use crate::client::config_file::ConfigFile;
use crate::client::our_entry::our_entries;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Table};

/// Try the connected agents
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Check {
    /// Name of the agent [default: every connected agent]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(agents::names()))]
    agent: Option<String>,
}

impl Operation for Check {
    const TOOL: &'static str = "check_client";
    const CLI: &'static [&'static str] = &["client", "check"];
    const TITLE: &'static str = "Test the connected agents";
    const ABOUT: &'static str = "Start the server as each connected agent would, and report every step";
    const HELP: &'static str = "For each agent, mcpkg starts the server in the folder and with the environment \
        that the agent would use. For example, Codex passes only eleven environment variables to a server. Then \
        mcpkg sends the message that the agent would send first. The exit status is 1 if any step fails.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg client check", "mcpkg client check codex"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let homes = Homes::find()?;
        let agents = match &self.agent {
            Some(name) => vec![agents::named(name)?],
            None => agents::ALL.to_vec(),
        };
        let mut reports = Vec::new();
        for agent in agents {
            for config in ConfigFile::all(context, agent)? {
                match our_entries(context, &config) {
                    Ok(entries) => {
                        for entry in entries {
                            reports.push(Report::of(context, &homes, &entry));
                            if context.is_cancelled() {
                                return Err(Error::new(Code::Cancelled, "Cancelled"));
                            }
                        }
                    }
                    Err(error) => reports.push(Report::unread(&config, &error)),
                }
            }
        }
        if reports.is_empty() {
            let (message, name) = match &self.agent {
                Some(name) => (format!("{} is not connected", agents::named(name)?.title), name.as_str()),
                None => ("No agents are connected".to_owned(), "NAME"),
            };
            return Err(
                Error::new(Code::NotFound, message).hint(format!("connect the agent with `mcpkg client add {name}`"))
            );
        }
        Ok(reply(&reports))
    }
}

fn reply(reports: &[Report]) -> Reply {
    let table = Table {
        columns: &["AGENT", "SCOPE", "STEP", "RESULT", "MS", "WHAT HAPPENED"],
        rows: reports.iter().flat_map(Report::rows).collect(),
        empty: "Nothing was tested".to_owned(),
    };
    let failed = reports.iter().any(Report::failed);
    let data = json!({ "ok": !failed, "clients": reports.iter().map(Report::data).collect::<Vec<_>>() });
    let mut reply = Reply::new(Body::Table(table), data);
    reply.failed = failed;
    for advice in reports.iter().flat_map(Report::advice) {
        if !reply.hints.contains(advice) {
            reply.hints.push(advice.clone());
        }
    }
    reply
}
