//! `mcpkg workspace recover`: finishes or undoes what a killed command left incomplete.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use super::journal;
use super::lock::Lock;
use super::root::{MANIFEST, around, not_found, start};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Confirmation, Context, Effect, Faces, NoOutput, Operation, Reply, Shape};
use mcpkg_store::flow_runs::State;

/// Finish or undo changes that a killed command left incomplete
#[derive(clap::Args, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Recover {}

impl Operation for Recover {
    const TOOL: &'static str = "recover_workspace";
    const CLI: &'static [&'static str] = &["workspace", "recover"];
    const TITLE: &'static str = "Recover workspace";
    const ABOUT: &'static str = "Finish or undo changes that a killed command left incomplete";
    const HELP: &'static str = "You rarely need this command: the next mcpkg command in the workspace recovers \
        automatically if it uses the same database as the killed command. If that database is missing, `mcpkg \
        workspace recover` asks you, and then undoes the changes with the help of the workspace's own records.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg workspace recover"];
    const EFFECT: Effect = Effect::Write;
    const LONG: bool = true;
    const SHAPE: Shape = super::SHAPE;
    const GROUP: &'static str = super::GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn run(self, context: &Context) -> Result<Reply> {
        let from = start(&context.selection);
        let is_it = |root: &std::path::Path| root.join(MANIFEST).is_file() || root.join(journal::APPLYING).is_file();
        let root = around(&from, is_it).ok_or_else(|| not_found(&from))?;
        // A git process of the killed command may still be running and holding the lock, so wait for the lock.
        drop(Lock::take(context, &root, "workspace recover")?);
        let done = match journal::put_right(context, &root, None) {
            Err(error) if error.code() == Code::WorkspaceBusy => {
                let approved = ask(context, &root, &error)?;
                journal::put_right(context, &root, approved.as_deref())?
            }
            done => done?,
        };
        let data = json!({ "root": root.display().to_string(), "recovered": done });
        Ok(Reply::sentence(done.unwrap_or_else(|| "This workspace has no incomplete changes".to_owned()), data))
    }
}

/// Asks before mcpkg completes or undoes a run that another database or another machine started. If this machine did not
/// start the run, the question needs a terminal, because the file with the steps could come from anyone. Returns the hash of
/// the steps.
fn ask(context: &Context, root: &std::path::Path, error: &Error) -> Result<Option<String>> {
    if context.confirmation != Confirmation::Ask && !journal::is_recorded(context, root)? {
        return Err(Error::new(Code::TerminalRequired, error.message().to_owned()).hint(
            "the change was not started on this machine: run the command at a terminal, where it shows the \
                steps and asks you to confirm",
        ));
    }
    let Some((steps, sha256)) = journal::steps(root)? else { return Ok(None) };
    if context.confirmation == Confirmation::Given {
        return Ok(Some(sha256));
    }
    let question = match journal::state(context, root)? {
        Some(State::Landed) => "Complete the interrupted change?",
        Some(state) if state.is_over() => "Remove the leftover record? The change has already ended.",
        _ => "Undo the completed steps?",
    };
    (context.ask)(Body::lines(steps.iter().map(|step| step.shown())), question)?;
    Ok(Some(sha256))
}
