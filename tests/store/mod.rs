//! The store alone, on a temporary file.

mod modules;
mod opening;
mod rows;
