//! `mcpkg tool key ...`, `mcpkg tool sign`, `audit` and `verify`, `mcpkg tool trust ...`. Trust is decided at the shell, never by an
//! agent.

pub mod add;
pub mod audit;
pub mod check;
pub mod key;
pub mod list;
pub mod policy;
pub mod remove;
pub mod root;
pub mod sign;
pub mod verify;

mod signing;
mod terminal;
