//! Contract 002: tools.

mod escapes;
pub mod homes;
mod installed;
mod limits;
mod lock;
mod model;
mod package;
pub mod registries;
mod run;
mod sandbox;
mod signing;
mod trust;
mod update;

pub use trust::{put, trusting};
