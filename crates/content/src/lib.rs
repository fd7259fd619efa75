//! Projects, prompts, resources and skills (contract 001), and everything around storing, importing and exporting them.
//!
//! Other domains may use [`answer`] (size limits of answers), [`cursor`] (pages of lists), [`files`] (stores files as
//! resources), [`audited`] and [`ignored`] (audit findings in new content), [`completions`] (names for the shell to
//! complete), [`export::plugin`] (the files that a server offers), [`import`], [`item`], [`source`] and [`stored`] (for
//! `mcpkg up`), [`proposals`] (changes that wait for a person's decision), [`servers`] (arguments and output of MCP
//! servers), [`skills`] (the rules for skills) and [`uri`].

mod agent_files;
pub mod answer;
mod argument;
mod audit;
pub mod audited;
pub mod completions;
pub mod cursor;
pub mod export;
pub mod files;
mod history;
pub mod ignored;
pub mod import;
pub mod item;
mod media;
mod merge;
mod projects;
mod prompts;
pub mod proposals;
mod resources;
mod same;
mod search;
mod served;
pub mod servers;
pub mod skills;
pub mod source;
pub mod stored;
mod sync;
pub mod uri;

mod edit;
mod health;
mod resource;
#[cfg(test)]
#[path = "../../../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
mod undo;

use mcpkg_core::op::{Domain, Entry, Group, Listed};

pub const GROUP: &str = "content";

pub static DOMAIN: Domain = Domain {
    name: "content",
    operations: &[OPS, skills::OPS, servers::OPS, agent_files::OPS, source::OPS, audit::OPS],
    groups: &[
        Group {
            name: GROUP,
            listed: Listed::Always,
            within_project: true,
            named_over_network: false,
            instructions: "mcpkg serves the prompts, documents, images and skills that the user keeps for the \
                selected project. Read them with prompts/get and resources/read, or with the tools get_prompt, \
                read_resource and search_content. Save what is worth reusing with create_prompt and create_resource; \
                every change is stored as a revision. The user selects the project with `mcpkg project select \
                NAME`.",
            holds: |_| true,
        },
        Group {
            name: skills::GROUP,
            listed: Listed::Where(skills::any),
            within_project: true,
            named_over_network: false,
            instructions: "Each skill is at skill://NAME/SKILL.md; list_skills lists them.",
            holds: |_| true,
        },
    ],
    commands: &[
        ("project", "Create, select and manage projects"),
        ("prompt", "Create, show and manage prompts"),
        ("resource", "Create, show and manage resources: documents, images, skills"),
        ("skill", "Create, check, show and manage skills"),
        ("mcp", "Add, show and manage MCP servers for agents"),
        ("finding", "Mark audit findings as harmless, and list the marks"),
        ("agent-file", "Show and remove agent-specific files: hooks, permissions, ignore files"),
        ("source", "Add content from repositories and folders, and keep it up to date"),
    ],
    resources: &[resource::RESOURCES, skills::RESOURCES],
    health: health::health,
    served: Some(&served::SERVED),
    undo: undo::UNDO,
    ..Domain::EMPTY
};

/// The operations on projects, prompts and resources, and search, import, export and sync, in the order of the
/// documentation. Of the tools for agents, the six of contract 001 (create, update and delete a prompt or a resource)
/// come first.
pub const OPS: &[Entry] = &[
    Entry::of::<projects::Create>(),
    Entry::of::<projects::List>(),
    Entry::of::<projects::Show>(),
    Entry::of::<projects::Select>(),
    Entry::of::<projects::Unbind>(),
    Entry::of::<projects::Current>(),
    Entry::of::<projects::Rename>(),
    Entry::of::<projects::Delete>(),
    Entry::of::<prompts::create::Create>(),
    Entry::of::<prompts::update::Update>(),
    Entry::of::<history::PromptDelete>(),
    Entry::of::<resources::create::Create>(),
    Entry::of::<resources::update::Update>(),
    Entry::of::<history::ResourceDelete>(),
    Entry::of::<prompts::list::List>(),
    Entry::of::<prompts::show::Show>(),
    Entry::of::<edit::Edit>(),
    Entry::of::<prompts::rename::Rename>(),
    Entry::of::<history::PromptHistory>(),
    Entry::of::<history::PromptDiff>(),
    Entry::of::<history::PromptRestore>(),
    Entry::of::<resources::list::List>(),
    Entry::of::<resources::show::Show>(),
    Entry::of::<history::ResourceHistory>(),
    Entry::of::<history::ResourceDiff>(),
    Entry::of::<history::ResourceRestore>(),
    Entry::of::<search::Search>(),
    Entry::of::<import::Import>(),
    Entry::of::<export::Export>(),
    Entry::of::<sync::Sync>(),
];
