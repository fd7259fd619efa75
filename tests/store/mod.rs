//! Tests of the store by itself, with a temporary file.

mod access;
mod builds;
mod consents;
mod limits;
mod lists;
mod modules;
mod opening;
mod portable;
mod proposals;
mod rows;
mod tasks;
