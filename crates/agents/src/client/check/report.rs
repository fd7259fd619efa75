//! Checks one entry step by step and reports the result of each step.

use std::path::Path;
use std::time::Instant;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::http::HttpTransport;
use super::session::{DEADLINE, Session};
use super::stdio::{self, StdioTransport};
use super::step_error::StepError;
use super::transport::Transport;
use crate::agents::homes::Homes;
use crate::client::binary::{Binary, resolved};
use crate::client::config_file::ConfigFile;
use crate::client::entry::KEY;
use crate::client::our_entry::OurEntry;
use crate::client::runs::Runs;
use mcpkg_base::error::Error;
use mcpkg_base::platform;
use mcpkg_base::plural;
use mcpkg_core::op::Context;

/// The result of one step.
struct Step {
    name: &'static str,
    outcome: Outcome,
    what: String,
    advice: Option<String>,
    millis: u128,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Ok,
    Failed,
    Skipped,
}

impl Outcome {
    const fn name(self) -> &'static str {
        match self {
            Outcome::Ok => "ok",
            Outcome::Failed => "failed",
            Outcome::Skipped => "skipped",
        }
    }
}

/// The results of checking one entry.
pub struct Report {
    config: ConfigFile,
    name: String,
    steps: Vec<Step>,
}

impl Report {
    /// Returns the report for a file that cannot be read.
    pub fn unread(config: &ConfigFile, error: &Error) -> Self {
        let mut report = Self { config: config.clone(), name: String::new(), steps: Vec::new() };
        let advice = error.hints().first().cloned().unwrap_or_default();
        report.step("configuration", || Err(StepError::new(error.message(), advice)));
        report
    }

    pub fn of(context: &Context, homes: &Homes, found: &OurEntry) -> Self {
        let mut report = Self { config: found.config.clone(), name: found.name.clone(), steps: Vec::new() };
        let (runs, file) = (found.runs.shown(), found.config.path.display());
        report.step("configuration", || Ok(format!("'{}' in {file} runs {runs}", found.name)));
        match &found.runs {
            Runs::Command(words) => report.program(words, found, homes, context),
            Runs::Url(url, headers) => report.url(url, headers, found, &context.cancelled),
        }
        report
    }

    fn program(&mut self, words: &[String], found: &OurEntry, homes: &Homes, context: &Context) {
        let (here, cancelled) = (Path::new(&context.selection.directory), &context.cancelled);
        let ready = self.step("program", || program(words, found.binary));
        let started = ready.and_then(|()| {
            let directory = stdio::directory(&found.config, &found.entry, homes, here);
            let environment = stdio::environment(found.config.agent, &found.entry);
            let variables = environment.len();
            let mut started = None;
            self.step("start", || {
                started = Some(StdioTransport::new(words, environment, &directory, cancelled)?);
                Ok(format!("in {} with {variables} environment variables", directory.display()))
            })?;
            started
        });
        match started {
            Some(mut server) => {
                self.talk_over(&mut server);
                self.step("end", || server.end(Instant::now() + DEADLINE).map(|status| status.to_string()));
            }
            None => self.skip(&["start", "greeting", "tools", "prompts", "resources", "end"]),
        }
    }

    fn url(&mut self, url: &str, headers: &[(String, String)], found: &OurEntry, cancelled: &CancellationToken) {
        let with_key = format!("{} --http {} --key-env {KEY}", found.add(), found.runs.shown());
        let mut transport = None;
        let connected = self.step("connect", || {
            transport = Some(HttpTransport::new(url, headers, with_key, found.config.agent, cancelled)?);
            Ok(url.to_owned())
        });
        match (connected, transport) {
            (Some(()), Some(mut transport)) => self.talk_over(&mut transport),
            _ => self.skip(&["greeting", "tools", "prompts", "resources"]),
        }
    }

    fn talk_over(&mut self, transport: &mut dyn Transport) {
        let agent = self.config.agent;
        let mut session = Session::new(transport, agent);
        if self.step("greeting", || session.greet(agent.client.greeting)).is_none() {
            return self.skip(&["tools", "prompts", "resources"]);
        }
        for (kind, noun) in [("tools", "tool"), ("prompts", "prompt"), ("resources", "resource")] {
            let counted = |count| plural::count(count, noun);
            self.step(kind, || Ok(session.count(kind)?.map_or("not offered".to_owned(), counted)));
        }
    }

    fn step(&mut self, name: &'static str, work: impl FnOnce() -> Result<String, StepError>) -> Option<()> {
        let began = Instant::now();
        let done = work();
        let millis = began.elapsed().as_millis();
        let (outcome, what, advice) = match done {
            Ok(what) => (Outcome::Ok, what, None),
            Err(StepError { why, advice }) => (Outcome::Failed, why, Some(advice)),
        };
        self.steps.push(Step { name, outcome, what, advice, millis });
        (outcome == Outcome::Ok).then_some(())
    }

    /// Adds the steps that were not tried. A step that failed is already in the list.
    fn skip(&mut self, names: &[&'static str]) {
        for name in names {
            if !self.steps.iter().any(|step| step.name == *name) {
                let what = String::new();
                self.steps.push(Step { name, outcome: Outcome::Skipped, what, advice: None, millis: 0 });
            }
        }
    }

    /// Returns what to do about the steps that failed.
    pub fn advice(&self) -> impl Iterator<Item = &String> {
        self.steps.iter().filter_map(|step| step.advice.as_ref())
    }

    /// Returns whether a step failed.
    pub fn failed(&self) -> bool {
        self.steps.iter().any(|step| step.outcome == Outcome::Failed)
    }

    /// Returns a table row for each step.
    pub fn rows(&self) -> Vec<Vec<String>> {
        let row = |step: &Step| {
            let scope = self.config.scope.name().to_owned();
            let agent = self.config.agent.name.to_owned();
            let result = step.outcome.name().to_owned();
            vec![agent, scope, step.name.to_owned(), result, step.millis.to_string(), step.what.clone()]
        };
        self.steps.iter().map(row).collect()
    }

    /// Returns the report as JSON.
    pub fn data(&self) -> Value {
        let step = |step: &Step| {
            json!({
                "step": step.name,
                "state": step.outcome.name(),
                "what": step.what,
                "advice": step.advice,
                "ms": u64::try_from(step.millis).unwrap_or(u64::MAX),
            })
        };
        json!({
            "agent": self.config.agent.name,
            "scope": self.config.scope,
            "name": self.name,
            "path": self.config.path,
            "ok": !self.failed(),
            "steps": self.steps.iter().map(step).collect::<Vec<_>>(),
        })
    }
}

/// Checks that the program of an entry exists and can be executed.
fn program(words: &[String], binary: Binary) -> Result<String, StepError> {
    let program = words.first().map_or("", String::as_str);
    let advice = "add the agent again: `mcpkg client add` writes the path of the mcpkg program that you are running";
    let Some(path) = resolved(program) else {
        return Err(StepError::new(format!("`{program}` does not exist"), advice));
    };
    if !may_run(&path) {
        return Err(StepError::new(
            format!("`{}` is not executable", path.display()),
            format!("chmod +x {}", path.display()),
        ));
    }
    Ok(match binary {
        Binary::This => "this mcpkg".to_owned(),
        _ => format!("a different copy of mcpkg: {}", path.display()),
    })
}

/// Returns whether a file is executable. Always true on systems without file modes.
fn may_run(path: &Path) -> bool {
    !platform::HAS_MODES || std::fs::metadata(path).is_ok_and(|metadata| platform::is_executable(&metadata))
}
