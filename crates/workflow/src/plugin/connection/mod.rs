//! Connects to plugins with rmcp's client: over the pipes of a program, or over streamable HTTP with mcpkg's own HTTP client.
//! Both generations of the protocol are supported: handshake (up to 2025-11-25) and discovery (2026-07-28).

mod broken;
mod child;
mod era;
mod greet;
mod handler;
mod heard;
mod launch;
mod link;

pub use broken::Broken;
pub use era::Era;
pub use greet::open;
pub use launch::{check, resolve};
pub use link::Connection;
