//! Builds the replies of `mcpkg up`.

use std::collections::HashSet;

use serde_json::{Value, json};

use super::apply::Done;
use super::find::{Found, Verdict};
use super::show::{NAMED, cuts, details, titles};
use super::wish::Wish;
use crate::plan::code;
use mcpkg_agents::audit::rules::Severity;
use mcpkg_base::plural;
use mcpkg_base::shell::quote;
use mcpkg_core::op::{Body, Context, Reply};

/// Returns the reply for when neither the folder nor the project has anything for agents.
pub(super) fn nothing(context: &Context, wish: &Wish) -> Reply {
    let folder = wish.folder.display();
    let sentence = format!("Found nothing for agents in {folder}, so there is nothing to set up");
    let first = match wish.is_new {
        true => format!(
            "to start with a prompt of your own: `mcpkg project create {}`, then `mcpkg prompt create review 'Review the \
             last change.'`",
            quote(&wish.project)
        ),
        false => {
            "to start with a prompt of your own: `mcpkg prompt create review 'Review the last change.'`".to_owned()
        }
    };
    let reply = Reply::sentence(sentence, json!({ "project": wish.project, "folder": wish.folder, "found": [] }));
    let reply = reply.hint(first).hint("to start with what others publish: `mcpkg up anthropics/skills`");
    if context.database().exists() { reply } else { reply.hint("no database was created") }
}

/// Returns the reply for when there is nothing to do, or nothing that can be done without asking a person.
pub(super) fn quiet(wish: &Wish, found: &Found, data: Value) -> Reply {
    let agents = plural::count(found.budgets.len(), "agent");
    let read = if found.budgets.len() == 1 { "reads" } else { "read" };
    let sentence = format!("Nothing changed: {agents} {read} project '{}'", wish.project);
    let reply = with_left_alone(Reply::sentence(sentence, data), found);
    without_person(reply, found)
}

/// Returns the reply for when everything that the person chose is already done.
pub(super) fn quiet_by_person(wish: &Wish, found: &Found, data: Value) -> Reply {
    with_left_alone(Reply::sentence(format!("Nothing changed in project '{}'", wish.project), data), found)
}

/// Returns the reply for when the person chose nothing for a new project.
pub(super) fn nothing_chosen(wish: &Wish) -> Reply {
    let data = json!({ "project": wish.project, "folder": wish.folder, "found": [] });
    Reply::sentence("You chose nothing, so nothing was changed", data)
}

/// Adds a hint about files that were not written because the person did not tick something.
pub(super) fn with_unticked(reply: Reply, found: &Found, allowed: &HashSet<String>) -> Reply {
    let count = found.changes(Verdict::Person).filter(|change| !found.is_written(change, allowed)).count();
    if count == 0 {
        return reply;
    }
    let written = if count == 1 { "was" } else { "were" };
    let files = plural::count(count, "file");
    reply.hint(format!("{files} {written} not written, because you did not tick what agents would run or read there"))
}

/// Adds warnings about what was left out because only a person can allow it. The command then exits with status 3.
fn without_person(mut reply: Reply, found: &Found) -> Reply {
    let runs = found.runs();
    let mut critical = found.audit.left_out.clone();
    critical.add_new(found.outgoing.clone());
    let critical = critical.lines(Severity::Critical);
    if runs.is_empty() && critical.is_empty() {
        return reply;
    }
    let what = match (runs.is_empty(), critical.is_empty()) {
        (true, _) => "accept what an audit finds",
        (false, true) => "allow what agents run",
        (false, false) => "allow what agents run and accept what an audit finds",
    };
    let left = code::lines(&runs).into_iter().take(runs.len()).chain(critical);
    reply.warnings.extend(left.map(|line| format!("left out: {line}")));
    reply.differs = true;
    reply.hint(format!("only a person can {what}: to see it and allow it, run `mcpkg up` at a terminal"))
}

pub(super) fn dry_run(screen: Body, details: Vec<String>, mut data: Value) -> Reply {
    data["dry_run"] = true.into();
    Reply { details, ..Reply::new(screen, data).hint("dry run: nothing was written") }
}

/// Returns the reply after everything was done.
pub(super) fn done(wish: &Wish, found: &Found, done: Done, is_by_person: bool, mut data: Value) -> Reply {
    data["snapshot_id"] = json!(done.snapshot.map(|id| id.to_string()));
    data["connected"] = done.connected.iter().map(|agent| agent.name).collect();
    let wrote = match done.written {
        0 => "no file had to be written".to_owned(),
        count => format!("wrote {}", plural::count(count, "file")),
    };
    let connected = match done.connected.len() {
        0 => String::new(),
        count if count > NAMED => format!("; connected {}", plural::count(count, "agent")),
        _ => format!("; connected {}", titles(done.connected.iter().copied())),
    };
    let sentence = format!("Set up project '{}': {wrote}{connected}", wish.project);
    let failed = done.connected.len() < found.to_connect().count();
    let mut reply = with_left_alone(Reply::sentence(sentence, data), found);
    reply.warnings.extend(done.warnings);
    reply.hints.extend(done.hints);
    reply.failed = failed;
    if !is_by_person {
        let others = found.report().filtered(|finding| finding.rule.severity < Severity::Critical);
        reply.warnings.extend(others.lines(Severity::Warning));
        reply.warnings.extend(cuts(found));
        reply = without_person(reply, found);
    }
    if !done.connected.is_empty() {
        reply = reply.hint("restart running agents, then test the connections with `mcpkg client check`");
    }
    reply.hint(format!("to undo all of it: `mcpkg up --undo{}`", here(wish)))
}

/// Returns the folder as an argument, or nothing if it is the working directory.
fn here(wish: &Wish) -> String {
    let is_here = std::env::current_dir().is_ok_and(|here| here == wish.folder);
    if is_here { String::new() } else { format!(" {}", quote(&wish.folder.to_string_lossy())) }
}

/// Adds hints about files that were left alone, and the details.
fn with_left_alone(mut reply: Reply, found: &Found) -> Reply {
    reply.details = details(found);
    let count = |verdict| found.changes(verdict).count();
    let (edited, foreign) = (count(Verdict::Edited), count(Verdict::Foreign));
    let stay = |count: usize| if count == 1 { "stays" } else { "stay" };
    if edited > 0 {
        let (files, stay) = (plural::count(edited, "file"), stay(edited));
        reply = reply.hint(format!(
            "{files} edited after a deploy {stay} unchanged; to take the edits into the project: `mcpkg evolve propose`"
        ));
    }
    if foreign > 0 {
        let (files, stay) = (plural::count(foreign, "file"), stay(foreign));
        reply =
            reply.hint(format!("{files} of yours {stay} unchanged; to see what a deploy would change: `mcpkg diff`"));
    }
    reply
}
