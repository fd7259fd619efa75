//! `mcpkg client check`: does what an agent does when it starts, and tells each step.

mod events;
mod http;
mod start;
mod talk;

use std::path::Path;
use std::time::Instant;

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::GROUP;
use super::agent::Agent;
use super::entry::{KEY, Runs};
use super::list::{Binary, Found, found, resolved};
use super::place::{Homes, Place};
use crate::error::{Code, Error, Result};
use crate::op::{Body, Context, Effect, Faces, MissingDatabase, NoOutput, Operation, Reply, Table};
use talk::{DEADLINE, First, Talk, Trouble, Wire};

/// Try the connected agents
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Check {
    /// Agent [default: every agent that is connected]
    #[arg(value_name = "NAME", value_parser = PossibleValuesParser::new(Agent::NAMES))]
    agent: Option<String>,
}

impl Operation for Check {
    const TOOL: &'static str = "check_client";
    const CLI: &'static [&'static str] = &["client", "check"];
    const TITLE: &'static str = "Try the connected agents";
    const ABOUT: &'static str = "Start what an agent's entry says, as that agent does, and tell each step";
    const HELP: &'static str = "It gets the agent's environment (Codex passes on eleven variables) and its folder, and hears \
                                the agent's first message. The status is 1 where a step failed.\n\n\
                                Examples:\n  mcpkg client check\n  mcpkg client check codex";
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let homes = Homes::find()?;
        let agents = match &self.agent {
            Some(name) => vec![Agent::named(name)?],
            None => Agent::ALL.to_vec(),
        };
        let mut reports = Vec::new();
        for agent in &agents {
            for place in Place::all(context, *agent)? {
                match found(context, &place) {
                    Ok(entries) => {
                        for entry in entries {
                            reports.push(Report::of(context, &homes, &entry));
                            if context.is_cancelled() {
                                return Err(Error::new(Code::Cancelled, "Cancelled"));
                            }
                        }
                    }
                    Err(error) => reports.push(Report::unread(&place, &error)),
                }
            }
        }
        if reports.is_empty() {
            let (message, name) = match &self.agent {
                Some(name) => (format!("{} is not connected", Agent::named(name)?.title()), name.as_str()),
                None => ("No agent is connected".to_owned(), "NAME"),
            };
            return Err(Error::new(Code::NotFound, message).hint(format!("connect it with `mcpkg client add {name}`")));
        }
        Ok(reply(&reports))
    }
}

fn reply(reports: &[Report]) -> Reply {
    let table = Table {
        columns: &["AGENT", "SCOPE", "STEP", "RESULT", "MS", "WHAT"],
        rows: reports.iter().flat_map(Report::rows).collect(),
        empty: "Nothing was tried".to_owned(),
    };
    let failed = reports.iter().any(Report::failed);
    let data = json!({ "ok": !failed, "clients": reports.iter().map(Report::data).collect::<Vec<_>>() });
    let mut reply = Reply::new(Body::Table(table), data);
    reply.failed = failed;
    for step in reports.iter().flat_map(|report| &report.steps) {
        if let Some(advice) = &step.advice
            && !reply.hints.contains(advice)
        {
            reply.hints.push(advice.clone());
        }
    }
    reply
}

/// What came of one step.
struct Step {
    name: &'static str,
    state: State,
    what: String,
    advice: Option<String>,
    millis: u128,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Ok,
    Failed,
    Skipped,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            State::Ok => "ok",
            State::Failed => "failed",
            State::Skipped => "skipped",
        }
    }
}

/// What came of one entry.
struct Report {
    place: Place,
    name: String,
    steps: Vec<Step>,
}

impl Report {
    fn unread(place: &Place, error: &Error) -> Self {
        let mut report = Self { place: place.clone(), name: String::new(), steps: Vec::new() };
        let advice = error.hints().first().cloned().unwrap_or_default();
        report.step("configuration", || Err(Trouble::new(error.message(), advice)));
        report
    }

    fn of(context: &Context, homes: &Homes, found: &Found) -> Self {
        let mut report = Self { place: found.place.clone(), name: found.name.clone(), steps: Vec::new() };
        let (runs, file) = (found.runs.shown(), found.place.file.display());
        report.step("configuration", || Ok(format!("'{}' in {file} runs {runs}", found.name)));
        match &found.runs {
            Runs::Command(words) => report.program(words, found, homes, context),
            Runs::Url(url, headers) => report.url(url, headers, found),
        }
        report
    }

    fn program(&mut self, words: &[String], found: &Found, homes: &Homes, context: &Context) {
        let (here, cancelled) = (Path::new(&context.selection.directory), &context.cancelled);
        let ready = self.step("program", || program(words, found.binary));
        let started = ready.and_then(|()| {
            let directory = start::directory(&found.place, &found.entry, homes, here);
            let environment = start::environment(found.place.agent, &found.entry);
            let variables = environment.len();
            let mut started = None;
            self.step("start", || {
                started = Some(start::Started::new(words, environment, &directory, cancelled)?);
                Ok(format!("in {} with {variables} variables", directory.display()))
            })?;
            started
        });
        match started {
            Some(mut server) => {
                self.talk(&mut server);
                self.step("end", || server.end(Instant::now() + DEADLINE).map(|status| status.to_string()));
            }
            None => self.skip(&["start", "greeting", "tools", "prompts", "resources", "end"]),
        }
    }

    fn url(&mut self, url: &str, headers: &[(String, String)], found: &Found) {
        let with_key = format!("{} --http {} --key-env {KEY}", found.add(), found.runs.shown());
        let mut wire = None;
        let connected = self.step("connect", || {
            wire = Some(http::Posted::new(url, headers, with_key, found.place.agent)?);
            Ok(url.to_owned())
        });
        match (connected, wire) {
            (Some(()), Some(mut wire)) => self.talk(&mut wire),
            _ => self.skip(&["greeting", "tools", "prompts", "resources"]),
        }
    }

    fn talk(&mut self, wire: &mut dyn Wire) {
        let agent = self.place.agent;
        let mut talk = Talk::new(wire, agent);
        if self.step("greeting", || talk.greet(First::of(agent))).is_none() {
            return self.skip(&["tools", "prompts", "resources"]);
        }
        for kind in ["tools", "prompts", "resources"] {
            self.step(kind, || Ok(talk.count(kind)?.map_or("not offered".to_owned(), |count| count.to_string())));
        }
    }

    fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<String, Trouble>) -> Option<()> {
        let began = Instant::now();
        let outcome = work();
        let millis = began.elapsed().as_millis();
        let (state, what, advice) = match outcome {
            Ok(what) => (State::Ok, what, None),
            Err(Trouble { why, advice }) => (State::Failed, why, Some(advice)),
        };
        self.steps.push(Step { name, state, what, advice, millis });
        (state == State::Ok).then_some(())
    }

    /// Steps that had no chance; one that failed itself is there already.
    fn skip(&mut self, names: &[&'static str]) {
        for name in names {
            if !self.steps.iter().any(|step| step.name == *name) {
                let what = String::new();
                self.steps.push(Step { name, state: State::Skipped, what, advice: None, millis: 0 });
            }
        }
    }

    fn failed(&self) -> bool {
        self.steps.iter().any(|step| step.state == State::Failed)
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |step: &Step| {
            let scope = self.place.scope.name().to_owned();
            let agent = self.place.agent.name().to_owned();
            let result = step.state.name().to_owned();
            vec![agent, scope, step.name.to_owned(), result, step.millis.to_string(), step.what.clone()]
        };
        self.steps.iter().map(row).collect()
    }

    fn data(&self) -> Value {
        let step = |step: &Step| {
            json!({
                "step": step.name,
                "state": step.state.name(),
                "what": step.what,
                "advice": step.advice,
                "ms": u64::try_from(step.millis).unwrap_or(u64::MAX),
            })
        };
        json!({
            "agent": self.place.agent.name(),
            "scope": self.place.scope,
            "name": self.name,
            "path": self.place.file,
            "ok": !self.failed(),
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
        })
    }
}

/// Whether what an entry starts is there.
fn program(words: &[String], binary: Binary) -> Result<String, Trouble> {
    let program = words.first().map_or("", String::as_str);
    let advice = "add the agent anew: `mcpkg client add` writes the path of the mcpkg that runs it";
    let Some(path) = resolved(program) else {
        return Err(Trouble::new(format!("`{program}` does not exist"), advice));
    };
    if !is_executable(&path) {
        return Err(Trouble::new(
            format!("`{}` may not be run", path.display()),
            format!("chmod +x {}", path.display()),
        ));
    }
    Ok(match binary {
        Binary::This => "this mcpkg".to_owned(),
        _ => format!("another mcpkg than this one, {}", path.display()),
    })
}

#[cfg(unix)]
fn is_executable(path: &Path) -> bool {
    std::fs::metadata(path).is_ok_and(|metadata| crate::disk::mode(&metadata) & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(_: &Path) -> bool {
    true
}
