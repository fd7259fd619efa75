//! The tests of the whole: one binary, so that it links once.

mod mcp;
mod support;
