//! Contract 004: one index of commands from several sources; workflows that are made of them.

pub mod api;
pub mod source;
pub mod spec;

use crate::op::Domain;

/// The group of this domain.
pub const GROUP: &str = "workflow";

/// What this domain offers.
pub const DOMAIN: Domain = Domain {
    name: "workflow",
    operations: &[api::OPS],
    commands: &[("catalog", "Import APIs, whose operations become commands")],
    health: api::health,
    ..Domain::EMPTY
};
