//! Contract 002: tools.

mod escapes;
mod installed;
mod limits;
mod package;
pub mod registries;
mod run;
mod sandbox;
mod signing;
mod trust;
#[cfg(feature = "wasm")]
mod wasm;

pub use trust::{put, trusting};
