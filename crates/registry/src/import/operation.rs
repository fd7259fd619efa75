//! `mcpkg tool import`: imports from Enact, the program that contract 002 describes, or shows what an import would do.

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;

use super::home::Home;
use super::plan::Plan;
use super::{gather, widening, write};
use crate::GROUP;
use crate::trust;
use mcpkg_base::error::Result;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Changes, Context, Effect, Faces, NoOutput, Operation, Reach, Reply, cell};

/// Import tools from Enact
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// Folder where Enact stores its files [default: ~/.enact]
    #[arg(value_name = "DIR")]
    folder: Option<PathBuf>,
    /// Also import agents/skills.json and .enact/tools.json from this project folder into the selected project
    #[arg(long, value_name = "DIR")]
    #[serde(default)]
    for_project: Option<PathBuf>,
    /// Show what would be imported and left out, without changing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
}

impl Operation for Import {
    const TOOL: &'static str = "import_tools";
    const CLI: &'static [&'static str] = &["tool", "import"];
    const TITLE: &'static str = "Import tools from Enact";
    const ABOUT: &'static str =
        "Import tools, aliases, toolsets, settings and trust from Enact; an import that fails changes nothing";
    const HELP: &'static str = "The import leaves Enact's files unchanged. If one of Enact's files is malformed, the import stops before \
        it writes anything. mcpkg packs each tool from its folder in ~/.agents/skills. Imported tools are unsigned, so your trust policy \
        applies each time an imported tool is called. mcpkg does not copy secrets. A setting that would permit more than your current \
        settings, such as trust in another signer, needs your confirmation at a terminal. Without a terminal, mcpkg leaves such settings \
        out; to import them, run the same command at a terminal.";
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
        let taken = plan.imports();
        let verb = if self.dry_run { "Would import" } else { "Imported" };
        let sentence = format!("{verb} {}, left {} out", plural::count(taken.len(), "thing"), plan.left.len());
        let mut lines = vec![sentence];
        for [what, becomes] in taken {
            lines.push(format!("imported  {what}: {becomes}"));
        }
        for left in &plan.left {
            lines.push(format!("left out  {} of {}: {}", left.what, left.from, left.why));
        }
        // The names and values come from files that somebody else may have written, so they are cleaned before they
        // are shown.
        let body = Body::Text(lines.iter().map(|line| format!("{}\n", cell(line))).collect());
        let reply = Reply::new(body, plan.data(self.dry_run));
        match plan.packages.is_empty() {
            true => reply,
            false => {
                reply.hint("these tools are unsigned; `mcpkg tool trust policy` shows what mcpkg does when an unsigned tool is called")
            }
        }
    }
}
