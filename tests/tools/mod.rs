//! Contract 002: tools.

mod escapes;
mod installed;
mod limits;
pub mod registries;
mod run;
mod package;
mod sandbox;
mod signing;
mod trust;

pub use trust::{put, trusting};
