//! The same content at another path.

pub mod record;
pub mod twins;
pub mod variants;
