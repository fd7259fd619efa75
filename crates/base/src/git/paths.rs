//! Parses git's NUL-separated output.

pub(super) use crate::platform::path;

pub(super) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Splits an output in which each part ends with NUL.
pub(super) fn parts(printed: &[u8]) -> impl Iterator<Item = &[u8]> {
    let whole = printed.strip_suffix(b"\0").unwrap_or(printed);
    whole.split(|byte| *byte == 0).filter(move |_| !printed.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_empty_output_has_no_parts() {
        assert_eq!(parts(b"").count(), 0);
        assert_eq!(parts(b"a\0b\0").collect::<Vec<_>>(), [b"a", b"b"]);
        assert_eq!(parts(b"a\0\0").collect::<Vec<_>>(), [&b"a"[..], b""]);
    }
}
