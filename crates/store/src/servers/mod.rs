//! MCP servers that a project gives to agents. The rows contain references to secret values, never the values.

mod read;
mod row;
mod server;
mod write;

pub use read::{all, find, fingerprint, get, names};
pub(super) use row::{from_row, server_columns};
pub use server::{Definition, Named, Origin, Part, Server, Text, Transport};
pub use write::{delete, insert, update};
