//! Starts, or connects to, what an agent's entry says, as that agent does.

mod events;
mod http;
pub mod report;
mod session;
mod stdio;
mod step_error;
mod transport;
