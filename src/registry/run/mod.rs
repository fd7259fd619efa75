//! Running a tool: in a sandbox, within limits, with a row of every run.

pub mod bwrap;
pub mod call;
pub mod limits;

pub use call::{Call, Content, Given, Outcome, OutputFile, Runner, Tool, Tree, Variable};
pub use limits::{Limits, Wished};
