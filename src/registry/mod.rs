//! Contract 002: tools that agents find in registries, check, install and run in a sandbox.

pub mod backend;
pub mod package;
pub mod run;
pub mod trust;

use crate::op::Domain;

/// The group of this domain.
pub const GROUP: &str = "registry";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "registry",
    operations: &[trust::OPS],
    commands: &[
        ("tool", "Tools that agents find, check and run"),
        ("tool key", "Keys that sign tools"),
        ("tool trust", "Decide whose signatures count"),
    ],
    ..Domain::EMPTY
};
