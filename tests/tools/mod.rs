//! Contract 002: tools.

mod answers;
mod asking;
mod escapes;
pub mod homes;
mod installed;
mod limits;
mod lists;
mod lock;
mod model;
mod package;
pub mod registries;
mod run;
mod sandbox;
mod scopes;
mod session;
mod signing;
mod trust;
mod update;
#[cfg(feature = "wasm")]
mod wasm;

pub use trust::{put, trusting};
