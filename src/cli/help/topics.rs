//! Defines the topics of `mcpkg help TOPIC`: documentation pages rendered for the terminal.

use super::options::options;
use super::page::{WIDEST, rendered};

/// A help page that is not about a single command.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    what: What,
}

/// The source of a topic's text.
enum What {
    /// A Markdown page of the documentation.
    Page(&'static str),
    /// The list of the global options.
    Options,
}

/// All topics, in display order.
pub(crate) const TOPICS: &[Topic] = &[
    page("words", "What words such as project, skill, target and source mean", include_str!("../../../docs/words.md")),
    Topic { name: "options", about: "The options that every command takes", what: What::Options },
    page(
        "environment",
        "Environment variables, files and folders that mcpkg uses",
        include_str!("../../../docs/reference/environment.md"),
    ),
    page("exit-codes", "What each exit status means", include_str!("../../../docs/reference/exit-codes.md")),
    page("json", "What `--json` prints", include_str!("../../../docs/reference/json.md")),
    page("agents", "Which files each agent reads, and from where", include_str!("../../../docs/reference/agents.md")),
    page("templates", "How to write prompts with arguments", include_str!("../../../docs/reference/templates.md")),
    page(
        "arguments",
        "How each agent passes a prompt's arguments",
        include_str!("../../../docs/reference/slash-commands.md"),
    ),
    page("catalogs", "How to run API calls as commands", include_str!("../../../docs/reference/catalogs.md")),
    page(
        "plugins",
        "How to run the tools of MCP servers as commands",
        include_str!("../../../docs/reference/plugins.md"),
    ),
    page(
        "workflows",
        "How to run several commands in order from a file",
        include_str!("../../../docs/reference/workflows.md"),
    ),
    page(
        "running",
        "How to run commands and workflows, and consent to them",
        include_str!("../../../docs/reference/running.md"),
    ),
    page(
        "workspaces",
        "How to work on several git repositories as one",
        include_str!("../../../docs/how-to/repositories.md"),
    ),
    page(
        "engines",
        "How to use PostgreSQL instead of a database file",
        include_str!("../../../docs/how-to/postgresql.md"),
    ),
];

const fn page(name: &'static str, about: &'static str, text: &'static str) -> Topic {
    Topic { name, about, what: What::Page(text) }
}

impl Topic {
    /// Returns the text of the topic with styles, wrapped to the given width.
    pub(crate) fn text(&self, width: u16) -> String {
        match self.what {
            What::Page(text) => rendered(text, width.min(WIDEST)),
            What::Options => {
                format!(
                    "Every command accepts these options, before or after its own options.\n\n{}",
                    options(width).ansi()
                )
            }
        }
    }
}

pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name)
}

/// Finds the topic for some words: `exit codes` finds `exit-codes`, and `word` finds `words`.
pub(crate) fn named(words: &[String]) -> Option<&'static Topic> {
    let wanted = words.join("-").to_lowercase();
    TOPICS.iter().find(|topic| topic.name == wanted || topic.name.strip_suffix('s') == Some(&wanted))
}
