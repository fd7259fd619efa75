//! Finds the parts of a plan that agents will run: MCP servers and hooks. A person must consent to them.

use serde_json::{Value, json};

use super::{Change, Op, entries, settings};
use crate::desired::slots::{Slot, Slots};
use crate::source::Site;
use crate::targets::Target;
use mcpkg_agents::audit::Report;
use mcpkg_base::error::Result;
use mcpkg_base::redact::redact;
use mcpkg_base::shell;
use mcpkg_content::audited;
use mcpkg_core::consent::request::{self, Consent, Need};
use mcpkg_core::op::{Context, Effect};
use mcpkg_store::servers::{Part, Text};

/// Something that an agent runs once a plan is applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    pub targets: Vec<String>,
    /// The file that defines the program or the server.
    pub path: String,
    /// The command that agents run, or the server that they connect to.
    pub runs: String,
    /// Whether agents connect to a server instead of running a program.
    is_remote: bool,
}

impl Code {
    #[cfg(test)]
    pub fn new(path: &str, runs: &str) -> Self {
        Self { targets: vec!["codex".to_owned()], path: path.to_owned(), runs: runs.to_owned(), is_remote: false }
    }

    pub fn json(&self) -> Value {
        json!({ "targets": self.targets, "path": self.path, "runs": self.runs })
    }
}

/// Returns what agents will run after these changes: new MCP servers, and everything in settings files that change.
pub fn of(changes: &[Change]) -> Vec<Code> {
    changes.iter().filter(|change| change.op != Op::Delete).flat_map(of_change).collect()
}

fn of_change(change: &Change) -> Vec<Code> {
    let code = |(runs, is_remote): (String, bool)| {
        let path = change.path.display().to_string();
        Code { targets: change.targets.clone(), path, runs, is_remote }
    };
    if let Some(dialect) = entries::dialect(&change.targets, &change.module_ids) {
        let bytes = |bytes: Option<&[u8]>| Slots::of(dialect, bytes.unwrap_or_default());
        let (before, after) = (bytes(change.before.bytes()), bytes(change.after.bytes()));
        let changed = after.changed_from(&before).into_iter().filter_map(|(slot, value)| match (slot, value) {
            (Slot::Entry(name), Some(value)) => Some((name, dialect.read(&value, &[]).ok()?.definition)),
            _ => None,
        });
        let runs = changed.map(|(name, definition)| match (&definition.command, &definition.url) {
            (Some(command), _) => {
                let words = std::iter::once(command).chain(&definition.args).map(|word| shell::quote(&shown(word)));
                (format!("'{name}' starts {}", words.collect::<Vec<_>>().join(" ")), false)
            }
            (None, url) => (format!("'{name}' connects to {}", url.as_ref().map(shown).unwrap_or_default()), true),
        });
        return runs.map(code).collect();
    }
    let is_kept = |id: &String| id.strip_prefix("agent_file:").is_some_and(|path| !path.ends_with("ignore"));
    match change.after.bytes().filter(|bytes| !settings::run_nothing(&change.path, bytes)) {
        Some(bytes) if change.module_ids.iter().any(is_kept) => {
            settings::what_runs(&change.path, bytes).into_iter().map(|runs| code((runs, false))).collect()
        }
        _ => Vec::new(),
    }
}

fn shown(text: &Text) -> String {
    let part = |part: &Part| match part {
        Part::Text(plain) => redact(plain),
        Part::Env { env, .. } => format!("${{{env}}}"),
        Part::Input { input } => format!("${{input:{input}}}"),
        Part::File { file } => format!("{{file:{file}}}"),
    };
    text.parts().iter().map(part).collect()
}

/// Describes for a person what each agent will run, and which agents run it without asking.
pub fn lines(code: &[Code]) -> Vec<String> {
    let titles = |code: &Code| {
        let names = code.targets.iter().map(|name| Target::named(name).map_or(name.as_str(), |t| t.facts().title));
        names.collect::<Vec<_>>().join(", ")
    };
    let mut lines: Vec<String> = code
        .iter()
        .map(|code| {
            let what = if code.is_remote { "use this server" } else { "run this code" };
            format!("{} will {what}: {} (`{}`)", titles(code), code.runs, code.path)
        })
        .collect();
    let is_claudes =
        |code: &Code, end: &str| code.path.ends_with(end) && code.targets.iter().any(|t| t == "claude_code");
    if code.iter().any(|code| is_claudes(code, ".mcp.json") || is_claudes(code, "settings.json")) {
        lines.push(
            "`claude -p` starts the servers of .mcp.json and the hooks of .claude/settings.json without asking, even \
             in a folder that you have not trusted yet"
                .to_owned(),
        );
    }
    if code.iter().any(|code| is_claudes(code, "settings.json")) {
        lines.push("Copilot also runs the hooks of .claude/settings.json in a folder that it trusts".to_owned());
    }
    if !lines.is_empty() {
        lines.push("a person must consent to this plan; an agent's token is not enough".to_owned());
    }
    lines
}

/// The parts of a plan that only a person can allow.
pub struct Risks {
    pub code: Vec<Code>,
    /// The audit findings in what the changes add. A person has to accept the critical ones.
    pub report: Report,
}

impl Risks {
    /// Returns what agents will run after these changes.
    pub fn of_code(changes: &[Change]) -> Self {
        Self { code: of(changes), report: Report::default() }
    }

    pub fn is_none(&self) -> bool {
        self.code.is_empty() && self.report.critical().next().is_none()
    }

    fn summary(&self) -> &'static str {
        match (self.code.is_empty(), self.report.critical().next().is_none()) {
            (_, true) => "including code that agents will run",
            (true, false) => "including text with critical audit findings",
            (false, false) => "including code that agents will run and text with critical audit findings",
        }
    }
}

/// Asks a person to consent to the risks, and also shows `effects` to the person. Returns `None` without risks.
pub fn consent(
    context: &Context,
    operation: &str,
    site: &Site,
    inputs: &Value,
    plan_hash: &str,
    risks: &Risks,
    effects: Vec<String>,
) -> Result<Option<Consent>> {
    if risks.is_none() {
        return Ok(None);
    }
    let code = risks.code.iter().map(|code| format!("{} ({})", code.runs, code.path));
    let lines = code.chain(audited::critical_lines(&risks.report));
    let need = Need {
        operation,
        project: site.project_name(),
        inputs,
        plan_hash,
        summary: format!("Write files to {}, {}", site.destination(), risks.summary()),
        effects: lines.chain(effects).collect(),
        effect: Effect::Write,
    };
    request::ask(context, &need).map(Some)
}
