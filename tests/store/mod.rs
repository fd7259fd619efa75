//! The store alone, on a temporary file.

mod access;
mod lists;
mod modules;
mod opening;
mod portable;
mod rows;
