//! Implements what Windows does differently. `packaging/test/windows.py` runs it under Wine; nobody has run it on
//! Windows yet.

mod files;
pub mod folder;
mod programs;
mod terminal;

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use super::system::System;

pub use files::*;
pub use programs::*;
pub use terminal::*;

pub const SYSTEM: System = System::Windows;

/// Returns nothing: the name is in the environment variable `COMPUTERNAME`.
pub fn host() -> Option<String> {
    None
}

/// Returns nothing: users have no numbers.
pub fn user() -> Option<(u32, u32)> {
    None
}

/// Returns nothing: folders are not kept open here, so there is no handle whose path could be read.
pub fn whereabouts(_: &folder::Handle) -> Option<PathBuf> {
    None
}

/// Returns nothing: this system has no list of mounts by device.
pub fn device(_: &Metadata) -> Option<(u32, u32)> {
    None
}

/// Returns nothing: the magic numbers of file systems in linux/magic.h are specific to Linux.
pub fn file_system(_: &Path) -> Option<u32> {
    None
}
