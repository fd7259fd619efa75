//! The stories users live.

mod demo;
mod first_day;
