//! Implements contract 000: deploys the files of a project or a config repo to where agents read them. A deploy is
//! planned, confirmed and applied, and can be rolled back.
//!
//! Contract 000 is the interface of agentpack, an earlier tool.

mod answer;
mod apply;
mod confirm;
pub mod desired;
pub mod module;
mod operations;
mod plan;
pub mod project;
pub mod repo;
mod rollback;
mod source;
pub mod targets;
mod up;

mod completions;

#[cfg(test)]
#[path = "../../../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;

use mcpkg_core::op::{Domain, Group, Listed};

/// The tool group of this domain.
pub const GROUP: &str = "deploy";

pub static DOMAIN: Domain = Domain {
    name: "deploy",
    operations: &[operations::OPS, up::OPS],
    deploy_root: Some(source::known_root),
    groups: &[Group {
        name: GROUP,
        listed: Listed::Where(source::has_root),
        // A deploy is not limited to one project: it writes to folders and reads config repos.
        within_project: false,
        named_over_network: false,
        instructions: "mcpkg deploys prompts, skills and instructions to where Codex, Claude Code, Cursor and VS Code read \
            them. Inspect with plan, diff, preview, status, doctor and explain. To write, call deploy, show the plan to the \
            user, and pass its confirm_token to deploy_apply with yes=true; rollback undoes it. evolve_propose \
            brings changes made on disk back into their source.",
        holds: |_| true,
    }],
    commands: &[
        ("module", "Choose what the project deploys: commands, skills, instructions"),
        ("target", "Choose which agents to deploy to"),
        ("snapshot", "List, pin and prune stored deploys"),
        ("evolve", "Bring changes made on disk back into the project"),
    ],
    undo: operations::undo::UNDO,
    recover: apply::undo::recover,
    health: |context| [apply::places::health(context), apply::journal::health(context)].concat(),
    ..Domain::EMPTY
};
