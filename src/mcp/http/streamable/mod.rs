//! Serves streamable HTTP, at `/mcp`.
//!
//! Before this module runs, the router has checked the Host and the Origin, and has begun the request's admission,
//! which decides what its key may access. `post` reads the body, and [`message`] decides what to do with it. A
//! [hot request](hot_read) with valid headers is answered from the read cache or the database, and
//! `subscriptions/listen` opens a [stream](listen). Other valid messages are [handed over](hand_over) to rmcp. The
//! replay buffer keeps the events of rmcp's streams for clients that reconnect.

mod batch;
mod get;
mod hand_over;
mod hot_read;
mod listen;
mod message;
mod post;

pub(super) use get::follow_or_end;
pub(super) use post::{failed, post};
