//! Running a tool: in a sandbox, within limits, with a row of every run.

pub mod bwrap;
pub mod call;
pub mod grants;
pub mod health;
pub mod limits;
pub mod plan;
pub mod record;
pub mod unused;

mod answer;
mod bubblewrap;
mod env;
mod execute;
mod host;
pub mod operations;
mod tree;
mod trees;
mod turns;
#[cfg(feature = "wasm")]
pub mod wasm;

pub use call::{Call, Content, Given, Outcome, OutputFile, Runner, Tool, Tree, Variable};
pub use env::USUAL;
pub use execute::run;
pub use limits::{Limits, Wished};
pub use operations::OPS;
pub use trees::folder as cache;
