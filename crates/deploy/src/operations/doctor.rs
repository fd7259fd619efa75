//! `mcpkg doctor`: checks whether mcpkg can write to the folders that targets read, and looks for other problems.

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::answer::{self, Page};
use crate::desired::builder::Collisions;
use crate::desired::{Root, layout};
use crate::operations::with_schema;
use crate::plan::overlooked;
use crate::repo::identity;
use crate::source::{Choice, Site};
use crate::targets::{Layout, TargetConfig};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell;
use mcpkg_core::op::{Body, Context, Effect, Faces, Finding, Health, NoOutput, Operation, Reply, Shape, Table};

/// Check the places that are deployed to
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Doctor {
    #[command(flatten)]
    #[serde(flatten)]
    choice: Choice,
    /// Exit with status 3 if anything is wrong
    #[arg(long)]
    #[serde(skip)]
    check: bool,
}

impl Operation for Doctor {
    const TOOL: &'static str = "doctor";
    const CLI: &'static [&'static str] = &["doctor"];
    const TITLE: &'static str = "Check the deploy folders";
    const ABOUT: &'static str = "Check that Codex, Claude Code, Cursor and VS Code still read their folders, and that the folders exist \
        and are writable";
    const HELP: &'static str = "In the shell, this command also checks the database, the current project, the files deployed from this \
        machine and the connected agents, and suggests fixes. If no deploy root is known, the command skips the agents' folders and \
        reports that it skipped them. To test whether each agent can start the server, run `mcpkg client check`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg doctor", "mcpkg doctor --repo ~/.agentpack/repo --json"];
    const EFFECT: Effect = Effect::Read;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const SHAPE: Shape = Shape::Envelope;
    const SCHEMA: Option<&'static str> = with_schema!("doctor");
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let mut findings = if context.is_shell() { findings(context) } else { Vec::new() };
        let is_nowhere = |error: &Error| matches!(error.code(), Code::NoProject | Code::RootRequired);
        let site = match Site::find(context, &self.choice) {
            // Without a project or a place to deploy to, still report everything else.
            Err(error) if context.is_shell() && self.choice.repo.is_none() && is_nowhere(&error) => {
                findings.push(not_looked_at(&error));
                let data = json!({ "machine_id": identity::machine(self.choice.machine.as_deref()), "roots": [], "gitignore_fixes": [] });
                return Ok(self.reply(data, Vec::new(), &findings, error.code() == Code::NoProject));
            }
            site => site?,
        };
        let mut warnings = Vec::new();
        // The folders can be checked even if a module is invalid, so continue.
        let composed = site.fetch(context).and_then(|checkouts| site.compose_repo(&checkouts));
        match composed.and_then(|composed| context.store.read(|db| site.compose(context, db, composed))) {
            Ok(composed) => {
                warnings.extend(composed.warnings);
                let collisions = site.collisions(context);
                let (configs, selected) = (&site.configs, &site.selected);
                match layout::desired(&composed.modules, configs, selected, selected, &site.bases, collisions) {
                    Ok(desired) => {
                        warnings.extend(overlooked::warnings(&site, &desired)?);
                        warnings.extend(desired.warnings);
                    }
                    Err(error) => warnings.push(format!("{}: {error}", error.code().name())),
                }
            }
            Err(error) => warnings.push(format!("{}: {error}", error.code().name())),
        }
        let desired = layout::desired(&[], &site.configs, &site.selected, &[], &site.bases, Collisions::Refused)?;
        let checked: Vec<Checked> = desired.roots.iter().map(|root| Checked::of(root, &site)).collect();
        let mut actions: Vec<String> = Vec::new();
        for suggestion in checked.iter().filter_map(|checked| checked.suggestion.as_deref()) {
            // Several targets may share a folder. Add its command only once.
            if let Some((_, command)) = suggestion.split_once(": ")
                && !actions.iter().any(|known| known == command)
            {
                actions.push(command.to_owned());
            }
        }
        let mut data = json!({
            "machine_id": site.place.machine,
            "roots": checked.iter().map(Checked::json).collect::<Vec<_>>(),
            "gitignore_fixes": [],
        });
        if !actions.is_empty() {
            data["next_actions"] = json!(actions);
        }
        let rows = checked.iter().map(Checked::row).collect();
        // A missing folder is not a problem: the first deploy creates it.
        let wrong =
            checked.iter().any(|checked| !matches!(checked.issues[..], [] | ["missing"])) || !warnings.is_empty();
        let reply = self.reply(data, rows, &findings, wrong).warn(warnings);
        Ok(answer::reply(context, &site, &Page::default(), reply))
    }
}

impl Doctor {
    fn reply(&self, mut data: Value, folders: Vec<Vec<String>>, findings: &[Finding], wrong: bool) -> Reply {
        if !findings.is_empty() {
            data["checks"] = findings.iter().map(Finding::data).collect();
        }
        let rows = findings.iter().map(Finding::row).chain(folders).collect();
        let table = Table { columns: &["what", "where", "state", "what to do"], rows, empty: "No folders".to_owned() };
        let mut reply = Reply::new(Body::Table(table), data);
        let problem = findings.iter().any(|finding| finding.health == Health::Problem);
        reply.differs = self.check && (wrong || problem);
        reply
    }
}

/// Returns the findings of all domains, which are not about a single deploy root.
fn findings(context: &Context) -> Vec<Finding> {
    context.domains.iter().flat_map(|domain| (domain.health)(context)).collect()
}

/// Returns the finding to show instead of the agents' folders if those cannot be determined.
fn not_looked_at(error: &Error) -> Finding {
    let what = match error.code() {
        Code::NoProject => "not checked: no project is selected",
        _ => "not checked: no deploy root is known on this machine",
    };
    let finding = Finding::new("folders", Health::Note, what);
    match error.hints().first() {
        Some(hint) => finding.action(hint),
        None => finding,
    }
}

struct Checked<'r> {
    root: &'r Root,
    exists: bool,
    writable: bool,
    issues: Vec<&'static str>,
    suggestion: Option<String>,
}

impl<'r> Checked<'r> {
    fn of(root: &'r Root, site: &Site) -> Self {
        let metadata = std::fs::metadata(&root.path).ok();
        let exists = metadata.is_some();
        let is_folder = metadata.as_ref().is_some_and(std::fs::Metadata::is_dir);
        let writable = can_write(&root.path);
        let shown = shell::quote(&root.path.to_string_lossy());
        let mut issues = Vec::new();
        let mut suggestion = None;
        if !exists {
            issues.push("missing");
            suggestion = Some(format!("create directory: mkdir -p {shown}"));
        } else if !is_folder {
            issues.push("not_a_directory");
            suggestion = Some(format!("move the file `{shown}` away"));
        }
        if !writable && (is_folder || !exists) {
            issues.push("not_writable");
        }
        if !writable && is_folder {
            suggestion = Some(format!("make the folder writable: chmod u+w {shown}"));
        }
        if is_no_longer_read(root, site) {
            issues.push("no_longer_read");
            suggestion =
                Some("the agent no longer reads this folder; set `options.layout: current` for the target".to_owned());
        }
        Self { root, exists, writable, issues, suggestion }
    }

    fn json(&self) -> Value {
        json!({
            "target": self.root.target.name(),
            "root": self.root.path.display().to_string(),
            "root_posix": disk::posix(&self.root.path),
            "exists": self.exists,
            "writable": self.writable,
            "scan_extras": self.root.scan_extras,
            "issues": self.issues,
            "suggestion": self.suggestion,
        })
    }

    fn row(&self) -> Vec<String> {
        let state = if self.issues.is_empty() { "ok".to_owned() } else { self.issues.join(", ") };
        let path = self.root.path.display().to_string();
        vec![self.root.target.name().to_owned(), path, state, self.suggestion.clone().unwrap_or_default()]
    }
}

/// Whether files can be created in a folder or, if it is missing, in its nearest existing parent. Tries it with an
/// unnamed temporary file.
fn can_write(folder: &Path) -> bool {
    let nearest = folder.ancestors().find(|folder| folder.exists());
    nearest.is_some_and(|folder| folder.is_dir() && tempfile::tempfile_in(folder).is_ok())
}

/// Whether a folder comes from the layout of agentpack (the original tool of contract 000), and its agent no longer
/// reads it.
fn is_no_longer_read(root: &Root, site: &Site) -> bool {
    let is_original = |config: &TargetConfig| config.target == root.target && config.layout == Layout::Original;
    let given_up = root.target.facts().no_longer_read.iter().any(|folder| root.path.ends_with(folder));
    given_up && site.configs.iter().any(is_original)
}
