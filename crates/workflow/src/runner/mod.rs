//! Runs workflows and single commands: begins a run with a person's consent, executes its steps, stops it and resumes it.
//!
//! An attempt is committed before its request is sent. Its outcome is committed afterwards, possibly together with the next
//! attempt. So if the process is killed, the database shows which step was under way, and [`resume`] can decide whether to repeat
//! it. The process that carries out a run holds the run's lock. No run resumes by itself.

mod attempt;
pub mod begin;
mod beginning;
mod drive;
pub mod earlier;
mod live;
pub mod program;
pub mod report;
pub mod resume;
mod run_data;
mod step;
mod stop;
mod values;

pub use begin::{Begun, RunRequest, begin};
pub use drive::drive;
pub use live::{end_all, follow};
pub use run_data::RunData;
