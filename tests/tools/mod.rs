//! Tests of tools and registries (contract 002).

mod access;
mod answers;
mod asking;
mod builds;
mod cache;
mod config;
mod defects;
mod doctor;
mod downloads;
mod escapes;
mod face;
mod following;
pub mod homes;
mod hostile_registry;
mod image;
mod import;
mod installed;
mod limits;
mod lists;
mod lively;
mod lock;
mod model;
mod of_enact;
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
#[cfg(feature = "sigstore")]
mod sigstore;
pub mod team;
mod trust;
mod update;
#[cfg(feature = "wasm")]
mod wasm;
#[cfg(not(feature = "sigstore"))]
mod without_sigstore;
#[cfg(not(feature = "wasm"))]
mod without_wasm;

pub use trust::{put, trusting};
