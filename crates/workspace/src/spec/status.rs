//! Computes how complete a spec is.

use serde::Serialize;
use serde_json::{Value, json};

use super::branches::{Branch, Branches};
use super::opened::{Document, Spec};
use super::report::{self, Report};
use super::trees::Trees;
use crate::root::Workspace;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// The phase of a spec between its creation and its archiving.
#[derive(Clone, Copy, Debug, Serialize, PartialEq, Eq)]
pub(super) enum Phase {
    /// Still empty: no text below 'Why' and 'What Changes', no complete decision and no task.
    New,
    /// Not valid yet.
    Draft,
    /// Valid, with open tasks or questions.
    Active,
    /// Valid, with no open tasks or questions.
    Done,
    /// In the archive.
    Archived,
}

impl Phase {
    /// Returns the phase's name in replies: `Draft`.
    pub(super) const fn word(self) -> &'static str {
        match self {
            Self::New => "New",
            Self::Draft => "Draft",
            Self::Active => "Active",
            Self::Done => "Done",
            Self::Archived => "Archived",
        }
    }

    fn of(spec: &Spec, report: &Report) -> Self {
        let says_something =
            spec.proposes("Why") || spec.proposes("What Changes") || spec.decides() || !spec.tasks().is_empty();
        match () {
            () if spec.found.is_archived => Self::Archived,
            () if !says_something => Self::New,
            () if !report.errors.is_empty() => Self::Draft,
            () if spec.tasks().iter().all(|task| task.done) && spec.questions().is_empty() => Self::Done,
            () => Self::Active,
        }
    }
}

/// The status of a spec, with the fields that `smctl_spec_status` returns in contract 003 (smctl).
#[derive(Clone, Debug, Serialize)]
pub(super) struct Status {
    pub(super) name: String,
    pub(super) repo: String,
    pub(super) qualified: String,
    pub(super) phase: Phase,
    pub(super) path: String,
    /// The day the spec was created.
    pub(super) created: Option<String>,
    pub(super) has_proposal: bool,
    pub(super) has_design: bool,
    pub(super) has_tasks: bool,
    pub(super) tasks_total: usize,
    pub(super) tasks_done: usize,
    pub(super) open_questions: Vec<String>,
    pub(super) branches: Vec<Branch>,
}

impl Status {
    fn of(spec: &Spec, workspace: &Workspace, branches: &Branches) -> Self {
        let feature_prefix = &workspace.manifest.flow.feature_prefix;
        let tasks = spec.tasks();
        let is_there = |document: &Document| !matches!(document, Document::Missing);
        Self {
            name: spec.found.name.clone(),
            repo: spec.found.repo.clone(),
            qualified: spec.found.qualified(),
            phase: Phase::of(spec, &report::of(spec, feature_prefix, None)),
            path: disk::posix(&spec.found.path),
            created: spec.metadata.as_ref().and_then(|metadata| metadata.created.clone()),
            has_proposal: is_there(&spec.proposal),
            has_design: is_there(&spec.design),
            has_tasks: is_there(&spec.tasks),
            tasks_total: tasks.len(),
            tasks_done: tasks.iter().filter(|task| task.done).count(),
            open_questions: spec.questions().into_iter().map(|question| question.text).collect(),
            branches: branches.named(&spec.branch(feature_prefix)),
        }
    }

    /// Returns the status as JSON, in the format of `smctl_spec_status`.
    pub(super) fn value(&self) -> Result<Value> {
        let failed = |error| Error::internal("a status cannot be written as JSON").with_source(error);
        serde_json::to_value(self).map_err(failed)
    }
}

/// Returns the status of every spec in a workspace, and warnings about specs, trees and branches that could not be read.
pub(super) fn all(context: &Context, workspace: &Workspace) -> (Vec<Status>, Vec<String>) {
    let mut trees = Trees::of(workspace);
    let branches = Branches::of(context, workspace);
    let (mut all, mut unread) = (Vec::new(), Vec::new());
    for found in trees.all() {
        let name = found.qualified();
        match Spec::open(&mut trees, found) {
            Ok(spec) => all.push(Status::of(&spec, workspace, &branches)),
            // The spec was archived or deleted since it was listed.
            Err(error) if error.code() == Code::NotFound => {}
            Err(error) => unread.push(format!("cannot read the spec '{name}': {error}")),
        }
    }
    (all, [trees.refused(), unread, branches.warnings].concat())
}

/// Returns the status of the named spec, and one warning per repository whose branches could not be read.
pub(super) fn one(context: &Context, workspace: &Workspace, name: &str) -> Result<(Status, Vec<String>)> {
    let mut trees = Trees::of(workspace);
    let found = trees.find(name)?;
    let spec = Spec::open(&mut trees, found)?;
    let branches = Branches::of(context, workspace);
    Ok((Status::of(&spec, workspace, &branches), branches.warnings))
}

/// Returns several specs as one JSON object.
pub(super) fn object(specs: &[Status]) -> Result<Value> {
    let specs = specs.iter().map(Status::value).collect::<Result<Vec<_>>>()?;
    Ok(json!({ "specs": specs }))
}
