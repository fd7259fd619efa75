//! Contract 002: tools.

mod builds;
mod escapes;
mod image;
mod installed;
mod limits;
mod lively;
mod package;
pub mod registries;
mod run;
mod runners;
mod sandbox;
mod signing;
mod trust;

pub use trust::{put, trusting};
