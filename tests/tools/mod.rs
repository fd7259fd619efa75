//! Contract 002: tools.

mod answers;
mod asking;
mod doors;
mod downloads;
mod escapes;
mod face;
pub mod homes;
mod hostile_registry;
mod installed;
mod limits;
mod lists;
mod lock;
mod model;
mod package;
mod recorded;
pub mod registries;
mod run;
mod sandbox;
mod scopes;
mod session;
mod signing;
mod team;
mod trust;
mod update;

pub use trust::{put, trusting};
