//! Implements contract 003 (smctl): changes that span several git repositories, applied completely or not at all.

mod add;
mod build;
mod carry;
mod clone;
mod completions;
mod exclude;
mod flow;
mod gate;
mod init;
mod journal;
mod keep;
mod list_kept;
mod lock;
mod manifest;
mod names;
mod parallel;
mod prune;
mod recover;
mod remove;
mod resources;
pub mod root;
#[cfg(test)]
#[path = "../../../tests/support/seed.rs"]
#[allow(clippy::print_stderr, reason = "a test prints the seed that it began with")]
mod seed;
pub mod spec;
pub mod status;
mod step;
mod submodules;
mod sync;
mod trust;
mod watch;
pub mod worktree;

pub use gate::{answer as gate_worker, engine as gate_engine};

use completions::{FEATURES, HOTFIXES, RELEASES, REPOS};

use mcpkg_core::op::{Domain, Entry, Group, Listed, Shape};
use mcpkg_store::builds;
use mcpkg_store::flow_runs;
use mcpkg_store::projects::Selection;

pub const GROUP: &str = "workspace";

/// The shape of the operations' replies.
const SHAPE: Shape = Shape::Rpc;

pub static DOMAIN: Domain = Domain {
    name: "workspace",
    operations: &[OPS, worktree::OPS, flow::OPS, spec::OPS, build::OPS, gate::OPS],
    commands: &[
        ("workspace", "Change several git repositories as one"),
        ("worktree", "Create and remove worktrees across several repositories for one change"),
        ("flow", "Start and finish features, releases and hotfixes across all repositories"),
        ("flow feature", "Work with feature branches, which are merged into develop"),
        ("flow release", "Work with release branches, which are tagged and merged into main and develop"),
        ("flow hotfix", "Work with hotfix branches, which start at main and finish like releases"),
        ("spec", "Write and check specs that describe what a change does and why"),
        ("builds", "Show the builds of a workspace"),
        ("gate", "Add, list and test ONNX models"),
        ("gate models", "Manage the models of the gate"),
        ("gate routes", "Manage the routes from endpoints to models"),
    ],
    groups: &[Group {
        name: GROUP,
        listed: Listed::Where(|_, selection| Ok(in_workspace(selection))),
        // The workspace's tools do not depend on a project.
        within_project: false,
        // These operations run git and build commands in the user's folders, so a server on a network offers them only if you
        // name them.
        named_over_network: true,
        instructions: "This folder is in a workspace of several git repositories: smctl_flow_feature_start creates \
            a branch in all of them or in none, and smctl_flow_feature_finish merges it in all of them or in none.",
        holds: in_workspace,
    }],
    resources: &[resources::RESOURCES],
    watch: Some(watch::watch),
    growing: &[flow_runs::GROWING, builds::GROWING],
    recover: journal::recover,
    health: |context| [watch::health(context), gate::health(context)].concat(),
    ..Domain::EMPTY
};

/// The operations on workspaces themselves.
const OPS: &[Entry] = &[
    Entry::of::<init::Init>(),
    Entry::of::<add::Add>(),
    Entry::of::<remove::Remove>(),
    Entry::of::<status::ShowStatus>(),
    Entry::of::<sync::Sync>(),
    Entry::of::<list_kept::ListKept>(),
    Entry::of::<prune::Prune>(),
    Entry::of::<recover::Recover>(),
    Entry::of::<trust::Trust>(),
];

/// Returns whether the caller's folder is inside a workspace.
fn in_workspace(selection: &Selection) -> bool {
    root::find(&root::start(selection)).is_some()
}
