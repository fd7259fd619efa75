//! `mcpkg workflow validate`: checks the text of a workflow, and can fix some of its errors.

use std::fmt::Write;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::argument::{Text, text};
use crate::answer::Answer;
use crate::check::{Checked, checked};
use crate::commands::reachable;
use crate::completions::WORKFLOWS;
use crate::finding::{Finding, Severity, mended};
use crate::{GROUP, SHAPE};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Effect, Faces, MissingDatabase, Operation, Reply, Shape};

/// The maximum number of rounds of fixes. Several rounds are needed, because a fix may uncover the next problem.
const ROUNDS: usize = 8;

/// Check a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Validate {
    /// The workflow's text, YAML or JSON
    #[arg(value_name = "NAME|FILE", value_parser = text, add = WORKFLOWS)]
    yaml: Text,
    /// Fix the file: apply all fixes that are certain to be right
    #[arg(long)]
    #[serde(skip)]
    fix: bool,
}

/// The findings of a text.
#[derive(JsonSchema)]
pub struct Findings {
    /// Findings that keep the workflow from running
    #[expect(dead_code, reason = "only its schema is looked at")]
    errors: Option<Vec<Map<String, Value>>>,
    /// Findings that do not keep the workflow from running
    #[expect(dead_code, reason = "only its schema is looked at")]
    warnings: Option<Vec<Map<String, Value>>>,
}

impl Operation for Validate {
    const TOOL: &'static str = "validate_workflow";
    const CLI: &'static [&'static str] = &["workflow", "validate"];
    const TITLE: &'static str = "Check a workflow";
    const ABOUT: &'static str = "Check a workflow's text: every mistake with line, column, hint and fix";
    const HELP: &'static str = "FILE is a YAML or JSON file, or - for standard input. NAME is the name of a workflow in the project. \
        mcpkg checks each step against the contract of the step's command; `mcpkg command search` finds commands. If there is an \
        error, the exit status is 1. --fix applies the fixes that are certain to be right, and shows the remaining findings. \
        docs/reference/findings.md describes the code of every finding.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow validate app.yaml",
        "mcpkg workflow validate app.yaml --fix",
        "mcpkg workflow validate app_with_db",
        "mcpkg workflow validate - < app.yaml",
    ];
    const EFFECT: Effect = Effect::Read;
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    const ALWAYS_LISTED: bool = true;
    type Output = Answer<Findings>;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandInUnlessNamed
    }

    fn writes_files(&self) -> bool {
        self.fix
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let mut text = self.yaml.read_or_saved(context)?;
        let commands = reachable(context);
        let mut checked = checked(&text, &commands)?;
        let mut fixed = 0;
        if self.fix {
            let Some(path) = self.yaml.path() else {
                return Err(Error::new(Code::InvalidArgument, "--fix needs a file"));
            };
            for _ in 0..ROUNDS {
                let (better, count) = mended(&text, &checked.findings);
                if count == 0 {
                    break;
                }
                (text, fixed) = (better, fixed + count);
                checked = crate::check::checked(&text, &commands)?;
            }
            if fixed > 0 {
                disk::replace(path, text.as_bytes())?;
            }
        }
        let mut reply = Reply::new(Body::Text(shown(&self.yaml, &checked, fixed)), data(&checked));
        reply.failed = checked.sound.is_none();
        let can_fix = checked.findings.iter().filter(|found| found.fix.is_some()).count();
        Ok(match (can_fix, self.yaml.path(), self.fix) {
            (1.., Some(path), false) => {
                let path = mcpkg_base::shell::quote(&path.to_string_lossy());
                reply
                    .hint(format!("`mcpkg workflow validate {path} --fix` fixes {}", plural::count(can_fix, "finding")))
            }
            _ => reply,
        })
    }
}

/// Returns the findings in the form of the workflow tools (contract 004).
pub(super) fn data(checked: &Checked) -> Value {
    json!({
        "errors": checked.errors().collect::<Vec<&Finding>>(),
        "warnings": checked.warnings().collect::<Vec<&Finding>>(),
    })
}

/// Formats the findings like compiler messages.
fn shown(text: &Text, checked: &Checked, fixed: usize) -> String {
    let name = text.name();
    let mut shown = String::new();
    if fixed > 0 {
        writeln!(shown, "{name}: {} applied", plural::count(fixed, "fix")).ok();
    }
    for found in &checked.findings {
        let word = match found.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (line, column) = (found.span.line, found.span.column);
        writeln!(shown, "{name}:{line}:{column}: {word}: {} [{}]", found.message, found.code.name()).ok();
        if let Some(hint) = &found.hint {
            writeln!(shown, "  {hint}").ok();
        }
    }
    let errors = plural::count(checked.errors().count(), "error");
    let warnings = plural::count(checked.warnings().count(), "warning");
    writeln!(shown, "{name}: {errors}, {warnings}").ok();
    shown
}
