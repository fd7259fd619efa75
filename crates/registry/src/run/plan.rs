//! Plans a run: its arguments, variables, mounts and limits. A dry run only shows the plan.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::call::{Call, Content, Tool};
use super::choose::{self, Settings, Wanted};
use super::env;
use super::grants::{self, Granted};
use super::kind::RunnerKind;
use super::limits::{LONGEST, Limits, OUTPUT_BYTES, OUTPUT_FILES, PRINTED};
use super::mount::Mount;
use super::runner::{Job, Runner, Takes};
use crate::trust::pattern;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::tools::env as stored;

/// The text that stands for the run's temporary folder in a dry run.
const NO_RUN: &str = "(the run's own folder)";

#[derive(Clone, Debug)]
pub struct Plan {
    pub limits: Limits,
    /// The variables that the user set for the tool, more specific patterns first.
    pub set: Vec<stored::Variable>,
    /// The permissions beyond the sandbox.
    pub granted: Granted,
    /// The settings that affect the choice of the runner.
    pub settings: Settings,
}

impl Plan {
    /// Returns the plan for a call on this machine.
    pub fn of(context: &Context, call: &Call) -> Result<Self> {
        let approved = &context.approved;
        let (mut set, granted, settings) = context
            .store
            .read(|db| Ok((stored::all(db)?, grants::of(db, approved, &call.tool)?, Settings::of(db, approved)?)))?;
        set.retain(|variable| pattern::matches(&variable.pattern, &call.tool.name));
        // Only the text apart from `*` makes a pattern specific, so extra `*` do not count.
        set.sort_by_key(|variable| std::cmp::Reverse(specific(&variable.pattern)));
        let mut readable = Vec::new();
        for variable in set {
            if grants::may_read(approved, &variable)? {
                readable.push(variable);
            }
        }
        Ok(Self { limits: Limits::wished(call.limits), set: readable, granted, settings })
    }

    /// Returns everything that the choice of the runner depends on.
    pub fn wanted<'p>(&'p self, context: &'p Context, call: &'p Call) -> Wanted<'p> {
        Wanted { context, call, granted: &self.granted, settings: &self.settings, kind: call.runner, builds: false }
    }

    /// Fails if an allowed folder no longer exists.
    pub fn check_folders(&self, tool: &Tool) -> Result<()> {
        for folder in &self.granted.folders {
            if !Path::new(folder).is_dir() {
                let why = format!("{} is allowed to use the folder `{folder}`, which no longer exists", tool.name);
                return Err(Error::new(Code::NotFound, why).hint(format!(
                    "create the folder again, or revoke the permission with `mcpkg tool allow {} files {folder} --revoke`",
                    tool.name
                )));
            }
        }
        Ok(())
    }

    /// Returns the plan as JSON. It lists the runners that the tool may use, and whether each one works.
    pub fn data(&self, context: &Context, call: &Call, tree: &Path) -> Value {
        let Tool { name, version, sha256, publisher } = &call.tool;
        let environment: BTreeMap<String, String> = env::sources(&call.variables, &self.set);
        let shown = |content: &Content, number: usize| match content {
            Content::Path(from) => from.clone(),
            Content::Bytes(_) => PathBuf::from(format!("{NO_RUN}/given-{number}")),
        };
        let given = call.given.iter().enumerate();
        let given: Vec<(PathBuf, PathBuf)> =
            given.map(|(number, given)| (shown(&given.content, number), PathBuf::from(&given.at))).collect();
        let (variables, token) = (BTreeMap::new(), CancellationToken::new());
        let job = Job {
            argv: &call.argv,
            variables: &variables,
            tree,
            given: &given,
            scratch: Path::new(NO_RUN),
            granted: &self.granted,
            limits: self.limits,
            takes: Takes::Output,
            cancelled: &token,
            told: None,
            before: None,
        };
        let asked = choose::each(self.wanted(context, call));
        let chosen = asked.iter().find_map(|(_, found)| found.as_ref().ok());
        let runners: Vec<Value> = asked
            .iter()
            .map(|(kind, found)| match found {
                Ok(runner) => works(&**runner, &job),
                Err(why) => json!({ "runner": kind.word(), "works": false, "reason": why.text() }),
            })
            .collect();
        let mounts = chosen.and_then(|runner| runner.mounts(&job).ok()).unwrap_or_default();
        json!({
            "tool": name,
            "version": version,
            "sha256": sha256.as_ref().map(|sha256| mcpkg_base::hex::encode(sha256)),
            "publisher": publisher,
            "action": call.action,
            "runner": chosen.map(|runner| runner.kind().word()),
            "runners": runners,
            "verdict": call.verdict.word(),
            "argv": call.argv,
            "build": call.build,
            "environment": environment,
            // The WebAssembly runner has no network, whatever was allowed.
            "network": self.granted.network && chosen.is_none_or(|runner| runner.kind() != RunnerKind::Wasm),
            "mounts": mounts.iter().map(mount).collect::<Vec<_>>(),
            "limits": {
                "time_seconds": self.limits.time.as_secs_f64(),
                "longest_seconds": LONGEST.as_secs(),
                "cpu_seconds": self.limits.cpu_seconds(),
                "memory": self.limits.memory,
                "processes": self.limits.processes,
                "files": self.limits.files,
                "file_size": self.limits.file_size,
                "tmp": self.limits.scratch,
                "printed": PRINTED,
                "output_files": OUTPUT_FILES,
                "output_bytes": OUTPUT_BYTES,
            },
        })
    }
}

fn works(runner: &dyn Runner, job: &Job<'_>) -> Value {
    json!({
        "runner": runner.kind().word(),
        "works": true,
        "image": runner.image(),
        "command": runner.command(job),
        "not_limited": runner.unlimited(),
    })
}

fn mount(mount: &Mount) -> Value {
    match mount {
        Mount::Read { from, at } => json!({ "path": at, "from": from, "access": "read" }),
        Mount::Write { from, at } => json!({ "path": at, "from": from, "access": "write" }),
        Mount::Link { to, at } => json!({ "path": at, "link": to }),
    }
}

/// Returns how specific a pattern is: patterns without `*` come first, then those with more text.
fn specific(pattern: &str) -> (bool, usize) {
    (!pattern.contains('*'), pattern.chars().filter(|c| *c != '*').count())
}
