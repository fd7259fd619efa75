//! The topics of `mcpkg help TOPIC`: pages of the documentation, as the terminal shows them.

use super::options::options;
use super::page::rendered;
use super::style::WIDEST;

/// A page about something that is not one command.
pub(crate) struct Topic {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    what: What,
}

/// The source of the text.
enum What {
    /// A page of the documentation, in Markdown.
    Page(&'static str),
    /// The options that every command takes.
    Options,
}

/// Every topic, in the order in which they are listed.
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
    /// Returns what a terminal of so many columns shows, with its styles.
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

/// Returns the names of all topics.
pub(crate) fn names() -> impl Iterator<Item = &'static str> {
    TOPICS.iter().map(|topic| topic.name)
}

/// Returns the topic that these words name: `exit codes` is `exit-codes`, and `word` is `words`.
pub(crate) fn named(words: &[String]) -> Option<&'static Topic> {
    let wanted = words.join("-").to_lowercase();
    TOPICS.iter().find(|topic| topic.name == wanted || topic.name.strip_suffix('s') == Some(&wanted))
}
