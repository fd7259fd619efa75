//! Runs of workflows and of single commands: begun with a person's consent, carried on step by step, stopped and resumed.
//!
//! Each attempt at a step is committed before its request leaves, and what came of it after, with the next attempt where that
//! comes at once: what a killed process leaves tells the next one what it may repeat ([`resume`]). Who works on a run holds its
//! lock; nothing resumes by itself.

mod attempt;
pub mod begin;
mod beginning;
mod drive;
pub mod earlier;
mod live;
pub mod program;
pub mod report;
pub mod resume;
mod step;
mod stop;
mod taken;
mod values;

pub use begin::{Asked, Begun, begin};
pub use drive::drive;
pub use live::{end_all, follow};
pub use taken::Taken;
