//! Contract 002: tools.

mod answers;
mod asking;
mod cache;
mod config;
mod doctor;
mod builds;
mod defects;
mod doors;
mod downloads;
mod escapes;
mod face;
pub mod homes;
mod import;
mod hostile_registry;
mod image;
mod installed;
mod limits;
mod lists;
mod lively;
mod lock;
mod model;
mod package;
mod prune;
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
#[cfg(not(feature = "wasm"))]
mod without_wasm;

pub use trust::{put, trusting};
