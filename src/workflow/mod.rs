//! Contract 004: one index of commands from several sources; workflows that are made of them.

mod answer;
pub mod api;
pub mod commands;
mod completions;
pub mod contracts;
pub mod definition;
pub mod engine;
pub mod expression;
pub mod finding;
mod from_schema;
pub mod index;
mod kept;
pub mod limits;
mod operations;
mod providers;
mod resolve;
mod resource;
mod run;
pub mod running;
mod search;
mod show;
pub mod source;
pub mod span;
pub mod spec;
mod tools;
mod words;
pub mod yaml;

use clap::ValueEnum;

use crate::op::{Domain, Entry, Group, Listed};
use crate::store::runs;

/// The group of this domain.
pub const GROUP: &str = "workflow";

/// The tools of contract 004 that there are, which a server shows that stands in for it.
pub const CONTRACT: &[&str] = &["search_commands", "get_command_spec", "list_providers", "execute"];

/// The operations that look at the index of commands.
const OPS: &[Entry] = &[Entry::of::<search::Search>(), Entry::of::<show::Show>(), Entry::of::<providers::Providers>()];

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "workflow",
    operations: &[OPS, api::OPS, run::OPS],
    commands: &[
        ("command", "Find commands of every source, learn what they take and answer, and run them"),
        ("catalog", "Import APIs, whose operations become commands"),
        ("workflow", "Run workflows, and see what became of runs"),
    ],
    groups: &[Group {
        name: GROUP,
        listed: Listed::Named,
        within_project: true,
        named_over_network: false,
        instructions: "Whatever is not listed here is found by search_commands; get_command_spec says what a command takes \
            and answers.",
    }],
    resources: &[resource::COMMAND, run::RUN],
    growing: &[runs::GROWING],
    ending: engine::end_all,
    ..Domain::EMPTY
};

/// Returns the word for one of a few values, as it is typed and as JSON has it.
fn word(value: impl ValueEnum) -> String {
    value.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}
