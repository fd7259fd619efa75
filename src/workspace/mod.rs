//! Contract 003: changes that span several git repositories, all or none.

pub mod build;
mod carry;
mod clone;
mod init;
mod journal;
mod lock;
pub mod manifest;
mod names;
mod parallel;
pub mod root;
mod step;

use crate::op::{Domain, Entry, Group, Listed};
use crate::store::Db;
use crate::store::builds;
use crate::store::flow_runs;
use crate::store::projects::Selection;

/// The group of this domain.
pub const GROUP: &str = "workspace";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "workspace",
    operations: &[OPS, build::OPS],
    commands: &[
        ("workspace", "Change several git repositories as one"),
        ("builds", "Look at the builds of a workspace"),
    ],
    groups: &[Group {
        name: GROUP,
        listed: Listed::Where(in_workspace),
        // Its repositories are nobody's project.
        within_project: false,
        instructions: "This folder lies in a workspace of several git repositories: smctl_flow_feature_start and \
            smctl_flow_feature_finish branch and merge all of them as one, or none.",
    }],
    growing: &[flow_runs::GROWING, builds::GROWING],
    recover: journal::recover,
    ..Domain::EMPTY
};

/// The operations of workspaces themselves.
const OPS: &[Entry] = &[Entry::of::<init::Init>()];

/// Whether a server's folder lies in a workspace.
fn in_workspace(_: &Db<'_>, selection: &Selection) -> crate::error::Result<bool> {
    Ok(root::find(&root::start(selection)).is_some())
}
