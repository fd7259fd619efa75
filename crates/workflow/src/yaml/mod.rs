//! YAML and JSON text as values that know where they stand.
//!
//! The subset: one document; text as keys; the scalars of the core schema; aliases, within the limits. Tags, directives and
//! merge keys are refused, since what they mean is another matter in each reader.

pub mod places;
mod scalar;
mod walk;

pub use walk::{Read, read};
