//! Notes of an import about single files.

/// A note for people about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub path: String,
    /// The line, counted from 1.
    pub line: Option<usize>,
    /// The text, which continues a sentence that begins with the file's name.
    pub text: String,
}
