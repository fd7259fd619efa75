//! Parses YAML and JSON texts into values, and records the position of each value.
//!
//! Only a subset is supported: one document, string keys, scalars of the core schema, and aliases within limits. Tags,
//! directives and merge keys are refused, because YAML parsers disagree about their meaning.

pub mod places;
mod scalar;
#[cfg(test)]
mod tests;
mod walk;

pub use walk::{Read, read};
