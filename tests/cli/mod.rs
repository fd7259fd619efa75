//! The real binary: arguments in; stdout, stderr and exit status out.

mod commands;
mod errors;
mod modules;
mod skills;
