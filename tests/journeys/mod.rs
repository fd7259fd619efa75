//! The stories users live.

mod demo;
mod deploys;
mod first_day;
mod newcomer;
mod pages;
mod repos;
mod told;
mod undo;
mod up;
