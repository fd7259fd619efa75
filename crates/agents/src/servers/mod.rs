//! MCP servers as agents' files have them: where they stand ([`dialect`]), how an entry is read and written ([`read`],
//! [`write`]), what is a reference in its texts ([`expansion`]), how a file is edited ([`document`]), and what of it is
//! secret ([`secrets`]); [`intake`] is a whole file as import takes it. Facts are of November 2026.

pub mod dialect;
pub mod document;
pub mod expansion;
pub mod intake;
pub mod loss;
pub mod read;
pub mod secrets;
pub mod write;

#[cfg(test)]
mod tests;
