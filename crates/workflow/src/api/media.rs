//! Media types: what a body is made of.

/// Whether a media type is JSON.
pub fn is_json(media: &str) -> bool {
    let bare = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    bare == "application/json" || bare.ends_with("+json")
}

/// What bodies are made of, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Media {
    /// JSON.
    Json,
    /// Pairs, encoded as in a URL.
    Form,
    Text,
    /// Bytes of any other type.
    Bytes,
    /// Several parts, with files among them.
    Multipart,
}

impl Media {
    /// Returns what a media type is, or a range of them.
    pub fn of(name: &str) -> Self {
        let bare = name.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match bare.as_str() {
            _ if is_json(&bare) || bare == "application/*" => Self::Json,
            "application/x-www-form-urlencoded" => Self::Form,
            "application/xml" | "application/yaml" | "application/x-yaml" | "application/x-ndjson" => Self::Text,
            text if text.starts_with("text/") || text.ends_with("+xml") || text.ends_with("+yaml") => Self::Text,
            multipart if multipart.starts_with("multipart/") => Self::Multipart,
            _ => Self::Bytes,
        }
    }

    /// The media type that is sent for a range of them, such as `text/*`.
    pub fn stands_for(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Text => "text/plain",
            Self::Form | Self::Bytes | Self::Multipart => "application/octet-stream",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_told_by_their_names() {
        for (name, media) in [
            ("application/json; charset=utf-8", Media::Json),
            ("Application/vnd.x+JSON", Media::Json),
            ("application/x-www-form-urlencoded", Media::Form),
            ("text/csv", Media::Text),
            ("application/soap+xml", Media::Text),
            ("application/octet-stream", Media::Bytes),
            ("*/*", Media::Bytes),
            ("multipart/form-data; boundary=x", Media::Multipart),
        ] {
            assert_eq!(Media::of(name), media, "{name}");
        }
    }
}
