//! Contract 002: tools.

mod escapes;
mod limits;
mod run;
mod sandbox;
mod signing;
mod trust;

pub use trust::{put, trusting};
