//! Tests which attestations count, and what a verdict allows.

mod require;
mod weigh;
