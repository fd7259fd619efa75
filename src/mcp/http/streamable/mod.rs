//! Streamable HTTP, at `/mcp`.

mod batch;
mod get;
mod hand_over;
mod hot_read;
mod listen;
mod message;
mod post;

pub(super) use get::follow_or_end;
pub(super) use post::{failed, post};
