//! The stories users live.

mod demo;
mod deploys;
mod first_day;
mod newcomer;
mod notifications;
mod pages;
mod picker;
mod plugins;
mod repos;
mod undo;
mod up;
