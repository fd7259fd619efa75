//! The words and signs of effects and states, with their tones.

use crate::line::Tone;

/// Returns the word to show for an operation's effect, and its tone.
pub fn effect(word: &str) -> (&'static str, Tone) {
    match word {
        "read" | "reads" => ("reads", Tone::Good),
        "destroy" | "destroys" => ("destroys", Tone::Bad),
        _ => ("writes", Tone::Warning),
    }
}

/// Returns the sign and tone of a run's or step's state. Screens also print the state as a word.
pub fn sign(state: &str) -> (&'static str, Tone) {
    match state {
        "succeeded" | "ok" => ("ok", Tone::Good),
        "failed" | "canceled" | "interrupted" => ("!", Tone::Bad),
        "uncertain" => ("?", Tone::Warning),
        "running" | "cancel_requested" => (">", Tone::Name),
        _ => (".", Tone::Dim),
    }
}
