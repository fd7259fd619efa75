//! The states of runs and their steps, as stored in the database.

use crate::engine::damaged;
use mcpkg_base::error::Result;

/// Makes an enum that the database stores as words.
macro_rules! words {
    ($(#[$about:meta])* $name:ident { $($(#[$doc:meta])* $variant:ident $word:literal),* $(,)? }) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$doc])* $variant,)*
        }

        impl $name {
            /// Returns the word that the database stores and users see for this value.
            pub const fn word(self) -> &'static str {
                match self { $(Self::$variant => $word,)* }
            }

            /// Returns the value for a word.
            pub(super) fn of(word: &str) -> Result<Self> {
                match word {
                    $($word => Ok(Self::$variant),)*
                    _ => Err(damaged("a run or a step has an unknown state")),
                }
            }
        }
    };
}

words! {
    Kind {
        Command "command",
        Workflow "workflow",
    }
}

words! {
    /// The states of a run.
    State {
        /// No step has started yet.
        Pending "pending",
        /// The run is under way, or about to start.
        Running "running",
        /// A step waits for the next round of its `repeat`.
        Waiting "waiting",
        /// The run was paused, and can be resumed.
        Paused "paused",
        /// Somebody has asked to cancel the run.
        CancelRequested "cancel_requested",
        /// The run's process ended before the run was done. The run can be resumed.
        Interrupted "interrupted",
        /// The outcome of an attempt is unknown. A person decides what to do.
        Uncertain "uncertain",
        /// The run's process is on another machine and cannot be checked. Never stored in a row.
        Unknown "unknown",
        /// Every step succeeded, or was skipped because of its condition.
        Succeeded "succeeded",
        Failed "failed",
        Canceled "canceled",
    }
}

words! {
    StepState {
        /// The step has not started yet.
        Pending "pending",
        /// An attempt is under way.
        Running "running",
        /// The step waits for the next round of its `repeat`.
        Waiting "waiting",
        /// The step has an output.
        Succeeded "succeeded",
        /// The step's command failed, or its output is not what the workflow expects.
        Failed "failed",
        /// The step's condition was false, a step that it needs did not succeed, or a person chose to skip it.
        Skipped "skipped",
        /// The outcome of the step's last attempt is unknown.
        Uncertain "uncertain",
        /// The step was given up together with its run.
        Canceled "canceled",
    }
}

words! {
    /// A request to a run that has not ended.
    Wanted {
        /// The run should stop in a way that allows it to be resumed later.
        Pause "pause",
        Cancel "cancel",
    }
}

impl State {
    /// Whether the run has ended. A failed run can still be retried.
    pub const fn is_over(self) -> bool {
        matches!(self, State::Succeeded | State::Failed | State::Canceled)
    }

    /// Whether a process should be holding the run's lock. If none does, the run was interrupted.
    pub const fn is_under_way(self) -> bool {
        matches!(self, State::Pending | State::Running | State::Waiting | State::CancelRequested)
    }
}

impl StepState {
    /// Whether the step has ended.
    pub const fn is_over(self) -> bool {
        !matches!(self, StepState::Pending | StepState::Running | StepState::Waiting | StepState::Uncertain)
    }
}
