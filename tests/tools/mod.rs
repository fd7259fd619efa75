//! Contract 002: tools.

mod answers;
mod asking;
mod defects;
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

pub use trust::{put, trusting};
