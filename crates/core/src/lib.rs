//! What an operation is, and what every domain shares: the context and its caller, consent and access keys, the commands of the
//! database itself, and how a reply looks.

pub mod access;
pub mod consent;
pub mod database;
pub mod names;
pub mod op;
pub mod present;
pub mod schema;
