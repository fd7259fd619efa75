//! Implements `mcpkg undo` for deploys: rolls back to the state before a snapshot.

use super::rollback::Rollback;
use crate::rollback::goal;
use crate::source::Choice;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Context, Operation, Reply, Undo};
use mcpkg_store::events::Event;
use mcpkg_store::snapshots::{self, Kind, State};

pub const UNDO: Undo = Undo {
    alone: &[("deploy", undo), ("rollback", undo)],
    lasting: &[
        ("snapshot.prune", "the snapshots are deleted"),
        ("evolve.propose", "reject it with `mcpkg evolve reject`"),
    ],
    ..Undo::NOTHING
};

/// Rolls back to the state before the snapshot of an event. Except in a dry run, refuses if that would also undo a
/// later deploy.
fn undo(context: &Context, event: &Event, dry_run: bool) -> Result<Reply> {
    let mut context = context.clone();
    // The snapshot belongs to the event's project, whatever project is selected now.
    if let Some(project) = &event.project {
        (context.selection.named, context.selection.named_by) = (Some(project.clone()), "the event");
    }
    let snapshot = goal::find(&context, &event.subject)?;
    let all = context.store.read(|db| snapshots::of_place(db, Some(snapshot.place)))?;
    // If the last snapshot is a rollback, it may already have undone the later deploys, and the plan shows what would
    // change.
    let last = all.into_iter().find(|other| other.state == State::Applied.word());
    if let Some(later) = last.filter(|last| last.id > snapshot.id && last.kind != Kind::Rollback.word() && !dry_run) {
        let why =
            format!("Cannot undo event {}: snapshot {} was deployed to the same folder later", event.seq, later.uuid);
        return Err(Error::new(Code::SnapshotUnusable, why)
            .hint(format!("`mcpkg rollback --to {}^` undoes the later deploys too", event.subject)));
    }
    Rollback::before(&event.subject, Choice::default(), dry_run, &context).run(&context)
}
