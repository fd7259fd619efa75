//! Contract 002: tools.

mod answers;
mod asking;
mod defects;
mod escapes;
mod installed;
mod limits;
mod lists;
mod package;
pub mod registries;
mod run;
mod sandbox;
mod scopes;
mod session;
mod signing;
mod trust;

pub use trust::{put, trusting};
