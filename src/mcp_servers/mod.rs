//! MCP servers as agents' files have them: how such a file is edited.

pub mod document;
