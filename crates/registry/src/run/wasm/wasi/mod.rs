//! The calls of WASI preview 1, each a function of a host, its module's memory and numbers.
//!
//! Those that need more than a module has (sockets, links, signals, times of files) answer that there is no such call.

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

/// Rights of descriptors, as bits.
mod rights {
    pub const READ: u64 = 1 << 1;
    pub const WRITE: u64 = 1 << 6;
    /// All that there are.
    pub const ALL: u64 = (1 << 30) - 1;
}
