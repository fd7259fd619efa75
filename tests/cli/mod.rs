//! Tests of the real binary: they pass arguments, and check stdout, stderr and the exit status.

mod access;
mod audit;
mod commands;
mod compact;
mod completion;
mod contents;
mod errors;
mod front_matter;
mod help;
mod import;
mod import_one;
mod limits;
mod links;
mod messages;
mod modules;
mod options;
mod pager;
mod questions;
mod searches;
mod skills;
mod strangers;
mod terminal;
mod widths;
