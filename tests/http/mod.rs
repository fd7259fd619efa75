//! Tests the real binary over HTTP: streamable HTTP with and without a handshake, and the older HTTP with SSE.

mod alike;
mod attacks;
mod audit_log;
mod idle_sessions;
mod keys;
mod live;
mod marketplace;
mod otlp;
mod reading;
mod searches;
mod sign_in;
mod transports;
mod work;
