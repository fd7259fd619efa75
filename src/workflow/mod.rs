//! Contract 004: one index of commands from several sources; workflows that are made of them.

pub mod definition;
pub mod expression;
pub mod finding;
pub mod limits;
pub mod source;
pub mod span;
pub mod spec;
pub mod yaml;

use crate::op::Domain;

/// What this domain offers.
pub const DOMAIN: Domain = Domain { name: "workflow", ..Domain::EMPTY };
