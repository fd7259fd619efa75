//! Plans a run: determines what the run would do, without doing any of it.

mod effects;
mod planned;
mod scope;
mod step;

pub use effects::Effects;
pub use planned::{KnownValues, Plan, invalid, planned, planned_in_part};
pub use step::{PlannedStep, WillRun, host};
