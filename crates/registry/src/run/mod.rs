//! Runs tools, in a sandbox unless a person allowed otherwise, with limits, and records every run.

pub mod bubblewrap;
pub mod build;
pub mod call;
pub mod choose;
pub mod engine;
pub mod grants;
pub mod health;
pub mod kind;
pub mod limits;
pub mod mount;
pub mod operations;
pub mod plan;
pub mod record;
pub mod runner;
pub mod unused;
#[cfg(feature = "wasm")]
pub mod wasm;

mod answer;
mod beat;
mod bwrap;
mod call_files;
mod container;
mod env;
mod execute;
mod host;
mod left;
#[cfg(feature = "wasm")]
mod module;
mod permits;
mod started;
mod tree;
mod trees;
mod unsandboxed;
mod users;
mod usual;

pub use call::{Call, Content, InputFile, Outcome, OutputFile, Tool, Tree, Variable};
pub use execute::run;
pub use kind::RunnerKind;
pub use limits::{Limits, Wished};
pub use operations::OPS;
pub use trees::folder as cache;
pub use usual::is_usual;
