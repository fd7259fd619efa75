//! The integration tests. They are one binary, so that the program is linked only once.

#![allow(clippy::print_stderr, reason = "a test says aloud what it skipped, and with which seed it began")]

mod cli;
mod client;
mod console;
mod contract;
mod deploy;
mod engines;
mod faults;
mod http;
mod journeys;
mod mcp;
mod properties;
mod sources;
mod store;
mod support;
mod sync;
mod tools;
mod web;
mod workflow;
mod workspace;
