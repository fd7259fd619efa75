//! Builds the command line that `mcpkg ask` runs, and the question with which a person approves it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use mcpkg_agents::agents::agent::Agent;
use mcpkg_agents::agents::headless::Headless;
use mcpkg_agents::{agents, client};
use mcpkg_base::approved::Kind;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::process::{Environment, Program};
use mcpkg_base::shell;
use mcpkg_core::consent::approvable::{Approvable, Askable};
use mcpkg_core::op::Context;

use crate::CONTRACT;

/// The file in a run's folder to which the mcpkg server attached to the agent writes a line about each call.
pub const CALLS: &str = "calls.jsonl";

/// A placeholder for the temporary folder of a run, so that an approval covers every run.
const FOLDER: &str = "FOLDER";

/// An agent that runs on a request, with mcpkg attached.
pub struct Launch {
    pub agent: &'static Agent,
    pub headless: &'static Headless,
    program: PathBuf,
    /// The project that the attached server uses.
    pub project: String,
    /// The program and the arguments that start the attached server.
    server: (String, Vec<String>),
    /// The `mcpkg ask` command, for a person to repeat at a terminal.
    again: String,
}

/// Returns the agents that can run without a screen, in the order in which `ask` prefers them.
fn able() -> impl Iterator<Item = (&'static Agent, &'static Headless)> {
    agents::ALL.iter().filter_map(|agent| Some((*agent, agent.headless.as_ref()?)))
}

/// Returns the names of the agents that can run without a screen.
pub fn names() -> impl Iterator<Item = &'static str> {
    able().map(|(agent, _)| agent.name)
}

impl Launch {
    pub fn of(context: &Context, name: Option<&str>, text: &str) -> Result<Self> {
        let installed = |(agent, headless): (&'static Agent, &'static Headless)| {
            Some((agent, headless, client::on_path(agent.client.program)?))
        };
        let found = able().filter(|(agent, _)| name.is_none_or(|name| agent.name == name)).find_map(installed);
        let (agent, headless, program) = found.ok_or_else(|| missing(name, text))?;
        let project = context.read(|_, project| Ok(project.name.clone()))?;
        let again = format!("mcpkg ask --agent {} {}", agent.name, shell::quote(text));
        Ok(Self { agent, headless, program, project, server: client::assistant(context)?, again })
    }

    /// Returns the agent's arguments for a run in `folder`, and the name and content of the file that it needs there.
    fn line(&self, folder: &Path) -> (Vec<String>, Option<(&'static str, String)>) {
        let (program, args) = &self.server;
        let calls = ["--calls".to_owned(), folder.join(CALLS).to_string_lossy().into_owned()];
        let args: Vec<String> = args.iter().cloned().chain(calls).collect();
        self.headless.line(self.agent.client.start, program, &args)
    }

    /// Writes the file that the agent needs in `folder`, if any, and returns the program to start there.
    pub fn prepared(&self, folder: &Path) -> Result<Program> {
        let (args, file) = self.line(folder);
        if let Some((name, text)) = file {
            let path = folder.join(name);
            if let Some(parent) = path.parent() {
                disk::make_private(parent)?;
            }
            disk::write_unsynced(&path, text.as_bytes(), 0o600)?;
        }
        let program = Program::new(&self.program).args(args).folder(folder).environment(Environment::Inherited);
        // OpenCode takes its working directory from the variable PWD. It uses the process's real one only to find its
        // configuration.
        let program = program.variable("PWD", folder).without("OLDPWD");
        Ok(self.headless.variables.iter().fold(program, |program, (name, value)| program.variable(name, value)))
    }

    /// Returns the whole command line of the agent.
    fn command(&self) -> String {
        let program = self.program.to_string_lossy().into_owned();
        let words = std::iter::once(program).chain(self.line(Path::new(FOLDER)).0);
        words.map(|word| shell::quote(&word)).collect::<Vec<_>>().join(" ")
    }
}

/// Returns the error for an agent that is not installed. Without a name, returns the error for having no supported agent.
fn missing(name: Option<&str>, text: &str) -> Error {
    let installed = able().find(|(agent, _)| client::on_path(agent.client.program).is_some());
    let wanted = name.and_then(|name| agents::named(name).ok());
    let what = match wanted {
        Some(agent) => {
            format!("{} is not installed: there is no program `{}` on PATH", agent.title, agent.client.program)
        }
        None => {
            let titles: Vec<&str> = able().map(|(agent, _)| agent.title).collect();
            format!("No agent that mcpkg can ask is on PATH; it can ask {}", titles.join(", "))
        }
    };
    Error::new(Code::NotFound, what).hint(match installed {
        Some((agent, _)) => format!("ask {}: `mcpkg ask --agent {} {}`", agent.title, agent.name, shell::quote(text)),
        None => "install one of them, or write the workflow yourself: `mcpkg draft add FILE`".to_owned(),
    })
}

impl Approvable for Launch {
    const KIND: Kind = Kind::Agent;

    fn covers(&self) -> Vec<u8> {
        let (args, file) = self.line(Path::new(FOLDER));
        let Headless { variables, .. } = self.headless;
        json!([self.agent.id, self.program, args, file, variables, self.project, CONTRACT]).to_string().into_bytes()
    }

    fn note(&self) -> Value {
        json!({ "agent": self.agent.name, "project": self.project, "runs": self.command() })
    }
}

impl Askable for Launch {
    fn question(&self) -> String {
        format!("Allow mcpkg to run {} on your requests in project '{}'?", self.agent.title, self.project)
    }

    fn details(&self) -> Vec<String> {
        let (_, file) = self.line(Path::new(FOLDER));
        let server = std::iter::once(&self.server.0).chain(&self.server.1).map(|word| shell::quote(word));
        let mut lines = vec![
            format!("Starts `{}`", self.command()),
            "in an empty temporary folder, with your request on standard input".to_owned(),
            "with your environment variables, except those that begin with MCPKG_".to_owned(),
        ];
        lines.extend(self.headless.variables.iter().map(|(name, value)| format!("with the variable {name}={value}")));
        lines.extend(file.map(|(name, _)| format!("attaches mcpkg by the file {name} in that folder")));
        lines.push(format!("The agent can use this MCP server: `{}`", server.collect::<Vec<_>>().join(" ")));
        lines.push(format!("which has the tools {}; execute asks you before it changes anything", CONTRACT.join(", ")));
        lines.push(format!("and {}", self.headless.also));
        lines.push(format!("You pay the maker of {} for each run.", self.agent.title));
        lines.push("mcpkg asks again only if this changes.".to_owned());
        lines
    }

    fn refusal(&self) -> Error {
        let what = format!("You have not approved on this machine that mcpkg runs {}", self.agent.title);
        Error::new(Code::Unapproved, what)
            .hint(format!("approve it once, at a terminal and without --yes: `{}`", self.again))
    }
}
