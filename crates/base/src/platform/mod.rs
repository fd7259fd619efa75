//! Hides the differences between operating systems: everything that one system does differently has one name here.
//!
//! `linux`, `macos` and `windows` offer the same functions, and only one of them is compiled. What Linux and macOS
//! share is in `unix`. Outside of this folder, only tests contain code that is compiled for a single system.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(target_os = "macos")]
mod macos;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

pub mod entry;
mod system;

pub use system::{End, Limit, System};

#[cfg(target_os = "linux")]
pub use linux::*;
#[cfg(target_os = "macos")]
pub use macos::*;
#[cfg(windows)]
pub use windows::*;

#[cfg(not(any(target_os = "linux", target_os = "macos", windows)))]
compile_error!("mcpkg supports Linux, macOS and Windows");

/// Whether this mcpkg was built for Windows.
pub const IS_WINDOWS: bool = matches!(SYSTEM, System::Windows);
