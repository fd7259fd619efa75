//! Contract 002: tools.

mod answers;
mod asking;
mod cache;
mod config;
mod doctor;
mod escapes;
pub mod homes;
mod import;
mod installed;
mod limits;
mod lists;
mod lock;
mod model;
mod package;
mod prune;
pub mod registries;
mod run;
mod sandbox;
mod scopes;
mod session;
mod signing;
mod trust;
mod update;

pub use trust::{put, trusting};
