//! `mcpkg up`: sets up a folder for all agents with one command and one question.
//!
//! [`wish`] decides what the command is about: the folder, the project and the agents. [`find`] imports the folder into a
//! copy of the database and plans the deploy there, so that nothing is written before the question. [`show`] makes the
//! screen, and [`replies`] the replies. After the answer, [`apply`] imports into the database itself, deploys, and connects
//! the agents. It refuses if the plan is no longer the one on the screen. [`undo`] implements `mcpkg up --undo`.

mod apply;
mod find;
mod home;
mod pick;
mod replies;
mod show;
mod undo;
mod wish;

use std::collections::HashSet;

use clap::builder::PossibleValuesParser;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::GROUP;
use find::Found;
use mcpkg_agents::agents;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::shell::quote;
use mcpkg_core::op::{
    Changes, Confirmation, Context, Effect, Entry, Faces, MissingDatabase, NoOutput, Operation, Pick, Reply,
};
use pick::{Choices, Picked};
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
    /// Take only this plugin of the repository's marketplace; repeat for several
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    plugin: Vec<String>,
    /// Agents to set up [default: the agents that are installed]
    #[arg(long, value_name = "NAME,...", value_delimiter = ',', value_parser = PossibleValuesParser::new(agents::names()))]
    #[serde(default)]
    agents: Vec<String>,
    /// Do not add mcpkg to the agents' MCP configuration
    #[arg(long)]
    #[serde(default)]
    no_connect: bool,
    /// Ask with one question instead of a list to choose from; also the default if TERM is dumb
    #[arg(long)]
    #[serde(default)]
    plain: bool,
    /// Show what would be done, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Take back what `mcpkg up` wrote for this folder
    #[arg(long, conflicts_with_all = ["only", "plugin", "agents", "no_connect"])]
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
        `mcpkg up --undo` restores every file of the folder and of the agents' configuration, byte for byte.\n\n\
        Afterwards, `mcpkg console` shows what your agents change and what they ask for.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg up",
        "mcpkg up --dry-run",
        "mcpkg up ~/code/shop --agents claude-code,codex --yes",
        "mcpkg up anthropics/skills --only 'skills/pdf'",
        "mcpkg up anthropics/claude-code --plugin code-review",
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
        // Check the folder first, so that a folder that cannot be set up is reported even without an answer.
        let (what, connects) = (self.what.as_deref(), !self.no_connect);
        let mut wish = Wish::new(context, what, &self.agents, &self.only, &self.plugin, connects)?;
        if is_unanswered {
            return Err(unanswered("mcpkg up"));
        }
        let mut found = Found::rehearse(context, &wish)?;
        if found.is_nothing() {
            return Ok(replies::nothing(context, &wish));
        }
        let data = show::data(&wish, &found);
        // With --yes nobody can allow what agents would run, so files that need this permission are left out.
        let is_by_person = context.confirmation == Confirmation::Ask;
        let allowed = if is_by_person || self.dry_run { found.all_needs() } else { HashSet::new() };
        if found.does_nothing(&allowed) {
            return Ok(replies::quiet(&wish, &found, data));
        }
        if self.dry_run {
            let details = show::details(&found);
            return Ok(replies::dry_run(show::screen(&wish, &mut found, true), details, data));
        }
        let choices = Choices::of(&found, &wish);
        let choose = context.choose.as_ref().filter(|_| !self.plain && !choices.groups.is_empty());
        let Some(choose) = choose else {
            (context.ask)(show::screen(&wish, &mut found, false), &show::question(&wish))?;
            let done = apply::apply(context, &wish, &found, &allowed)?;
            return Ok(replies::done(&wish, &found, done, is_by_person, data));
        };
        let shown = show::above_list(&wish, &mut found);
        let (heading, question) = (show::heading(&wish), show::question(&wish));
        let ticks = choose(Pick { shown, heading, question, groups: choices.groups.clone() })?;
        let Picked { only, allowed } = choices.picked(&ticks, &wish.only);
        let mut hints = Vec::new();
        if let Some(only) = only {
            hints.push(format!("the same choice as a command: `{}`", self.command_with(&only)));
            wish.only = only;
            found = Found::rehearse(context, &wish)?;
            found.refuse_unseen(&allowed)?;
        }
        let reply = if found.is_nothing() {
            replies::nothing_chosen(&wish)
        } else {
            let data = show::data(&wish, &found);
            match found.does_nothing(&allowed) {
                true => replies::quiet_by_person(&wish, &found, data),
                false => {
                    let done = apply::apply(context, &wish, &found, &allowed)?;
                    replies::done(&wish, &found, done, true, data)
                }
            }
        };
        Ok(hints.into_iter().fold(replies::with_unticked(reply, &found, &allowed), Reply::hint))
    }
}

impl Up {
    /// Returns the command that takes only what these patterns match.
    fn command_with(&self, only: &[String]) -> String {
        let mut command = "mcpkg up".to_owned();
        command.extend(self.what.iter().map(|what| format!(" {}", quote(what))));
        if !self.agents.is_empty() {
            command.push_str(&format!(" --agents {}", self.agents.join(",")));
        }
        command.extend(self.plugin.iter().map(|plugin| format!(" --plugin {}", quote(plugin))));
        command.push_str(if self.no_connect { " --no-connect" } else { "" });
        command.extend(only.iter().map(|pattern| format!(" --only {}", quote(pattern))));
        command
    }
}
