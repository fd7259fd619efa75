//! `mcpkg tool key`, `sign`, `audit`, `verify` and `trust`. Only a person at a shell can change trust, never an
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
