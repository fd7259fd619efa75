//! `mcpkg client show`.

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::GROUP;
use super::add::default_name;
use super::agent::Agent;
use super::change::Standing;
use super::document::Document;
use super::entry::{Runs, Wanted};
use super::list::Binary;
use super::place::{Place, Scope};
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply};

/// Show an agent's entry
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Agent
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(Agent::NAMES))]
    agent: String,
    /// Name of the entry
    #[arg(long, value_name = "NAME", default_value_t = default_name())]
    #[serde(default = "default_name")]
    name: String,
    /// What to put in by hand connects to this URL, as in `client add`
    #[arg(long, value_name = "URL")]
    http: Option<String>,
    /// Environment variable that the agent takes the URL's bearer key from
    #[arg(long, value_name = "NAME", requires = "http")]
    key_env: Option<String>,
}

impl Operation for Show {
    const TOOL: &'static str = "show_client";
    const CLI: &'static [&'static str] = &["client", "show"];
    const TITLE: &'static str = "Show an agent's entry";
    const ABOUT: &'static str = "Show an agent's entry as it stands, the file it is in, and what to put in by hand";
    const HELP: &'static str =
        "Examples:\n  mcpkg client show vscode\n  mcpkg client show cursor --http https://tools.example/mcp";
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let agent = Agent::named(&self.agent)?;
        super::add::check_name(&self.name)?;
        let document = Document::of(agent);
        let mut text = String::new();
        let mut data = Vec::new();
        let mut warnings = Vec::new();
        for place in Place::all(context, agent)? {
            let (scope, path) = (place.scope, place.file.display().to_string());
            let standing = match Standing::of(context, place, &self.name) {
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
                    text.push_str(&format!("'{}'\n\n{}", self.name, document.snippet(&self.name, fields)));
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
        let wanted = match &self.http {
            Some(url) => Wanted::url(context, Scope::User, url, self.key_env.as_deref())?,
            None => Wanted::start(context, Scope::User)?,
        };
        let fields = wanted.entry(agent)?;
        let snippet = document.snippet(&self.name, fields.clone());
        text.push_str(&format!("\nTo put in by hand:\n\n{snippet}"));
        let wanted = Value::Object(fields.into_iter().collect());
        let data = json!({
            "agent": agent.name(),
            "name": self.name,
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
