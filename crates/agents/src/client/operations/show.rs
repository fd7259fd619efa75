//! `mcpkg client show`: prints the entry for an agent without writing it.

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::arguments::Connection;
use crate::agents;
use crate::client::GROUP;
use crate::client::binary::Binary;
use crate::client::config_file::{ConfigFile, Scope};
use crate::client::our_entry::check_name;
use crate::client::runs::Runs;
use crate::client::standing::Standing;
use mcpkg_base::error::Result;
use mcpkg_core::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};

/// Show an agent's entry
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Name of the agent
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(agents::names()))]
    agent: String,
    /// Name of the entry in the agent's configuration [default: mcpkg]
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    name: Option<String>,
    #[command(flatten)]
    #[serde(flatten)]
    connection: Connection,
}

impl Operation for Show {
    const TOOL: &'static str = "show_client";
    const CLI: &'static [&'static str] = &["client", "show"];
    const TITLE: &'static str = "Show an agent's entry";
    const ABOUT: &'static str = "Show an agent's entry for mcpkg, the file of the entry, and the text to add by hand";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg client show vscode", "mcpkg client show cursor --http https://tools.example/mcp"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let agent = agents::named(&self.agent)?;
        let name = self.name.as_deref().unwrap_or_else(|| self.connection.default_name());
        check_name(name)?;
        let document = agent.document();
        let mut text = String::new();
        let mut data = Vec::new();
        let mut warnings = Vec::new();
        for config in ConfigFile::all(context, agent)? {
            let (scope, path) = (config.scope, config.path.display().to_string());
            let standing = match Standing::of(context, config, name) {
                Ok(standing) => standing,
                Err(error) => {
                    warnings.push(error.message().to_owned());
                    data.push(json!({ "scope": scope, "path": path, "problem": error.message() }));
                    continue;
                }
            };
            warnings.extend(standing.warning());
            let runs = standing.runs();
            let binary = runs.as_ref().map(Binary::of);
            text.push_str(&format!("{} ({path}): ", heading(scope)));
            match (&standing.entry, &runs) {
                (None, _) => text.push_str("no entry\n"),
                (Some(entry), _) => {
                    let fields = entry.as_object().cloned().unwrap_or_default().into_iter().collect();
                    text.push_str(&format!("'{}'\n\n{}", name, document.snippet(name, fields)));
                }
            }
            data.push(json!({
                "scope": scope,
                "path": path,
                "entry": standing.entry,
                "runs": runs.as_ref().map(Runs::shown),
                "ours": standing.is_ours(),
                "binary": binary.map(Binary::name),
            }));
        }
        let fields = self.connection.wanted(context, Scope::User)?.entry(agent)?;
        let snippet = document.snippet(name, fields.clone());
        text.push_str(&format!("\nTo add by hand:\n\n{snippet}"));
        let wanted = Value::Object(fields.into_iter().collect());
        let data = json!({
            "agent": agent.name,
            "name": name,
            "places": data,
            "snippet": snippet,
            "wanted": wanted,
        });
        Ok(Reply::new(Body::Text(text), data).warn(warnings))
    }
}

fn heading(scope: Scope) -> &'static str {
    match scope {
        Scope::User => "The user's",
        Scope::Project => "This folder's",
    }
}
