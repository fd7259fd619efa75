//! Paths in URIs.

/// Percent-encodes what the path of a URI cannot hold.
pub fn encode(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for byte in path.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// Returns the path that the path of a URI encodes, `None` where that is not UTF-8.
pub fn decode(encoded: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let [first, tail @ ..] = rest {
        let escaped = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = escaped
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()))
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &tail[2..] } else { tail };
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encoding_is_undone() {
        for path in ["a b/é.md", "100%", "%41", "a\nb", "x/.y~!"] {
            assert!(encode(path).bytes().all(|byte| byte.is_ascii_graphic()));
            assert_eq!(decode(&encode(path)).as_deref(), Some(path));
        }
        assert_eq!(decode("%ff"), None);
        assert_eq!(decode("%+1%4"), Some("%+1%4".to_owned()));
    }
}
