//! Implements the calls of WASI preview 1, as functions of the host's state, the module's memory and the arguments.
//!
//! Some calls always fail as unsupported, such as those for sockets, signals and file times.

mod descriptors;
mod link;
mod paths;
mod poll;
mod process;
#[cfg(test)]
mod tests;

pub use link::define;

mod kind {
    pub const UNKNOWN: u8 = 0;
    pub const FOLDER: u8 = 3;
    pub const FILE: u8 = 4;
}

/// The rights of descriptors, as bits.
mod rights {
    pub const READ: u64 = 1 << 1;
    pub const WRITE: u64 = 1 << 6;
    /// All rights together.
    pub const ALL: u64 = (1 << 30) - 1;
}
