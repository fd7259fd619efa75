//! The rules that every archive must follow.

use serde::Serialize;
use serde_json::json;

use mcpkg_base::error::{Code, Error};

/// The rule that an archive breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// An absolute path.
    Absolute,
    /// A path segment that is empty, `.` or `..`.
    Dots,
    /// A path segment that some file system treats as `.git`.
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
    /// The same path twice, or a file and a folder with the same path.
    Twice,
    /// Two paths that are the same on some file systems: they differ only in case or Unicode form.
    Case,
    /// A path segment that ends in a dot or a space.
    Ending,
    /// A path of more than 240 bytes.
    Length,
    /// A path of more than 32 segments.
    Depth,
    /// More than 10,000 files and folders.
    Members,
    /// More than 50 MiB packed.
    PackedSize,
    /// More than 200 MiB unpacked.
    UnpackedSize,
    /// A file of more than 64 MiB.
    MemberSize,
    /// Unpacked files that are together more than 100 times as large as the archive.
    Ratio,
    /// Data after the end of the archive.
    AfterEnd,
    /// A second gzip member.
    SecondMember,
    /// Not a valid tar.gz, or truncated.
    Malformed,
}

/// Returns the error for a broken rule. `entry` is the path that breaks the rule; it is empty if the rule is about the
/// whole archive.
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

/// Returns the error for a file that is not a readable tar.gz.
pub(super) fn malformed(error: &std::io::Error) -> Error {
    let why: String = error.to_string().chars().take(120).collect();
    refused(Rule::Malformed, "", format!("it cannot be read ({})", why.escape_debug()))
}
