//! Contract 002: tools.

mod doors;
mod escapes;
mod face;
mod hostile_registry;
mod installed;
mod limits;
mod package;
mod recorded;
pub mod registries;
mod run;
mod sandbox;
mod signing;
mod team;
mod trust;

pub use trust::{put, trusting};
