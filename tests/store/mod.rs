//! The store alone, on a temporary file.

mod access;
mod modules;
mod opening;
mod rows;
