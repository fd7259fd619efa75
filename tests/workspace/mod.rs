//! Tests of contract 003: workspaces of several git repositories.

mod build;
mod building;
pub mod builds;
mod called;
mod differential;
mod face;
mod faults;
mod flow;
mod foreign;
pub mod gate;
#[cfg(all(feature = "gate-onnx", target_os = "linux"))]
mod gate_engine;
mod gate_remote;
mod histories;
mod imported;
mod init;
mod journey;
mod killed;
mod killed_worktrees;
mod leaks;
pub mod model_gate;
mod network;
mod old_commits;
mod original;
mod particular;
mod planted;
mod push;
mod release;
pub mod repositories;
mod secret;
pub mod shop;
pub mod spec;
mod status;
mod subscriptions;
mod sync;
mod undo;
mod worktrees;
