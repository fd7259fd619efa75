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
            /// Returns the word that the database and users see.
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
    /// The kind of run.
    Kind {
        Command "command",
        Workflow "workflow",
    }
}

words! {
    /// How far a run is.
    State {
        /// Nothing of it was done yet.
        Pending "pending",
        /// A step is under way.
        Running "running",
        /// A step waits for its next round.
        Waiting "waiting",
        /// Somebody stopped it; it can be resumed.
        Paused "paused",
        /// Somebody wants it to end.
        CancelRequested "cancel_requested",
        /// Its process ended in the middle; it can be resumed.
        Interrupted "interrupted",
        /// The outcome of an attempt is unknown; a person decides.
        Uncertain "uncertain",
        /// Its process is on another machine, and cannot be seen; no row says this.
        Unknown "unknown",
        /// Every step succeeded, or was skipped as the workflow says.
        Succeeded "succeeded",
        Failed "failed",
        Canceled "canceled",
    }
}

words! {
    /// How far a step is.
    StepState {
        /// Nothing of it was done yet.
        Pending "pending",
        /// An attempt is under way.
        Running "running",
        /// It waits for its next round.
        Waiting "waiting",
        /// Its output is there.
        Succeeded "succeeded",
        /// Its command failed, or its output is not what was said of it.
        Failed "failed",
        /// Its condition was false, or what it needs did not succeed.
        Skipped "skipped",
        /// The outcome of its last attempt is unknown.
        Uncertain "uncertain",
        /// It was given up with its run.
        Canceled "canceled",
    }
}

words! {
    /// A request to a run that has not ended.
    Wanted {
        /// That it stops, to be resumed later.
        Pause "pause",
        Cancel "cancel",
    }
}

impl State {
    /// Whether it has come to its end: nothing resumes it.
    pub const fn is_over(self) -> bool {
        matches!(self, State::Succeeded | State::Failed | State::Canceled)
    }

    /// Whether the run needs a holder: without one it was interrupted.
    pub const fn is_under_way(self) -> bool {
        matches!(self, State::Pending | State::Running | State::Waiting | State::CancelRequested)
    }
}

impl StepState {
    /// Whether it has come to its end.
    pub const fn is_over(self) -> bool {
        !matches!(self, StepState::Pending | StepState::Running | StepState::Waiting | StepState::Uncertain)
    }
}
