//! Tests of syncs between a project and a folder: changes are merged, or proposed to a person.

mod both_ways;
mod elsewhere;
mod forms;
#[cfg(unix)]
mod links;
mod lost;
mod proposals;
mod servers;
mod two_homes;
