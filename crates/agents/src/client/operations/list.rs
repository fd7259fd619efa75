//! `mcpkg client list`: lists the agents, which of them are installed, and which use mcpkg.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::agents;
use crate::agents::homes::Homes;
use crate::client::GROUP;
use crate::client::binary::on_path;
use crate::client::config_file::{ConfigFile, is_installed};
use crate::client::our_entry::{OurEntry, our_entries};
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Table};

/// List the agents
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_clients";
    const CLI: &'static [&'static str] = &["client", "list"];
    const TITLE: &'static str = "List the agents";
    const ABOUT: &'static str = "List agents: which are installed, which use mcpkg, and the configuration file and \
        command of each";
    const EXAMPLES: &'static [&'static str] = &["mcpkg client list"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("clients");
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let homes = Homes::find()?;
        let mut rows = Vec::new();
        let mut data = Vec::new();
        let mut warnings = Vec::new();
        for agent in agents::ALL {
            let installed = is_installed(agent, &homes);
            let mut entries = Vec::new();
            for config in ConfigFile::all(context, agent)? {
                match our_entries(context, &config) {
                    Ok(found) => entries.extend(found),
                    Err(error) => warnings.push(error.message().to_owned()),
                }
            }
            let word = if installed { "installed" } else { "not found" }.to_owned();
            if entries.is_empty() {
                let nothing = ["-"; 5].map(str::to_owned);
                rows.push([agent.name.to_owned(), word.clone()].into_iter().chain(nothing).collect());
            }
            for found in &entries {
                rows.push(vec![
                    agent.name.to_owned(),
                    word.clone(),
                    found.name.clone(),
                    found.config.scope.name().to_owned(),
                    found.config.path.display().to_string(),
                    found.runs.shown(),
                    found.binary.shown().to_owned(),
                ]);
            }
            data.push(json!({
                "agent": agent.name,
                "title": agent.title,
                "installed": installed,
                "can_be_asked": agent.headless.is_some() && on_path(agent.client.program).is_some(),
                "entries": entries.iter().map(OurEntry::data).collect::<Vec<_>>(),
            }));
        }
        let table = Table {
            columns: &["AGENT", "STATE", "NAME", "SCOPE", "FILE", "RUNS", "BINARY"],
            rows,
            empty: "No supported agents".to_owned(),
        };
        let none = data.iter().all(|agent| agent["entries"] == json!([]));
        let reply = Reply::new(Body::Table(table), json!({ "clients": data })).warn(warnings);
        Ok(if none { reply.hint("connect an agent with `mcpkg client add NAME`") } else { reply })
    }
}
