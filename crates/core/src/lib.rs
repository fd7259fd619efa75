//! The framework of operations, and the parts that every domain shares: the context and its caller, consent, access keys, the
//! database's own commands, and the format of replies.

pub mod access;
pub mod consent;
pub mod database;
pub mod names;
pub mod note;
pub mod op;
pub mod passkey;
pub mod present;
pub mod schema;
