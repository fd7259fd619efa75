//! Tests which attestations count, and what each verdict allows.

mod require;
mod weigh;
