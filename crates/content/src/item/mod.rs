//! What the project's items are, and how files and rows describe them.

pub mod conflict;
pub mod manifest;
pub mod name;
pub mod server;
