//! What no archive may hold.

use serde::Serialize;
use serde_json::json;

use mcpkg_base::error::{Code, Error};

/// What no archive may hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// A path from the root.
    Absolute,
    /// A part that is empty, `.` or `..`.
    Dots,
    /// A part that some disk takes for git's own folder.
    Git,
    /// A backslash in a path.
    Backslash,
    /// U+0000 or another control character in a path.
    Control,
    /// An invisible character in a path, or one that changes the direction of text.
    Hidden,
    /// A path that is not UTF-8.
    Utf8,
    /// A symbolic or a hard link.
    Link,
    /// A device, a named pipe, or another kind of entry.
    Special,
    Sparse,
    /// A name twice, or a file where a folder is.
    Twice,
    /// Two names that are one on some disks: they differ by case or Unicode form only.
    Case,
    /// A name that ends in a dot or a blank.
    Ending,
    /// A path of more than 240 bytes.
    Length,
    /// A path of more than 32 parts.
    Depth,
    /// More than 10,000 files and folders.
    Members,
    /// More than 50 MiB packed.
    PackedSize,
    /// More than 200 MiB unpacked.
    UnpackedSize,
    /// A file of more than 64 MiB.
    MemberSize,
    /// Files of more than 100 times the size of the archive.
    Ratio,
    /// Bytes after the end.
    AfterEnd,
    /// A second gzip member.
    SecondMember,
    /// No tar, or no gzip, or one that was cut.
    Malformed,
}

/// Returns the refusal of an archive, or of what would be one.
pub(super) fn refused(rule: Rule, entry: &str, message: impl Into<String>) -> Error {
    let message = message.into();
    let shown: String = entry.chars().take(80).collect();
    let what = match shown.is_empty() {
        true => format!("Invalid archive: {message}"),
        false => format!("Invalid archive: `{}` {message}", shown.escape_debug()),
    };
    let entry = (!entry.is_empty()).then_some(entry);
    Error::new(Code::ArchiveInvalid, what).with_details(json!({ "entry": entry, "rule": rule }))
}

/// Returns the refusal of what cannot be read as a tar in gzip.
pub(super) fn malformed(error: &std::io::Error) -> Error {
    let why: String = error.to_string().chars().take(120).collect();
    refused(Rule::Malformed, "", format!("it cannot be read ({})", why.escape_debug()))
}
