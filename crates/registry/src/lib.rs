//! Tool registries, and the six `enact__*` tools of contract 002, with which agents find, check, install and run tools.

mod alias;
mod backend;
mod config;
mod doctor;
mod import;
pub mod installed;
pub mod package;
mod prune;
pub mod run;
#[cfg(test)]
#[path = "../../../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
mod served;
pub mod trust;

use mcpkg_core::op::{Domain, Group, Listed};
use mcpkg_store::tools::runs;

pub const GROUP: &str = "registry";

pub static DOMAIN: Domain = Domain {
    name: "registry",
    operations: &[
        package::OPS,
        installed::OPS,
        backend::OPS,
        trust::OPS,
        run::OPS,
        alias::OPS,
        config::OPS,
        doctor::OPS,
        import::OPS,
        prune::OPS,
        installed::toolsets::OPS,
    ],
    commands: &[
        ("tool", "Find, check, install, run and share tools"),
        ("tool key", "Create and manage keys that sign tools"),
        ("tool trust", "Choose whose signatures to trust"),
        ("tool env", "Set the environment variables that tools receive"),
        ("registry", "Manage registries: the folders and hosts where tools are found and published"),
        ("toolset", "Manage named sets of installed tools; agents see only the active set"),
    ],
    groups: &[Group {
        name: GROUP,
        listed: Listed::Always,
        // Installed tools and registries are shared by all projects.
        within_project: false,
        named_over_network: false,
        instructions: "If you lack a tool, enact__search finds one, enact__learn shows what it does, and enact__install adds it as a \
            separate tool that runs in a sandbox. Unsigned tools need consent: on E_CONSENT_REQUIRED, the user decides with `mcpkg \
            consent approve ID`.",
        holds: |_| true,
    }],
    tools: Some(installed::projected::PROJECTIONS),
    original: Some(&import::serving::ORIGINAL),
    served: Some(&served::SERVED),
    growing: &[runs::GROWING],
    health: doctor::health,
    ..Domain::EMPTY
};
