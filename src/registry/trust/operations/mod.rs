//! `mcpkg tool key ...`, `mcpkg tool sign`, `audit` and `verify`, `mcpkg tool trust ...`: what decides whose word counts is the
//! shell's alone.

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
