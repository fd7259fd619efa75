//! Reads small files of the kernel, such as those in /proc.

use std::fs::OpenOptions;
use std::io::{self, Read};
use std::path::Path;

/// The most bytes that are read.
const LONGEST: u64 = 1 << 20;

/// Reads one of the kernel's files as text.
pub(super) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    OpenOptions::new().read(true).open(path)?.take(LONGEST).read_to_string(&mut text)?;
    Ok(text)
}
