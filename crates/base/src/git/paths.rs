//! Parses git's NUL-separated output.

use std::path::PathBuf;

/// Converts the bytes of a path in git's output.
#[cfg(unix)]
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt as _;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Converts the bytes of a path in git's output.
#[cfg(not(unix))]
pub(super) fn path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(String::from_utf8_lossy(bytes).into_owned())
}

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Splits an output in which each part ends with NUL.
pub(super) fn parts(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = printed.strip_suffix(b"\0").unwrap_or(printed);
    whole.split(|byte| *byte == 0).filter(move |_| !printed.is_empty())
}
