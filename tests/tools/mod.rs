//! Contract 002: tools.

mod escapes;
mod limits;
mod package;
mod sandbox;
