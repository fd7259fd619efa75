//! Contract 002: tools that agents find in registries, check, install and run in a sandbox.

pub mod backend;
pub mod installed;
pub mod package;
pub mod run;
pub mod trust;

use crate::op::Domain;

/// The group of this domain.
pub const GROUP: &str = "registry";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "registry",
    operations: &[installed::toolsets::OPS],
    commands: &[("toolset", "Sets of installed tools, one of which may narrow what agents see")],
    ..Domain::EMPTY
};
