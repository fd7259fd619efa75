//! Classifies the media types of request bodies.

pub fn is_json(media: &str) -> bool {
    let bare = media.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    bare == "application/json" || bare.ends_with("+json")
}

/// The kinds of bodies, best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Media {
    Json,
    /// URL-encoded pairs.
    Form,
    Text,
    /// Any other type.
    Bytes,
    /// Several parts, which may be files.
    Multipart,
}

impl Media {
    /// Returns the kind of a media type, or of a range such as `text/*`.
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

    /// Returns the media type to send for a range such as `text/*`.
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
    fn media_types_are_recognized_by_name() {
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
