//! Contract 002: tools that agents find in registries, check, install and run in a sandbox.

pub mod backend;
pub mod installed;
pub mod package;
pub mod run;
pub mod trust;

use crate::op::Domain;
use crate::store::tools::runs;

/// The group of this domain.
pub const GROUP: &str = "registry";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "registry",
    operations: &[installed::OPS, backend::OPS, trust::OPS, run::OPS, installed::toolsets::OPS],
    commands: &[
        ("tool", "Find, check, install, run and share tools"),
        ("tool key", "Make keys that sign tools"),
        ("tool trust", "Decide whose signatures count"),
        ("tool env", "Say where the variables of tools come from"),
        ("registry", "Folders and other hosts where tools are found and published"),
        ("toolset", "Sets of installed tools, one of which may narrow what agents see"),
    ],
    tools: Some(installed::projected::PROJECTIONS),
    growing: &[runs::GROWING],
    health: run::health,
    ..Domain::EMPTY
};
