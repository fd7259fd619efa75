//! The supported systems, and types that the functions of each system share.

/// A system that mcpkg supports. [`SYSTEM`](super::SYSTEM) is the one that this build of mcpkg is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum System {
    Linux,
    MacOs,
    Windows,
}

/// How to end a program.
#[derive(Clone, Copy, Debug)]
pub enum End {
    /// Ask the processes to end.
    Asked,
    Forced,
}

/// A resource whose use by a process can be limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Limit {
    AddressSpace,
    /// The size of a core dump.
    Core,
    /// CPU time in seconds.
    Cpu,
    /// Private memory.
    Data,
    /// The size of a file.
    FileSize,
    /// The number of open files.
    OpenFiles,
    /// The number of the user's processes and threads.
    Processes,
}
