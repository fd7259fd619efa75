//! `mcpkg import`: files that agents read today become prompts and resources.
//!
//! Paths become files ([`scan`]), files become items ([`item`], by the rules of [`place`], [`matter`],
//! [`crate::content::command`] and an export's [`manifest`]), and items are merged into the project ([`merge`]) in one transaction.

pub mod item;
pub mod manifest;
pub mod matter;
pub mod place;
pub mod scan;

mod merge;

#[cfg(test)]
mod tests;

use std::path::PathBuf;

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::GROUP;
use crate::error::Result;
use crate::op::{Body, Context, Effect, Faces, NoOutput, Operation, Reply, Table};
use item::Item;
use merge::Action;

/// Items written between two looks at whether the user gave up.
const BATCH: usize = 64;

/// Import files and folders
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Import {
    /// Files and folders, such as CLAUDE.md, .claude, .claude/commands, a project, an exported folder
    #[arg(required = true, value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Show what would be imported, and write nothing
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Update what is there and differs; a revision is kept
    #[arg(long)]
    #[serde(default)]
    update: bool,
}

impl Operation for Import {
    const TOOL: &'static str = "import_files";
    const CLI: &'static [&'static str] = &["import"];
    const TITLE: &'static str = "Import files";
    const ABOUT: &'static str = "Import commands, skills, rules and other files into the selected project";
    const HELP: &'static str = "Commands (.claude/commands, .cursor/commands, .opencode/command, .codex/prompts, .github/prompts) become \
        prompts, and what their $ARGUMENTS, $1 and $name stand for arguments. Skills (.claude/skills, .agents/skills) become resources \
        skill://NAME/PATH; CLAUDE.md, AGENTS.md and rules instructions://NAME; any other file file:///PATH, but for what else lies in agents' folders. \
        All is imported, or nothing. .gitignore applies, and hidden files outside agents' folders are left out, but not in a folder that `mcpkg export` wrote.\n\n\
        Examples:\n  mcpkg import CLAUDE.md .claude/commands\n  mcpkg import . --dry-run\n  mcpkg import docs --update";
    const EFFECT: Effect = Effect::Write;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(" ")
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let scan::Scanned { files, mut hints } = scan::scan(&self.paths, context)?;
        let understood = item::understand(&files)?;
        if !understood.clashes.is_empty() {
            return Err(item::clashing(&understood.clashes));
        }
        hints.extend(understood.hints);
        let items = understood.items;
        if items.is_empty() {
            hints.push("no file was found to import; .gitignore applies".to_owned());
        }
        let mut reply = if self.dry_run {
            let (actions, project) = context
                .read(|db, project| Ok((merge::plan(db, project, &items, self.update)?, project.name.clone())))?;
            let rows = items.iter().zip(&actions).map(|(item, action)| row(item, action)).collect();
            let columns = &["ACTION", "KIND", "NAME", "URI", "FILE"];
            let table = Table { columns, rows, empty: "Found nothing to import".to_owned() };
            Reply::new(Body::Table(table), data(&project, &items, &actions))
        } else {
            if context.is_cancelled() {
                return Err(scan::cancelled());
            }
            let (mut written, total) = (0, items.len() as u64);
            let (actions, project) = context.write("import", &self.subject(), |db, project, author| {
                let actions = merge::plan(db, project, &items, self.update)?;
                merge::refuse_conflicts(&items, &actions)?;
                for (items, actions) in items.chunks(BATCH).zip(actions.chunks(BATCH)) {
                    if context.is_cancelled() {
                        return Err(scan::cancelled());
                    }
                    merge::apply(db, author, project, &context.clock, items, actions.to_vec())?;
                    written += items.len() as u64;
                    (context.progress)("Writing", written, total);
                }
                Ok((actions, project.name.clone()))
            })?;
            Reply::sentence(sentence(&project, &items, &actions), data(&project, &items, &actions))
        };
        reply.hints = hints;
        Ok(reply)
    }
}

fn row(item: &Item, action: &Action) -> Vec<String> {
    let what = &item.entry.what;
    let uri = what.uri().unwrap_or_default().to_owned();
    vec![action.word().to_owned(), what.word().to_owned(), item.entry.name.clone(), uri, item.path.clone()]
}

fn sentence(project: &str, items: &[Item], actions: &[Action]) -> String {
    let written = |prompts: bool| {
        let pairs = items.iter().zip(actions).filter(|(item, _)| item.entry.what.is_prompt() == prompts);
        pairs.filter(|(_, action)| matches!(action, Action::Create | Action::Update(_))).count()
    };
    let count = |n: usize, noun: &str| format!("{n} {noun}{}", if n == 1 { "" } else { "s" });
    let of = |wanted: fn(&Action) -> bool, word: &str| {
        Some(actions.iter().filter(|action| wanted(action)).count()).filter(|n| *n > 0).map(|n| format!("{n} {word}"))
    };
    let updated = of(|action| matches!(action, Action::Update(_)), "updated");
    let unchanged = of(|action| matches!(action, Action::Unchanged), "unchanged");
    let notes: Vec<_> = updated.into_iter().chain(unchanged).collect();
    let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
    format!(
        "Imported {} and {} into project '{project}'{notes}",
        count(written(true), "prompt"),
        count(written(false), "resource")
    )
}

fn data(project: &str, items: &[Item], actions: &[Action]) -> Value {
    let mut data = Map::from_iter([("project".to_owned(), Value::from(project))]);
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
    Value::Object(data)
}
