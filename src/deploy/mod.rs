//! Contract 000: what a project or a config repo gives to agents, where they read it on disk; planned, confirmed,
//! applied, and taken back.

pub mod apply;
pub mod back;
pub mod block;
pub mod catalog;
pub mod compare;
pub mod confirm;
pub mod deploying;
pub mod desired;
pub mod doctor;
pub mod evolve;
pub mod explain;
pub mod gather;
pub mod journal;
pub mod module;
pub mod modules;
pub mod plan;
pub mod planning;
pub mod project;
pub mod proposing;
pub mod repo;
pub mod restore;
pub mod rollback;
pub mod roots;
pub mod snapshots;
pub mod source;
pub mod status;
pub mod targets;
pub mod undo;
pub mod unmap;

use crate::op::{Domain, Entry, Group, Listed};

pub use crate::disk;

/// The group of this domain.
pub const GROUP: &str = "deploy";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "deploy",
    operations: &[OPS, modules::OPS],
    groups: &[Group {
        name: GROUP,
        listed: Listed::Where(source::has_root),
        // Deploys reach beyond a project: folders, config repos.
        within_project: false,
        instructions: "mcpkg deploys prompts, skills and instructions to where Codex, Claude Code, Cursor and VS Code read \
            them. Look with plan, diff, preview, status, doctor and explain. To write, call deploy, show the plan to the \
            user, and pass its confirm_token to deploy_apply with yes=true; rollback takes it back. evolve_propose takes \
            changes made on disk back to their source.",
    }],
    commands: &[
        ("module", "Say what the project gives to a deploy: commands, skills, instructions"),
        ("snapshot", "Look at stored deploys, pin and prune them"),
        ("evolve", "Take back into the project what was changed on disk"),
    ],
    recover: undo::recover,
    health: journal::health,
    ..Domain::EMPTY
};

/// The operations of this domain; the tools in contract 000's order.
pub const OPS: &[Entry] = &[
    Entry::of::<planning::ShowPlan>(),
    Entry::of::<planning::ShowDiff>(),
    Entry::of::<planning::Preview>(),
    Entry::of::<status::Status>(),
    Entry::of::<doctor::Doctor>(),
    Entry::of::<deploying::Deploy>(),
    Entry::of::<deploying::DeployApply>(),
    Entry::of::<deploying::DeployShell>(),
    Entry::of::<rollback::Rollback>(),
    Entry::of::<evolve::Propose>(),
    Entry::of::<restore::Restore>(),
    Entry::of::<explain::Explain>(),
    Entry::of::<proposing::List>(),
    Entry::of::<proposing::Show>(),
    Entry::of::<proposing::Accept>(),
    Entry::of::<proposing::Reject>(),
    Entry::of::<snapshots::List>(),
    Entry::of::<snapshots::Show>(),
    Entry::of::<snapshots::Diff>(),
    Entry::of::<snapshots::Prune>(),
    Entry::of::<snapshots::Pin>(),
];
