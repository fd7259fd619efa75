//! The stories users live.

mod demo;
