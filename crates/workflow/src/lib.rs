//! Commands and workflows (contract 004): commands from several sources, and workflows that combine them.

mod answer;
pub mod api;
mod argument;
mod ask;
mod binding;
mod canonical;
pub mod check;
pub mod commands;
mod completions;
mod contracts;
pub mod definition;
mod describe;
mod draft;
mod exposed;
pub mod expression;
pub mod finding;
mod fixture;
mod from_schema;
mod graph;
mod groups;
pub mod index;
mod infer;
mod input_values;
mod limits;
pub mod operations;
mod output;
mod passwords;
pub mod plan;
pub mod plugin;
mod provider;
mod providers;
mod resolve;
mod resource;
mod run;
mod runner;
pub mod running;
mod saved;
mod sealed;
mod search;
#[cfg(test)]
#[path = "../../../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
mod set;
mod show;
pub mod source;
mod span;
pub mod spec;
mod suggest;
mod template;
mod text;
mod tools;
mod words;
pub mod yaml;

use clap::ValueEnum;

use mcpkg_core::op::{Domain, Entry, Group, Listed, Shape, Undo};
use mcpkg_store::drafts;
use mcpkg_store::runs;

pub const GROUP: &str = "workflow";

/// The shape of every answer: an object that contains the version of contract 004.
pub const SHAPE: Shape = Shape::Json(Some(answer::VERSION));

/// The tools of a server that runs as `assistant`: the tools of contract 004, plus `propose_workflow` and `list_runs`. Without
/// `propose_workflow`, no draft would reach a person. Without `list_runs`, an agent could not follow a long run.
pub const CONTRACT: &[&str] = &[
    "search_commands",
    "get_command_spec",
    "list_providers",
    "validate_workflow",
    "dry_run",
    "render_yaml",
    "propose_workflow",
    "execute",
    "list_runs",
    "infer_workflow_from_session",
    "suggest_providers",
];

/// The operations on the index of commands.
const OPS: &[Entry] = &[Entry::of::<search::Search>(), Entry::of::<show::Show>(), Entry::of::<providers::Providers>()];

pub static DOMAIN: Domain = Domain {
    name: "workflow",
    operations: &[
        OPS,
        api::OPS,
        plugin::OPS,
        text::OPS,
        saved::OPS,
        fixture::OPS,
        exposed::OPS,
        template::OPS,
        draft::OPS,
        run::OPS,
        infer::OPS,
        suggest::OPS,
        ask::OPS,
        set::OPS,
        describe::OPS,
    ],
    commands: &[
        ("command", "Find commands from all sources, see what they take and return, and run them"),
        ("catalog", "Import APIs as commands"),
        ("plugin", "Run the project's MCP servers, and use their tools as commands"),
        ("workflow", "Store, check, change and run workflows of commands"),
        ("workflow env", "Manage the values that workflows can read"),
        ("workflow fixture", "Add, list and remove fixtures, which test a workflow's plan"),
        ("template", "Make workflows from built-in templates or your own"),
        ("draft", "Propose workflows, and approve or reject proposals"),
    ],
    groups: &[Group {
        name: GROUP,
        listed: Listed::Named,
        within_project: true,
        named_over_network: false,
        instructions: "Workflows are YAML texts that run commands: validate_workflow finds mistakes, dry_run shows the effects, \
            propose_workflow submits one to the user.",
        holds: |_| true,
    }],
    resources: &[
        resource::RESOURCES,
        text::resource::RESOURCES,
        saved::resource::RESOURCES,
        draft::resource::RESOURCES,
        run::RESOURCES,
    ],
    tools: Some(exposed::PROJECTIONS),
    growing: &[drafts::GROWING, runs::GROWING],
    health: |context| [api::health(context), plugin::health(context)].concat(),
    undo: Undo {
        items: &[&draft::undo::Drafts],
        lasting: &[
            ("ask", "an agent's run cannot be undone; undo its drafts"),
            ("command.run", OUTSIDE),
            ("execute", OUTSIDE),
            ("plugin.check", "it recorded the tools that the plugin has"),
            ("workflow", "restore an earlier revision with `mcpkg workflow restore`"),
            ("workflow.create", "delete it with `mcpkg workflow delete`"),
            ("workflow.env", "set it again with `mcpkg workflow env`"),
            ("workflow.policy", "set it again with `mcpkg workflow policy`"),
            ("workflow.run", OUTSIDE),
        ],
        ..Undo::NOTHING
    },
    ending: || {
        ask::end_all();
        runner::end_all();
        plugin::end_all();
    },
    ..Domain::EMPTY
};

/// The reason why an undo leaves a run alone.
const OUTSIDE: &str = "what a run did outside mcpkg cannot be undone";

/// Returns the name of an enum value, which is the same in the shell and in JSON.
fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
