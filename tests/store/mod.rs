//! The store alone, on a temporary file.

mod opening;
mod rows;
