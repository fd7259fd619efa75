//! Plugins: MCP servers of the project that mcpkg runs itself, whose tools are commands.
//!
//! A [`connection`] speaks to one; a [`session`] is one that runs; [`supervise`] starts and ends those of this process. What one
//! lists ([`listing`]) is kept, and [`plugins`] is the source of commands that is made of it: each [`tool`] is one. What may run is
//! [approved](approval) by a person on this machine; how often one failed is its [`standing`].

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
