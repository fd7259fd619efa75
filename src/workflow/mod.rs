//! Contract 004: one index of commands from several sources; workflows that are made of them.

pub mod source;
pub mod spec;

use crate::op::Domain;

/// What this domain offers.
pub const DOMAIN: Domain = Domain { name: "workflow", ..Domain::EMPTY };
