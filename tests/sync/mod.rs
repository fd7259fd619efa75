//! What stands here and what stands elsewhere: merged, or proposed to a person.

mod both_ways;
mod lost;
mod proposals;
mod servers;
mod two_homes;
