//! Tests whole stories, as users experience them.

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
