//! Shows a plan to a person: a table of changes, a line that counts them, and diffs.

use std::collections::BTreeMap;

use super::prepare::Prepared;
use super::safety::OTHERS;
use super::{Change, Op};
use crate::source::Site;
use mcpkg_base::diff;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error};
use mcpkg_base::marks;
use mcpkg_base::plural;
use mcpkg_core::op::{Body, Context, Table};

/// Returns a table with one row for each change.
pub fn table(changes: &[Change], site: &Site) -> Body {
    let rows = changes
        .iter()
        .map(|change| {
            let note = match (change.drifted, change.adopt) {
                (true, true) => "adopt: changed since",
                (true, false) => "changed since",
                (false, true) => "adopt",
                (false, false) => "",
            };
            vec![
                change.op.word().to_owned(),
                change.targets.join(","),
                change.path.display().to_string(),
                note.to_owned(),
                change.reason.clone(),
            ]
        })
        .collect();
    let empty = format!("Nothing to do: {} is up to date", site.place.root);
    let table = Table { columns: &["op", "targets", "path", "needs", "reason"], rows, empty };
    Body::Below(site.place.root.clone(), Box::new(Body::Table(table)))
}

/// Returns the error for an apply whose plan changed after the user saw it.
pub fn changed_meanwhile() -> Error {
    Error::new(Code::PlanChanged, "Something changed since the plan was made; nothing was written")
        .hint("make a new plan and review it")
}

/// Returns the line that counts the planned or completed changes.
pub fn count_line(changes: &[Change], done: bool) -> String {
    if done {
        let [create, update, delete] = numbers(changes);
        return format!("{create} created, {update} updated, {delete} deleted");
    }
    let adopt = changes.iter().filter(|change| change.adopt).count();
    let adopts = match adopt {
        0 => String::new(),
        1 => "; 1 needs --adopt".to_owned(),
        _ => format!("; {adopt} need --adopt"),
    };
    format!("{}{adopts}", counts(changes))
}

/// Returns the counts of a plan whose changes may all be made, such as `1 to create, 0 to update, 0 to delete`.
pub fn counts(changes: &[Change]) -> String {
    let [create, update, delete] = numbers(changes);
    format!("{create} to create, {update} to update, {delete} to delete")
}

fn numbers(changes: &[Change]) -> [usize; 3] {
    [Op::Create, Op::Update, Op::Delete].map(|op| changes.iter().filter(|change| change.op == op).count())
}

/// The maximum number of files that a sentence of [`replaced`] names.
const NAMED: usize = 3;

/// Returns sentences for a question about the files of others that the changes replace or delete: files that mcpkg did
/// not write, that somebody changed since, or that another source deployed. Paths below `root` are relative to it.
pub fn replaced(changes: &[Change], root: &str) -> Vec<String> {
    let whose = |change: &Change| match (change.drifted, change.reason == OTHERS.reason) {
        (true, _) => "that you changed",
        (false, true) => "of another project or repo",
        (false, false) => "that you wrote",
    };
    let mut groups: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.adopt) {
        let verb = match change.op {
            Op::Create => continue,
            // Only mcpkg's part of the file changes.
            Op::Update if change.block => "changes",
            Op::Update => "replaces",
            Op::Delete => "deletes",
        };
        let path = disk::posix(change.path.strip_prefix(root).unwrap_or(&change.path));
        groups.entry((verb, whose(change))).or_default().push(marks::line(&path).into_owned());
    }
    let sentence = |((verb, whose), paths): ((&str, &str), Vec<String>)| {
        let (files, kept) = (plural::count(paths.len(), "file"), if paths.len() == 1 { "its" } else { "their" });
        format!("This {verb} {files} {whose}: {}; {kept} old text is kept.", plural::first(paths, NAMED))
    };
    groups.into_iter().map(sentence).collect()
}

/// Lists the changes for a consent prompt, one line each.
pub fn effects(changes: &[Change]) -> Vec<String> {
    changes.iter().map(|change| format!("{} {}", change.op.word(), change.path.display())).collect()
}

/// The maximum size of one file's diff in bytes.
const MAX_DIFF: usize = 100 << 10;

/// Returns the unified diff of a change, or the reason why there is no diff. `relative` is the file name in the diff.
fn unified_as(change: &Change, relative: &str) -> Result<String, String> {
    let text = |bytes: Option<&[u8]>| match bytes {
        Some(bytes) => std::str::from_utf8(bytes).map(str::to_owned).map_err(|_| format!("{relative} is not UTF-8")),
        None => Ok(String::new()),
    };
    let (old, new) = (text(change.before.bytes())?, text(change.after.bytes())?);
    if old.len().max(new.len()) > 8 * MAX_DIFF {
        return Err(format!("{relative} is too large for a diff"));
    }
    let old_name = if change.op == Op::Create { "/dev/null".to_owned() } else { format!("a/{relative}") };
    let new_name = if change.op == Op::Delete { "/dev/null".to_owned() } else { format!("b/{relative}") };
    let text = diff::unified(&old, &new, &old_name, &new_name);
    if text.len() > MAX_DIFF {
        Err(format!("the diff of {relative} is larger than {MAX_DIFF} bytes"))
    } else {
        Ok(text)
    }
}

/// The maximum size of all diffs in an answer to an agent, in bytes.
const MAX_DIFFS: usize = 32 << 10;

/// Returns the unified diffs of the first changes: as many as fit into one answer, but at least one. `name` returns the
/// path to show. For an agent, a first diff that is too long is cut. In a shell, there is no limit.
pub fn unified_within(
    context: &Context,
    changes: &[Change],
    name: impl Fn(&Change) -> String,
) -> Vec<Result<String, String>> {
    let most = if context.is_shell() { usize::MAX } else { MAX_DIFFS };
    let mut texts: Vec<Result<String, String>> = Vec::new();
    let mut total = 0;
    for change in changes {
        let text = unified_as(change, &name(change)).map(|text| shortened(text, most));
        total += text.as_ref().map_or_else(String::len, String::len);
        if total > most && !texts.is_empty() {
            break;
        }
        texts.push(text);
    }
    texts
}

/// Cuts a long diff to its first lines, followed by the number of omitted lines.
fn shortened(text: String, most: usize) -> String {
    if text.len() <= most {
        return text;
    }
    let end = text[..text.floor_char_boundary(most)].rfind('\n').map_or(0, |end| end + 1);
    format!("{}... {} more lines; see the file itself\n", &text[..end], text[end..].lines().count())
}

/// Returns the path of a change relative to its target's folder.
pub fn relative(change: &Change) -> String {
    disk::posix(change.path.strip_prefix(&change.root).unwrap_or(&change.path))
}

/// Returns the diffs of all changes for a person. Paths are relative to the deploy root, because files in the folders
/// of different targets may have the same name.
pub fn diffs(changes: &[Change], site: &Site) -> Body {
    let text = changes.iter().map(|change| {
        let path = disk::posix(change.path.strip_prefix(&site.place.root).unwrap_or(&change.path));
        match unified_as(change, &path) {
            Ok(text) if text.is_empty() => format!("{path}: {}\n", change.reason),
            Ok(text) => text,
            Err(why) => format!("{why}\n"),
        }
    });
    Body::Diff(text.collect())
}

/// Returns the plan for a person: a row for each listed change, and the count of all changes.
pub fn listed(prepared: &Prepared, listed: &[Change]) -> Body {
    let changes = &prepared.plan.changes;
    let mut parts = vec![table(listed, &prepared.site)];
    if !changes.is_empty() {
        parts.push(Body::Sentence(count_line(changes, false)));
    }
    Body::Several(parts)
}
