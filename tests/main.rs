//! The tests of the whole: one binary, so that it links once.

mod faults;
mod mcp;
mod properties;
mod support;
