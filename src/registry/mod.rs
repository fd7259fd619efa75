//! Contract 002: tools that agents find in registries, check, install and run in a sandbox.

pub mod backend;
pub mod package;
pub mod run;

use crate::op::Domain;
use crate::store::tools::runs;

/// The group of this domain.
pub const GROUP: &str = "registry";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "registry",
    operations: &[run::OPS],
    commands: &[
        ("tool", "Find, check, run and share tools"),
        ("tool env", "Say where the variables of tools come from"),
    ],
    growing: &[runs::GROWING],
    health: run::health,
    ..Domain::EMPTY
};
