//! The tests of the whole: one binary, so that it links once.

mod cli;
mod contract;
mod faults;
mod journeys;
mod mcp;
mod properties;
mod store;
mod support;
