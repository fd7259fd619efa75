//! Running a tool: in a sandbox, within limits, with a row of every run.

pub mod bwrap;
pub mod call;
pub mod grants;
pub mod limits;
pub mod plan;
pub mod record;

mod answer;
mod bubblewrap;
mod env;
mod execute;
mod health;
mod host;
pub mod operations;
mod tree;
mod trees;
mod turns;
#[cfg(feature = "wasm")]
pub mod wasm;

pub use call::{Call, Content, Given, Outcome, OutputFile, Runner, Tool, Tree, Variable};
pub use execute::run;
pub use health::health;
pub use limits::{Limits, Wished};
pub use operations::OPS;
