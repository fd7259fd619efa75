//! Contract 002: tools.

mod signing;
mod trust;

pub use trust::{put, trusting};
