//! Plans rollbacks: parses their goal and finds the change to each file.

pub mod goal;
pub mod plan;
