//! Starts or connects to the server of an agent's entry, as that agent does.

mod events;
mod http;
pub mod report;
mod session;
mod stdio;
mod step_error;
mod transport;
