//! Plugins: MCP servers that mcpkg itself runs for a project, with their tools as commands.
//!
//! A [`connection`] talks to one plugin, a [`session`] is a running plugin, and [`supervise`] starts and ends the plugins of
//! this process. The tools that a plugin reports are stored ([`listing`]). [`plugins`] turns each stored [`tool`] into a
//! command. A person [approves](approval) on this machine what may run. The [`standing`] of a plugin counts its failures.

pub mod approval;
pub mod connection;
pub mod difference;
mod health;
pub mod listing;
pub mod mend;
pub mod model;
mod operations;
pub mod plugins;
pub mod runtime;
pub mod session;
pub mod standing;
pub mod supervise;
pub mod tool;

pub use health::health;
pub use operations::OPS;
pub use supervise::end_all;
