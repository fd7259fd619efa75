//! Notes of an import about single files.

/// What people should know of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    pub path: String,
    /// The line, from 1.
    pub line: Option<usize>,
    /// The text after the file's name.
    pub text: String,
}
