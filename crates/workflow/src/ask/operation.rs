//! The operation `mcpkg ask`.

use std::time::Duration;

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;

use super::launch::{self, Launch};
use super::{request, running};
use crate::GROUP;
use crate::answer::VERSION;
use crate::completions::{DRAFTS, WORKFLOWS};
use mcpkg_base::clock::span::Notation;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::consent::approvable::Askable;
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};

/// The longest time that an agent may run.
const LONGEST: u128 = 24 * 3_600_000;

/// Ask your agent for a workflow
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Ask {
    /// What the workflow should do, in your own words
    text: String,
    /// Agent to run [default: the first one that is installed]
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(launch::names()))]
    agent: Option<String>,
    /// Saved workflow to change; the agent gets its text
    #[arg(long, value_name = "NAME", add = WORKFLOWS, conflicts_with = "draft")]
    workflow: Option<String>,
    /// Draft to change; the agent gets its text
    #[arg(long, value_name = "ID", add = DRAFTS)]
    draft: Option<String>,
    /// Time limit, such as 90s, 10m or 1h
    #[arg(long, value_name = "DURATION", default_value_t = usual_timeout())]
    #[serde(default = "usual_timeout")]
    timeout: String,
}

fn usual_timeout() -> String {
    "10m".to_owned()
}

impl Operation for Ask {
    const TOOL: &'static str = "ask_agent";
    const CLI: &'static [&'static str] = &["ask"];
    const TITLE: &'static str = "Ask your agent for a workflow";
    const ABOUT: &'static str = "Ask your own coding agent for a workflow, which it proposes as a draft";
    const HELP: &'static str = "mcpkg runs Claude Code, Codex, Gemini CLI, Copilot CLI or OpenCode without a screen, and \
        attaches an MCP server with the tools for workflows. The server is attached for this run only, and your agent's \
        configuration stays as it is. The agent runs in an empty temporary folder. You pay its maker for the run.\n\n\
        The first time, mcpkg shows the whole command at a terminal and asks for your approval. It asks again if the \
        command changes.\n\n\
        Ctrl-C ends the agent and everything that it started. Its drafts stay. Review them with `mcpkg draft show` and \
        `mcpkg draft diff`.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg ask 'Create a staging app with a small database'",
        "mcpkg ask --agent codex --workflow app_with_db 'Choose the region by an input'",
    ];
    const EFFECT: Effect = Effect::Create;
    const OPEN_WORLD: bool = true;
    const IDEMPOTENT: bool = false;
    const CHANGES: Changes = Changes::NO_LIST;
    const SHAPE: Shape = Shape::Json(Some(VERSION));
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.agent.clone().unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        if self.text.trim().is_empty() {
            return Err(Error::new(Code::InvalidArgument, "The request is empty"));
        }
        let limit = limit(&self.timeout)?;
        let prompt = request::prompt(context, &self.text, self.workflow.as_deref(), self.draft.as_deref())?;
        let launch = Launch::of(context, self.agent.as_deref(), &self.text)?;
        launch.require(context)?;
        context.unless_cancelled()?;
        running::run(context, &launch, &prompt, limit)
    }
}

fn limit(text: &str) -> Result<Duration> {
    const NOTATION: Notation = Notation { units: &[("s", 1_000), ("m", 60_000), ("h", 3_600_000)], is_compound: false };
    let span = NOTATION.read(text).ok().filter(|span| (1_000..=LONGEST).contains(span));
    let span = span.and_then(|span| u64::try_from(span).ok()).ok_or_else(|| {
        Error::new(Code::InvalidArgument, format!("--timeout '{}' is not a time limit", text.escape_debug()))
            .hint("give a whole number and a unit: 90s, 10m or 1h, and at most 24h")
    })?;
    Ok(Duration::from_millis(span))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_has_a_unit_and_ends() {
        assert_eq!(limit("90s").ok(), Some(Duration::from_secs(90)));
        assert_eq!(limit(&usual_timeout()).ok(), Some(Duration::from_secs(600)));
        for bad in ["", "10", "0s", "25h", "1d", "-1m", "1.5m"] {
            assert_eq!(limit(bad).map_err(|error| error.code()), Err(Code::InvalidArgument), "{bad}");
        }
    }
}
