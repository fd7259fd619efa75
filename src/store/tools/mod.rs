//! Tools: registries, what they have, and what is kept of it here.

pub mod answers;
pub mod listings;
pub mod packages;
pub mod registries;
