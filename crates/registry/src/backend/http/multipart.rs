//! Builds multipart forms, as browsers use to upload files.

use super::client::Payload;
use mcpkg_base::clock;

pub struct Form {
    boundary: String,
    bytes: Vec<u8>,
}

impl Default for Form {
    /// Returns an empty form. Its boundary is random, so that no part contains it.
    fn default() -> Self {
        Self { boundary: format!("mcpkg-{}", clock::unique().simple()), bytes: Vec::new() }
    }
}

impl Form {
    /// Adds a text field. `name` must be a plain word.
    pub fn text(mut self, name: &str, text: &str) -> Self {
        self.head(&format!("Content-Disposition: form-data; name=\"{name}\""));
        self.body(text.as_bytes())
    }

    /// Adds a file. `name`, `file` and `content_type` must be plain words.
    pub fn file(mut self, name: &str, file: &str, content_type: &str, bytes: &[u8]) -> Self {
        let disposition = format!("Content-Disposition: form-data; name=\"{name}\"; filename=\"{file}\"");
        self.head(&format!("{disposition}\r\nContent-Type: {content_type}"));
        self.body(bytes)
    }

    fn head(&mut self, headers: &str) {
        self.bytes.extend_from_slice(format!("--{}\r\n{headers}\r\n\r\n", self.boundary).as_bytes());
    }

    fn body(mut self, bytes: &[u8]) -> Self {
        self.bytes.extend_from_slice(bytes);
        self.bytes.extend_from_slice(b"\r\n");
        self
    }

    /// Returns the encoded form.
    pub fn payload(mut self) -> Payload {
        self.bytes.extend_from_slice(format!("--{}--\r\n", self.boundary).as_bytes());
        Payload { content_type: format!("multipart/form-data; boundary={}", self.boundary), bytes: self.bytes }
    }
}
