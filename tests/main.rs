//! The tests of the whole: one binary, so that it links once.

mod cli;
mod contract;
mod journeys;
mod mcp;
mod store;
mod support;
