//! A rule of the audit.

use serde::Serialize;

/// How serious a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    Note,
    Warning,
    /// A person must agree before mcpkg stores the text.
    Critical,
}

impl Severity {
    pub const fn word(self) -> &'static str {
        match self {
            Severity::Note => "note",
            Severity::Warning => "warning",
            Severity::Critical => "critical",
        }
    }
}

/// The files that a rule reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    All,
    /// Texts that an agent reads as instructions, such as Markdown.
    Prose,
    /// Agents' configuration: settings, hooks and MCP servers.
    Settings,
}

/// Words in lowercase, and a regular expression without Unicode classes. A text is searched for the expression only if it
/// contains one of the words. Case does not matter. If the expression has a group, the group is the finding. A match ends
/// in the line where it begins, or a few lines later, so that a search takes linear time.
#[derive(Debug)]
pub struct Pattern(pub &'static [&'static str], pub &'static str);

/// A rule, and how it finds texts.
#[derive(Debug)]
pub struct Rule {
    pub id: &'static str,
    pub severity: Severity,
    /// What the rule finds, in the plural and on one line: `characters that reorder text`.
    pub what: &'static str,
    /// Why a person should look at it.
    pub why: &'static str,
    pub reads: Reads,
    /// Empty for rules that code implements.
    pub patterns: &'static [Pattern],
    /// The path and the text of a file in which the rule finds something.
    pub example: (&'static str, &'static str),
    /// The path and the text of a similar file in which no rule finds anything.
    pub near: (&'static str, &'static str),
}
