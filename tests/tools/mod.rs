//! Contract 002: tools.

mod builds;
mod escapes;
mod image;
mod installed;
mod limits;
mod lively;
mod answers;
mod asking;
mod doors;
mod escapes;
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
mod runners;
mod sandbox;
mod scopes;
mod session;
mod signing;
mod team;
mod trust;
mod update;
#[cfg(feature = "wasm")]
mod wasm;

pub use trust::{put, trusting};
