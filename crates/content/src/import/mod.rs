//! `mcpkg import`: turns files that agents read today into prompts, resources and other items.
//!
//! Paths become files: [`scan`] walks folders ([`walk`]), follows [`links`], and reads the files ([`reading`]). [`place`]
//! decides what each file is, from the tables of [`agents`] and the skills and plugins among the [`folders`].
//!
//! Files become items: [`item`] uses [`mcpkg_agents::forms::matter`], [`mcpkg_agents::commands`] and an export's [`manifest`].
//!
//! Items are merged into the project ([`merge`]), and so are the MCP servers of agents' files ([`kept`], [`servers`]).
//! Contents and their words are stored first ([`ahead`]), everything else in one transaction ([`write`]), including the
//! [`second_places`] of files. The [`account`] reports what happened to each file. A taken name becomes a
//! [`free_name`], and [`skill_folder`] imports a single skill. Files with conflict markers ([`conflict`]) are skipped.

pub mod account;
pub mod find;
pub mod merge;
pub mod paths;
pub mod place;
pub mod read;
pub(crate) mod reading;
pub mod reason;
pub mod skill_folder;

mod note;
mod project;
mod summary;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::GROUP;
use super::skills::MAIN;
use crate::item::{Item, server};
use crate::item::{conflict, manifest};
use crate::same::record::{self, SecondPlaces};
use account::Account;
use find::only;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Body, Context, Effect, Faces, LISTED_BY_VERBOSE, NoOutput, Operation, Reply, Table};
use mcpkg_store::projects;
use merge::items::Action;
use merge::servers;
use merge::write::{Content, Plan};
use paths::Kind;
use project::Destination;
use read::agent_file::KeptFiles;
use reason::Reason;

/// Import files and folders
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// Files and folders to import, such as CLAUDE.md, .claude/commands, a project or an exported folder
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show what would be imported, without writing anything
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Update existing items that differ from the files; the old versions stay available as revisions
    #[arg(long)]
    #[serde(default)]
    update: bool,
    /// Also import files excluded by .gitignore and other ignore files
    #[arg(long)]
    #[serde(default)]
    all: bool,
    /// Import only files that match a pattern, such as 'skills/pdf' or '*.mdc'; a leading `!` excludes files
    #[arg(long, value_name = "GLOB", allow_hyphen_values = true)]
    #[serde(default)]
    only: Vec<String>,
    /// Import every file as this kind of item, regardless of the file's path
    #[arg(long = "as", value_name = "KIND")]
    #[schemars(with = "Option<String>")]
    #[serde(default)]
    kind: Option<Kind>,
    /// Store the value of this MCP server variable or header as plain text; the value must not be a secret
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    keep_env: Vec<String>,
    /// Create a project with this name, and import into it
    #[arg(long, value_name = "NAME", conflicts_with = "dry_run")]
    #[serde(default)]
    create_project: Option<String>,
}

impl Operation for Import {
    const TOOL: &'static str = "import_files";
    const CLI: &'static [&'static str] = &["import"];
    const TITLE: &'static str = "Import files";
    const ABOUT: &'static str = "Import commands, skills, rules and other files into the selected project";
    const HELP: &'static str = "A file's name and folder decide what the file becomes:\n\
        - A folder with SKILL.md becomes a skill, wherever the folder is. The skill includes all files in the folder \
        and its subfolders.\n\
        - Commands (.claude/commands, .cursor/commands, .opencode/command, .codex/prompts, .windsurf/workflows, \
        *.prompt.md and a plugin's commands) become prompts. $ARGUMENTS, $1 and $name become the prompt's arguments.\n\
        - AGENTS.md, CLAUDE.md, GEMINI.md, rules and *.instructions.md become instructions://NAME. mcpkg keeps the \
        globs that select the files to which the instructions apply.\n\
        - Subagents become subagent://NAME, and any other file becomes file:///PATH.\n\
        - MCP servers are read from each agent's file (.mcp.json, .cursor/mcp.json, .vscode/mcp.json, \
        .codex/config.toml, opencode.json, .gemini/settings.json and others). For a server's variables and headers, \
        mcpkg stores only the names of the variables that hold the values, never the values.\n\
        - Hooks, permissions, ignore files and plugin manifests are stored for the agent they belong to.\n\n\
        If a name is already taken, mcpkg adds the folder's name to the new item's name, as in PLUGIN-NAME.\n\n\
        mcpkg skips some files: version control files, node_modules, files listed in .gitignore, hidden files that no \
        agent reads, and files with conflict markers. --dry-run -v lists each skipped file with the reason. mcpkg \
        always imports the files listed in an export's manifest. If a link and its target are both among the files, \
        mcpkg imports the target only once. mcpkg skips links that lead out of the folder. If an import fails, nothing \
        is imported.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg import CLAUDE.md .claude/commands",
        "mcpkg import . --dry-run",
        "mcpkg import . --create-project app",
        "mcpkg import docs --update",
        "mcpkg import . --only 'plugins/git/**'",
        "mcpkg import tools --only '*.md' --as prompt",
    ];
    const EFFECT: Effect = Effect::Write;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let mut destination = Destination::find(context, self.create_project.as_deref(), !self.dry_run, &self.paths)?;
        // The project may not exist yet; then it has no resources.
        let held = destination.context().read(|db, project| projects::summary(db, project.clone()));
        let resources = held.map_or(0, |held| usize::try_from(held.resources).unwrap_or_default());
        let choice = find::Choice { only: &self.only, kind: self.kind, all: self.all, resources };
        let find::Scanned { files, same, mut links, left_out, servers, notes, .. } =
            find::scan(&self.paths, &choice, context)?;
        let is_unreadable = |left: &reason::LeftOut| left.reason == Reason::Unreadable && self.may_name(&left.path);
        if files.is_empty() && same.is_empty() && !self.only.is_empty() && !left_out.iter().any(is_unreadable) {
            return Err(self.nothing_named());
        }
        let mut kept = KeptFiles::with(Secrets::keeping(&self.keep_env));
        servers.iter().try_for_each(server::check)?;
        kept.list(servers, manifest::FILE);
        let understood = place::understand(files.iter().map(|(file, place)| (file, place.as_ref())), kept)?;
        if !understood.clashes.is_empty() {
            return Err(place::clashing(&understood.clashes));
        }
        let (others, contents) = record::among(&understood, &files);
        links.extend(others);
        let (items, servers) = (understood.items, understood.kept.servers);
        let account = Account {
            same: [same, understood.same].concat(),
            left_out: [left_out, understood.left_out].concat(),
            notes: [notes, understood.notes].concat(),
        };
        // With `--only`, SKILL.md may be missing: the files may belong to a skill that exists already.
        if self.kind == Some(Kind::Skill) && self.only.is_empty() {
            refuse_no_skill(&self.paths, &items)?;
        }
        let (same, is_whole) = (account.same.as_slice(), self.only.is_empty());
        let second_places = SecondPlaces { found: &links, contents: &contents, same, is_whole };
        let content = Content { items: &items, servers: &servers, second_places, update: self.update };
        let data = |project: &str, actions: &[Action], of_servers: &[servers::Action]| {
            if !context.shows_data {
                return Value::Null;
            }
            let mut data = data(project, &items, actions, &account);
            data["servers"] = servers::data(&servers, of_servers);
            data
        };
        let mut reply = if self.dry_run {
            let Plan { actions, of_servers, project, .. } = content.plan(context)?;
            let table = counted(&items, &actions, &of_servers, &account);
            let mut reply = Reply::new(Body::Table(table), data(&project.name, &actions, &of_servers));
            reply.details = items.iter().zip(&actions).map(|(item, action)| line(item, action)).collect();
            reply.details.extend(servers.iter().zip(&of_servers).map(|(found, action)| servers::line(found, action)));
            reply.hints = account.grouped_notes();
            let kinds = summary::kinds(items.iter(), &items);
            if !kinds.is_empty() {
                reply.hints.push(format!("that is {}", kinds.join(", ")));
            }
            reply.hints.push(format!("dry run: the files were not imported{LISTED_BY_VERBOSE}"));
            reply
        } else {
            if context.is_cancelled() {
                return Err(find::cancelled());
            }
            let written = content.write(destination.made()?, &self.subject());
            let Plan { actions, of_servers, project, .. } = written.map_err(|error| destination.taken_back(error))?;
            let data = data(&project.name, &actions, &of_servers);
            let mut reply = Reply::sentence(summary::sentence(&project.name, &items, &actions, &of_servers), data);
            reply.hints = account.hints();
            reply.hints.extend(destination.hint());
            reply
        };
        let why = |left: &reason::LeftOut| match left.reason {
            Reason::Unmerged => Some(conflict::WHY),
            Reason::Unreadable if self.may_name(&left.path) => Some(Reason::Unreadable.text()),
            _ => None,
        };
        let let_be = account.left_out.iter().filter_map(|left| Some((&left.path, why(left)?)));
        reply.warnings.extend(let_be.map(|(path, why)| format!("`{path}` {why}; skipped")));
        reply.failed |= !self.dry_run && !reply.warnings.is_empty();
        reply.details.extend(account.lines());
        if items.is_empty() {
            reply.hints.push("found no files to import".to_owned());
        }
        Ok(reply)
    }
}

impl Import {
    /// Returns whether `--only` may select a file in this folder that cannot be read, or the folder itself, judging by its path.
    fn may_name(&self, path: &str) -> bool {
        let folder = path.trim_end_matches('/');
        only::Only::new(&self.only).is_ok_and(|only| only.takes(&format!("{folder}/any")) || only.takes(folder))
    }

    /// Returns the error for `--only` patterns that match no file.
    fn nothing_named(&self) -> Error {
        let patterns: Vec<String> = self.only.iter().map(|pattern| format!("'{pattern}'")).collect();
        let what = format!("No importable file matches `--only`: {}", patterns.join(", "));
        Error::new(Code::NotFound, what)
            .hint("patterns use .gitignore syntax and match the paths listed by `mcpkg import PATH --dry-run -v`")
    }
}

/// Fails if the user imports files as a skill, but there is no SKILL.md: no agent would find the skill.
fn refuse_no_skill(paths: &[PathBuf], items: &[Item]) -> Result<()> {
    if items.is_empty() || items.iter().any(summary::is_main) {
        return Ok(());
    }
    let folders: Vec<String> = paths.iter().map(|path| format!("`{}`", path.display())).collect();
    let why = format!("{} contains no {MAIN}, so it is not a skill; nothing was imported", folders.join(", "));
    Err(Error::new(Code::InvalidArgument, why).hint(format!(
        "write a {MAIN} that says what the skill is for, or import the files as documents with `--as resource`"
    )))
}

/// Counts the files by what they would become, or by the reason why they would not be imported.
fn counted(items: &[Item], actions: &[Action], of_servers: &[servers::Action], account: &Account) -> Table {
    let mut counts: BTreeMap<(&str, &str), u64> = BTreeMap::new();
    let of_items = items.iter().zip(actions).map(|(item, action)| (action.word(), item.word()));
    for what in of_items.chain(of_servers.iter().map(|action| (action.word(), servers::WORD))) {
        *counts.entry(what).or_default() += 1;
    }
    let counts = counts.into_iter().map(|((action, what), count)| (count, action, what));
    let row = |(count, action, what): (u64, &str, &str)| vec![count.to_string(), action.to_owned(), what.to_owned()];
    let rows = counts.chain(account.counted()).map(row).collect();
    Table { columns: &["COUNT", "ACTION", "WHAT"], rows, empty: "Found nothing to import".to_owned() }
}

/// Returns the line about an item: its file, and what would happen to it.
fn line(item: &Item, action: &Action) -> String {
    let uri = item.entry.what.uri().map_or(String::new(), |uri| format!(" ({uri})"));
    format!("{}: {} {} {}{uri}", item.path, action.word(), item.word(), item.entry.name)
}

fn data(project: &str, items: &[Item], actions: &[Action], account: &Account) -> Value {
    // Several instructions may come from one file, so count paths and not items.
    let files = items.iter().map(|item| item.path.as_str()).collect::<BTreeSet<_>>().len();
    let mut data =
        Map::from_iter([("project".to_owned(), Value::from(project)), ("files".to_owned(), account.counts(files))]);
    let keys = [("created", "create"), ("updated", "update"), ("unchanged", "unchanged"), ("conflicts", "conflict")];
    for (key, word) in keys {
        let told: Vec<_> = items
            .iter()
            .zip(actions)
            .filter(|(_, action)| action.word() == word)
            .map(|(item, _)| item.data())
            .collect();
        data.insert(key.to_owned(), Value::from(told));
    }
    data.insert("same".to_owned(), account.same_data());
    data.insert("left_out".to_owned(), account.left_out_data());
    data.insert("notes".to_owned(), account.notes_data());
    Value::Object(data)
}
