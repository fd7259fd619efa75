//! Reports what a sync did or would do, as text and JSON.

use std::path::Path;

use serde_json::{Value, json};

use super::contents::Contents;
use super::plan::Plan;
use super::step::{Act, Step};
use super::write::Outcome;
use crate::item::manifest;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Reply, Table};

/// The parts of a report that do not depend on the outcome.
pub(super) struct Report<'r> {
    pub(super) project: &'r str,
    pub(super) folder: &'r Path,
    pub(super) dry: bool,
}

impl Act {
    /// Returns the action in one or two words; `None` if there is nothing to report.
    fn word(&self, is_new: bool) -> Option<&'static str> {
        Some(match self {
            // Open proposals are counted separately.
            Act::Same | Act::Forget | Act::Wait => return None,
            Act::Take if is_new => "import",
            Act::Take => "update",
            Act::Give(..) => "write",
            Act::Merge(..) => "merge",
            Act::DeleteFile => "delete file",
            Act::ProposeChange(_) | Act::ProposeDelete | Act::ProposeDeleteFile => "propose",
            Act::Skip(_) => "skipped",
        })
    }

    /// Returns the reason for the action; empty if it is obvious. `is_first` means that the two sides never had a
    /// common version.
    fn why(&self, is_first: bool) -> String {
        match self {
            Act::ProposeChange(parts) if is_first => format!("differs: {}", parts.join(", ")),
            Act::ProposeChange(parts) => format!("both changed: {}", parts.join(", ")),
            Act::ProposeDelete => "was deleted from the folder".to_owned(),
            Act::ProposeDeleteFile => "was deleted from the project".to_owned(),
            Act::Skip(why) => why.clone(),
            _ => String::new(),
        }
    }
}

impl Report<'_> {
    /// Returns the reply of a sync without changes. `waiting` is the number of open proposals.
    pub(super) fn unchanged(&self, waiting: i64) -> Reply {
        let text = format!("Project '{}' and {} are in sync", self.project, self.folder.display());
        let text = if waiting == 0 {
            text
        } else {
            format!("Nothing has changed in the project or in {} since the last sync", self.folder.display())
        };
        let reply = Reply::sentence(text, self.data(&[], &[], waiting));
        self.finished(reply, waiting)
    }

    /// Returns the reply of a sync. `outcome` lists the files that were written, and `waiting` is the number of open
    /// proposals.
    pub(super) fn of(&self, plan: &Plan, contents: &Contents, outcome: &Outcome, waiting: i64) -> Reply {
        let mut rows: Vec<[String; 4]> = plan.steps.iter().filter_map(|step| row(step, contents)).collect();
        rows.extend(plan.links.rows());
        if rows.is_empty() && !plan.does_anything() {
            return self.unchanged(waiting);
        }
        let data = self.data(&rows, &outcome.changed, waiting);
        let reply = match self.dry {
            true => {
                let columns = &["ACTION", "ITEM", "FILE", "WHY"];
                let rows: Vec<Vec<String>> = rows.iter().map(|row| row.to_vec()).collect();
                let empty = "Only the manifest would be written".to_owned();
                Reply::new(Body::Table(Table { columns, rows, empty }), data)
            }
            false => Reply::sentence(self.sentence(&rows), data),
        };
        let mut reply = self.finished(reply, waiting);
        let of = |word: &'static str| rows.iter().filter(move |row| row[0] == word);
        if !self.dry {
            reply.details = rows.iter().map(|[action, item, path, why]| line(action, item, path, why)).collect();
            reply.hints.splice(0..0, plan.switched_off.iter().map(|name| switched_off(name)));
            reply.hints.splice(0..0, of("propose").map(|[_, item, path, why]| format!("{item} (`{path}`): {why}")));
        }
        if contents.listed.is_restored {
            let when = if self.dry { "would be" } else { "were" };
            reply.hints.push(format!(
                "`{}` was missing entries from the last sync; these entries {when} added again",
                manifest::FILE
            ));
        }
        reply.hints.extend(unnamed(&contents.disk.unnamed));
        let skipped = of("skipped").map(|[_, _, path, why]| format!("`{path}` {why}; skipped"));
        reply.warnings.extend(skipped);
        let changed = outcome.changed.iter();
        reply
            .warnings
            .extend(changed.map(|path| format!("`{path}` changed during the sync; the next sync handles it")));
        reply.failed |= !self.dry && !reply.warnings.is_empty();
        reply
    }

    fn finished(&self, mut reply: Reply, waiting: i64) -> Reply {
        if waiting > 0 {
            let count = plural::count(usize::try_from(waiting).unwrap_or(usize::MAX), "proposal");
            let wait = if waiting == 1 { "waits" } else { "wait" };
            reply.hints.push(format!("{count} {wait} for your decision: `mcpkg evolve list`, then accept or reject"));
            reply.failed = !self.dry;
        }
        reply
    }

    fn sentence(&self, rows: &[[String; 4]]) -> String {
        let count = |words: &[&str]| rows.iter().filter(|row| words.contains(&row[0].as_str())).count();
        let counts = [
            (count(&["import", "update", "merge"]), "copied into the project"),
            (count(&["write", "merge"]), "written to the folder"),
            (count(&["delete file"]), "deleted from the folder"),
            (count(&["propose"]), "proposed"),
        ];
        let counts: Vec<String> = counts
            .iter()
            .filter(|(count, _)| *count > 0)
            .map(|(count, what)| format!("{} {what}", plural::count(*count, "item")))
            .collect();
        let what = if counts.is_empty() { "nothing to do".to_owned() } else { counts.join(", ") };
        format!("Synced project '{}' with {}: {what}", self.project, self.folder.display())
    }

    fn data(&self, rows: &[[String; 4]], changed: &[String], waiting: i64) -> Value {
        let items: Vec<Value> = rows
            .iter()
            .map(|[action, item, path, why]| {
                let mut item = json!({ "action": action.replace(' ', "_"), "item": item, "path": path });
                if !why.is_empty() {
                    item["why"] = why.as_str().into();
                }
                item
            })
            .collect();
        let folder = self.folder.display().to_string();
        json!({ "project": self.project, "folder": folder, "items": items, "changed": changed, "proposals": waiting })
    }
}

fn row(step: &Step, contents: &Contents) -> Option<[String; 4]> {
    let is_new = step.ours.is_none() && contents.items.contains_key(&step.path);
    let word = step.act.word(is_new)?;
    Some([word.to_owned(), step.label.clone(), step.path.clone(), step.act.why(step.base.is_none())])
}

/// Returns the warning about files that cannot become items because of their names.
fn unnamed(names: &[String]) -> Option<String> {
    let named = plural::first(names.iter().map(|name| format!("`{name}`")), 1);
    (!names.is_empty())
        .then(|| format!("{named} cannot be synced, because some file systems do not support its name; rename it"))
}

fn switched_off(name: &str) -> String {
    format!("MCP server '{name}' came from the folder, so it is disabled until `mcpkg mcp set {name} --enabled true`")
}

fn line(action: &str, item: &str, path: &str, why: &str) -> String {
    let why = if why.is_empty() { String::new() } else { format!(": {why}") };
    format!("{path}: {action} {item}{why}")
}
