//! `mcpkg tool import`.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::home::Home;
use super::plan::Plan;
use super::{gather, widening, write};
use crate::error::Result;
use crate::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reach, Reply, cell};
use crate::plural;
use crate::registry::GROUP;
use crate::registry::trust;

/// Take over the tools of Enact
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// Folder that Enact keeps its files in [default: ~/.enact]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Take what a project's folder has too, for the project that applies: agents/skills.json and .enact/tools.json
    #[arg(long, value_name = "DIR")]
    #[serde(default)]
    for_project: Option<PathBuf>,
    /// Show what would be taken and what not, and change nothing
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Import {
    const TOOL: &'static str = "import_tools";
    const CLI: &'static [&'static str] = &["tool", "import"];
    const TITLE: &'static str = "Take over the tools of Enact";
    const ABOUT: &'static str =
        "Take over installed tools, aliases, toolsets, settings and trust of Enact, all of it or nothing";
    const HELP: &'static str = "Its files stay as they are, and a malformed one ends the import before anything is written. Tools are \
        packed out of their folders in ~/.agents/skills; nobody vouches for them, so that the policy of trust decides at each call. \
        No secret is copied. Whom to trust, and what else lets through more than now, a person decides at a terminal; without one \
        that part is left out, and the same command at a terminal takes the rest.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool import --dry-run", "mcpkg tool import ~/.enact", "mcpkg tool import --for-project ."];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes { reach: Reach::Everybody, ..Changes::TOOLS };
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.folder.as_ref().map(|folder| folder.display().to_string()).unwrap_or_default()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let home = Home::of_user(self.folder.as_deref())?;
        let project = self.for_project.as_deref().map(|folder| gather::project(context, folder)).transpose()?;
        (context.step_aside)();
        let mut plan = gather::plan(context, &home, project.as_ref())?;
        if !self.dry_run {
            let now = context.store.read(|db| trust::rules(db, context))?;
            widening::decide(context, &now, &mut plan)?;
            write::tighten(context, &plan)?;
            write::write(context, &plan, &home.own.display().to_string())?;
        }
        Ok(self.reply(&plan))
    }
}

impl Import {
    fn reply(&self, plan: &Plan) -> Reply {
        let taken = plan.taken();
        let verb = if self.dry_run { "Would take" } else { "Took" };
        let sentence = format!("{verb} {} over, left {} out", plural::count(taken.len(), "thing"), plan.left.len());
        let mut lines = vec![sentence];
        for [what, becomes] in taken {
            lines.push(format!("taken     {what}: {becomes}"));
        }
        for left in &plan.left {
            lines.push(format!("left out  {} of {}: {}", left.what, left.from, left.why));
        }
        // Names and values come from files that somebody else may have written.
        let body = Body::Text(lines.iter().map(|line| format!("{}\n", cell(line))).collect());
        let reply = Reply::new(body, plan.data(self.dry_run));
        match plan.packages.is_empty() {
            true => reply,
            false => reply
                .hint("nobody vouches for these tools: `mcpkg tool trust policy` says what happens when one is called"),
        }
    }
}
