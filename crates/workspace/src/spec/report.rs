//! Checks a spec, and reports errors and unfinished parts.

use std::collections::HashSet;

use serde::Serialize;

use super::branches::Branch;
use super::markdown::{Block, Kind, Markdown};
use super::metadata::{self, Metadata};
use super::opened::{Document, Spec, Which};
use super::scaffold;
use super::{decisions, scaffold::SPECS};

/// The sections of the proposal that must not be empty.
const REQUIRED: [&str; 2] = ["Why", "What Changes"];

/// A problem in a spec.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
pub(super) struct Finding {
    /// The file, relative to the workspace's root.
    pub(super) file: String,
    /// The line, counted from 1; `None` if the problem concerns the whole file.
    pub(super) line: Option<usize>,
    /// A description of the problem.
    pub(super) message: String,
    #[serde(skip)]
    pub(super) is_open: bool,
}

impl Finding {
    /// Formats the finding like a compiler message: `FILE:LINE: MESSAGE`.
    pub(super) fn shown(&self) -> String {
        let line = self.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{}{line}: {}", self.file, self.message)
    }
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Report {
    /// Problems that make the spec invalid.
    pub(super) errors: Vec<Finding>,
    /// Other problems, and work that is left to do.
    pub(super) warnings: Vec<Finding>,
}

/// Checks a spec. `branches` lists where the spec's branch exists; `None` skips that check.
pub(super) fn of(spec: &Spec, feature_prefix: &str, branches: Option<&[Branch]>) -> Report {
    let mut checks = Checks { spec, report: Report::default() };
    checks.metadata();
    checks.document(Which::Proposal, &spec.proposal, Checks::proposal);
    checks.document(Which::Design, &spec.design, Checks::design);
    checks.document(Which::Tasks, &spec.tasks, Checks::tasks);
    if !spec.has_spec_file {
        checks.warn(SPECS, None, "has no spec file");
    }
    if let Some(branches) = branches {
        checks.branches(&spec.branch(feature_prefix), branches);
    }
    checks.report
}

struct Checks<'s> {
    spec: &'s Spec,
    report: Report,
}

impl Checks<'_> {
    fn finding(&self, file: &str, line: Option<usize>, message: impl Into<String>) -> Finding {
        Finding { file: format!("{}/{file}", self.spec.folder), line, message: message.into(), is_open: false }
    }

    fn refuse(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        let finding = self.finding(file, line, message);
        self.report.errors.push(finding);
    }

    fn warn(&mut self, file: &str, line: Option<usize>, message: impl Into<String>) {
        let finding = self.finding(file, line, message);
        self.report.warnings.push(finding);
    }

    fn open(&mut self, file: &str, line: usize, what: &str, text: &str) {
        let finding = self.finding(file, Some(line), format!("{what}: {}", short(text)));
        self.report.warnings.push(Finding { is_open: true, ..finding });
    }

    fn metadata(&mut self) {
        let Some(Metadata { faults, missing, status, .. }) = &self.spec.metadata else {
            return self.warn(metadata::FILE, None, "is missing");
        };
        for fault in faults {
            self.refuse(metadata::FILE, Some(fault.line), &fault.message);
        }
        if faults.is_empty() {
            for key in missing {
                self.warn(metadata::FILE, Some(1), format!("`{key}` is missing"));
            }
        }
        if status.as_deref() == Some("archived") && !self.spec.found.is_archived {
            self.warn(metadata::FILE, None, "says that the spec is archived, but it is not; archive it again");
        }
    }

    /// Checks that one document can be read, runs `check`, which is specific to this document, and looks for
    /// placeholders.
    fn document(&mut self, which: Which, document: &Document, check: fn(&mut Self, &Markdown)) {
        match document {
            Document::Missing => self.refuse(which.file(), None, "is missing"),
            Document::Unreadable(why) => self.refuse(which.file(), None, why),
            Document::Read(markdown) => {
                check(self, markdown);
                self.left_over(which, markdown);
            }
        }
    }

    fn proposal(&mut self, proposal: &Markdown) {
        let file = Which::Proposal.file();
        for title in REQUIRED {
            let line = proposal.titled(title).next().map(|sections| sections[0].line);
            match line {
                None => self.refuse(file, Some(1), format!("has no section '{title}'")),
                Some(_) if self.spec.proposes(title) => {}
                Some(line) => self.refuse(file, Some(line), format!("the section '{title}' is empty")),
            }
        }
    }

    fn design(&mut self, design: &Markdown) {
        let file = Which::Design.file();
        let found = decisions::of(design);
        if found.iter().any(|decision| decision.is_complete()) {
            for decision in found.iter().filter(|decision| !decision.is_complete()) {
                self.warn(file, Some(decision.line), format!("the decision has {}", decision.lacks()));
            }
        } else if let Some(decision) = found.first() {
            let message =
                format!("the decision has {}; write them after **Choice:** and **Rationale:**", decision.lacks());
            self.refuse(file, Some(decision.line), message);
        } else {
            let line = design.titled(decisions::TITLE).next().map_or(1, |sections| sections[0].line);
            self.refuse(file, Some(line), "has no decision with a choice and a rationale below 'Decisions'");
        }
        for question in self.spec.questions() {
            self.open(file, question.line, "open question", &question.text);
        }
    }

    fn tasks(&mut self, _: &Markdown) {
        let file = Which::Tasks.file();
        let tasks = self.spec.tasks();
        if tasks.is_empty() {
            self.refuse(
                file,
                Some(1),
                "has no task: add a list item with a checkbox, such as `- [ ] 1.1 Read the file`",
            );
        }
        for task in tasks.iter().filter(|task| !task.done) {
            self.open(file, task.line, "open task", &task.text);
        }
    }

    /// Warns about placeholders from the template or the author that were not filled in.
    fn left_over(&mut self, which: Which, markdown: &Markdown) {
        for mark in &markdown.marks {
            self.warn(which.file(), Some(mark.line), format!("{} is left", mark.word));
        }
        let comments = scaffold::comments();
        for (_, block) in markdown.blocks() {
            if let Some(message) = left_over(block, &comments) {
                self.warn(which.file(), Some(block.line), message);
            }
        }
    }

    fn branches(&mut self, branch: &str, branches: &[Branch]) {
        if branches.is_empty() {
            self.warn(metadata::FILE, None, format!("no repository has the branch '{branch}'"));
        } else if branches.iter().all(|branch| branch.merged) {
            self.warn(
                metadata::FILE,
                None,
                format!("the branch '{branch}' is already merged in every repository that has it"),
            );
        }
    }
}

fn left_over(block: &Block, comments: &HashSet<String>) -> Option<&'static str> {
    match block.kind {
        Kind::Comment if comments.contains(&block.text) => Some("a template comment is still there"),
        Kind::Item { .. } if block.is_blank() => Some("a list item has no text"),
        _ => None,
    }
}

/// A finding quotes at most this many characters of the user's text.
const SHORT: usize = 120;

fn short(text: &str) -> String {
    let mut chars = text.chars();
    let begin: String = chars.by_ref().take(SHORT).collect();
    if chars.next().is_some() { format!("{begin}...") } else { begin }
}
