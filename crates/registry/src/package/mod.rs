//! Tool packages: names and versions, manifests, command templates, and archives.

pub mod archive;
pub mod manifest;
pub mod template;

mod mcp_name;
mod missing;
mod name;
mod operations;
mod reference;
mod scaffold;
pub mod schema;
mod version;

pub use manifest::unit;
pub use mcp_name::{MAX_MCP_NAME, longer_mcp_name, mcp_name};
pub use missing::missing;
pub use name::{Name, RESERVED};
pub use operations::OPS;
pub use reference::{Reference, is_action};
pub use schema::{Misfit, check_input, path_inputs};
pub use version::Wanted;
