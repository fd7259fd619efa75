//! `infer_workflow_from_session`, `mcpkg workflow infer`: turns recorded calls into a workflow.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::draft::{self, Diagnostic};
use super::recorded::{Logged, of_asker, of_log};
use crate::answer::Answer;
use crate::check::checked;
use crate::commands::reachable;
use crate::finding::Severity;
use crate::run::RUNS;
use crate::saved::model::check_name;
use crate::{GROUP, SHAPE};
use mcpkg_base::clock::{from_rfc3339, span};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, Operation, Rate, Reply, Shape};

/// Default name of the workflow.
pub(super) const USUAL: &str = "session";

/// Make a workflow from runs
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Infer {
    /// Runs in order; give each run as `run` (its id), or as `command`, `args` and `output` [default: the newest runs]
    #[arg(value_name = "RUN", add = RUNS)]
    #[serde(default)]
    #[schemars(with = "Option<Vec<Logged>>")]
    session_log: Vec<Logged>,
    /// Use only runs since this time, or within this period, such as 2h
    #[arg(long, value_name = "WHEN", conflicts_with = "session_log")]
    since: Option<String>,
    /// Name of the workflow [default: session]
    #[arg(long)]
    name: Option<String>,
}

/// An inferred workflow, as an object and as text.
#[derive(JsonSchema)]
pub struct Inferred {
    /// Object with workflow, inputs, steps and diagnostics: pass this object to render_yaml or propose_workflow as `draft`
    #[expect(dead_code, reason = "only its schema is looked at")]
    draft: Option<Map<String, Value>>,
    /// The same workflow as YAML text
    #[expect(dead_code, reason = "only its schema is looked at")]
    yaml: Option<String>,
}

impl Operation for Infer {
    const TOOL: &'static str = "infer_workflow_from_session";
    const CLI: &'static [&'static str] = &["workflow", "infer"];
    const TITLE: &'static str = "Make a workflow from runs";
    const ABOUT: &'static str = "Make a workflow from commands that were run: values from earlier outputs become references, and \
        other values become inputs";
    const HELP: &'static str = "mcpkg uses only runs that you started, and only the steps that succeeded. mcpkg leaves out a command \
        that only reads if no step uses its output. A value from an earlier output becomes a reference if the value has at least four \
        characters or a tag. A secret becomes an input without a value. The same runs always give the same workflow, because no \
        language model is involved. mcpkg reports each guess that it makes.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg workflow infer --since 2h --name app_with_db > app_with_db.yaml",
        "mcpkg workflow infer 3f2a1b4c5d6e 9a8b7c6d5e4f",
    ];
    const EFFECT: Effect = Effect::Read;
    const RATE: Option<Rate> = Some(Rate::OFTEN);
    const SHAPE: Shape = SHAPE;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Both;
    const STRUCTURED: bool = true;
    type Output = Answer<Inferred>;

    fn run(self, context: &Context) -> Result<Reply> {
        let name = self.name.as_deref().unwrap_or(USUAL);
        let since = self.since.as_deref().map(|since| moment(since, context)).transpose()?;
        let (draft, yaml) = inferred(context, name, &self.session_log, since)?;
        let lines: Vec<String> = draft.diagnostics.iter().map(line).collect();
        let data = json!({ "draft": draft::data(&draft)?, "yaml": yaml });
        let reply = Reply::new(Body::Text(yaml + "\n"), data);
        // Agents get the remarks as part of the draft.
        Ok(if context.is_shell() { reply.warn(lines) } else { reply })
    }
}

/// Makes a workflow from the runs of a log, or if the log is empty, from the caller's own runs since `since`. Returns the workflow
/// and its text.
pub(super) fn inferred(
    context: &Context,
    name: &str,
    log: &[Logged],
    since: Option<i64>,
) -> Result<(draft::Draft, String)> {
    check_name(name)?;
    let calls = match (log, since) {
        ([], since) => of_asker(context, since)?,
        (log, None) => of_log(context, log)?,
        (_, Some(_)) => {
            let why = "Pass either `session_log` or `since`, not both";
            return Err(Error::new(Code::InvalidArgument, why));
        }
    };
    let commands = reachable(context);
    let mut draft = draft::of(name, calls, &commands)?;
    let yaml = draft.definition.to_yaml()?;
    for found in checked(&yaml, &commands)?.findings {
        let confidence = None;
        let hint = found.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
        let word = if found.severity == Severity::Error { "error" } else { "warning" };
        draft.diagnostics.push(Diagnostic {
            message: format!("{word}: {}{hint}", found.message),
            code: Some(found.code.name()),
            line: Some(found.span.line),
            confidence,
            ..Diagnostic::default()
        });
    }
    Ok((draft, yaml))
}

/// Parses a time or a duration before now; returns milliseconds since the epoch.
fn moment(text: &str, context: &Context) -> Result<i64> {
    if let Some(moment) = from_rfc3339(text) {
        return Ok(moment);
    }
    let ago = span::parse(text).map_err(|why| {
        Error::new(Code::InvalidArgument, format!("since: '{}' {why}", text.escape_debug())).hint(span::HINT)
    })?;
    Ok(context.clock.now().saturating_sub(ago))
}

/// Formats a remark for people.
pub(super) fn line(told: &Diagnostic) -> String {
    let place = [&told.step, &told.argument].into_iter().flatten().map(String::as_str).collect::<Vec<_>>().join(".");
    let sure = told.confidence.map(|confidence| format!(" ({confidence:?})").to_lowercase()).unwrap_or_default();
    let code = told.code.map(|code| format!(" [{code}]")).unwrap_or_default();
    let line = told.line.map(|line| format!("line {line}: ")).unwrap_or_default();
    match place.is_empty() {
        true => format!("{line}{}{code}{sure}", told.message),
        false => format!("{place} {line}{}{code}{sure}", told.message),
    }
}
