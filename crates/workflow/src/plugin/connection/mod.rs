//! A connection to a plugin, by rmcp's client: a program's pipes, or streamable HTTP by mcpkg's own client. Both are spoken to in
//! the way that they speak: by handshake (2025-11-25 and before), or by discovery (2026-07-28).

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
