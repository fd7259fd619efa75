//! Plans rollbacks: their goal, and the changes to each file.

pub mod goal;
pub mod plan;
