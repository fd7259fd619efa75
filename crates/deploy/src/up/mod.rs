//! `mcpkg up`: sets up a folder for all agents with one command and one question.
//!
//! [`wish`] decides what the command is about: the folder, the project and the agents. [`find`] imports the folder into a
//! copy of the database and plans the deploy there, so that nothing is written before the question. [`show`] makes the
//! screen. After the answer, [`apply`] imports into the database itself, deploys, and connects the agents. It refuses if
//! the plan is no longer the one on the screen. [`undo`] implements `mcpkg up --undo`.

mod apply;
mod find;
mod home;
mod show;
mod undo;
mod wish;

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::GROUP;
use find::Found;
use mcpkg_agents::agents;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{
    Changes, Confirmation, Context, Effect, Entry, Faces, MissingDatabase, NoOutput, Operation, Reply,
};
use wish::Wish;

pub const OPS: &[Entry] = &[Entry::of::<Up>()];

/// Set up a folder
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Up {
    /// Folder to set up, or a repository whose content to add: owner/repo or a git URL [default: the current folder]
    #[arg(value_name = "FOLDER|REPO")]
    what: Option<String>,
    /// Import only files that match a pattern, such as 'skills/pdf' or '*.mdc'; a leading `!` excludes files
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    #[serde(default)]
    only: Vec<String>,
    /// Agents to set up [default: the agents that are installed]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = PossibleValuesParser::new(agents::names()))]
    #[serde(default)]
    agents: Vec<String>,
    /// Do not add mcpkg to the agents' MCP configuration
    #[arg(long)]
    #[serde(default)]
    no_connect: bool,
    /// Show what would be done, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Take back what `mcpkg up` wrote for this folder
    #[arg(long, conflicts_with_all = ["only", "agents", "no_connect"])]
    #[serde(default)]
    undo: bool,
}

impl Operation for Up {
    const TOOL: &'static str = "up";
    const CLI: &'static [&'static str] = &["up"];
    const TITLE: &'static str = "Set up a folder";
    const ABOUT: &'static str = "Set up a folder for all your agents, with one question";
    const HELP: &'static str = "mcpkg imports what the folder holds for agents, deploys it for every agent, and connects the \
        agents. It shows on one screen what the folder contains, what would be written for each \
        agent, and which agents would be connected. Then it asks once. Before your answer, nothing is written.\n\n\
        The content goes into a project that is named after the folder and bound to it. Your own files stay as they \
        are: at most, a block is added. Files that you changed since a deploy are left alone.\n\n\
        Run the command again after you changed a file: it shows and writes only the difference. With --yes, mcpkg \
        leaves out what only a person can allow, such as programs that agents would start, lists it, and exits with \
        status 3.\n\n\
        `mcpkg up --undo` restores every file of the folder and of the agents' configuration, byte for byte.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg up",
        "mcpkg up --dry-run",
        "mcpkg up ~/code/shop --agents claude-code,codex --yes",
        "mcpkg up anthropics/skills --only 'skills/pdf'",
        "mcpkg up --undo",
    ];
    const EFFECT: Effect = Effect::Write;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const CHANGES: Changes = Changes::SELECTION;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.what.as_deref().map(mcpkg_base::redact::redact).unwrap_or_default()
    }

    /// Nothing is written before the person answers, so a missing database is created only after the answer.
    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let is_unanswered = !self.dry_run && context.confirmation == Confirmation::Nobody;
        let unanswered = |what: &str| {
            let why = format!("`{what}` writes files, but was not approved; nothing was changed");
            Error::new(Code::ConfirmRequired, why).hint("--yes approves it; --dry-run shows what it would do")
        };
        if self.undo {
            return match is_unanswered {
                true => Err(unanswered("mcpkg up --undo")),
                false => undo::undo(context, self.what.as_deref(), self.dry_run),
            };
        }
        // A folder that cannot be set up is reported first.
        let wish = Wish::new(context, self.what.as_deref(), &self.agents, self.only, !self.no_connect)?;
        if is_unanswered {
            return Err(unanswered("mcpkg up"));
        }
        let mut found = Found::rehearse(context, &wish)?;
        if found.is_nothing() {
            return Ok(show::nothing(context, &wish));
        }
        let data = show::data(&wish, &found);
        // With --yes nobody can allow what agents would run, so files that need this permission are left out.
        let is_by_person = context.confirmation == Confirmation::Ask;
        if found.is_quiet(is_by_person || self.dry_run) {
            return Ok(show::quiet(&wish, &found, data));
        }
        let screen = show::screen(&wish, &mut found);
        if self.dry_run {
            return Ok(show::dry_run(screen, data));
        }
        (context.ask)(screen, &show::question(&wish))?;
        let done = apply::apply(context, &wish, &found, is_by_person)?;
        Ok(show::done(&wish, &found, done, is_by_person, data))
    }
}
