//! Finds alternative names for a file whose preferred name is taken.

use mcpkg_base::sha256;
use mcpkg_core::names;

const MAX_NAME: usize = 255;

/// Converts a text to characters that names may contain: `a/b c` -> `a.b-c`. If a character was replaced by `-`,
/// leading hyphens are dropped, because commands would take such a name for an option. If no ASCII letter or digit is
/// left then, as for Japanese, the result is a hash.
pub fn letters(text: &str) -> String {
    let is_letter = |c: char| u8::try_from(c).is_ok_and(names::is_name_byte);
    let letter = |c: char| match c {
        '/' => '.',
        c if is_letter(c) => c,
        _ => '-',
    };
    let name: String = text.chars().map(letter).collect();
    if text.chars().all(|c| c == '/' || is_letter(c)) {
        return name;
    }
    let name = name.trim_start_matches('-');
    if name.contains(|c: char| c.is_ascii_alphanumeric()) { name.to_owned() } else { digest(text, 8) }
}

/// Returns possible names for the file at `relative`, best first. The iterator never ends. It begins with the preferred name,
/// continues with more and more of `origins` as a prefix, and then appends a hash of the path.
pub fn names(wanted: String, origins: &[String], relative: &str) -> impl Iterator<Item = String> {
    let fits = |name: &String| !matches!(name.as_str(), "" | "." | "..") && name.len() <= MAX_NAME;
    let prefixed = (1..=origins.len()).map(|count| {
        let words: Vec<&str> = origins[..count].iter().rev().map(String::as_str).collect();
        format!("{}-{wanted}", words.join("-"))
    });
    let told: Vec<String> = std::iter::once(wanted.clone()).chain(prefixed).filter(fits).collect();
    let mut seed = relative.to_owned();
    let hashed = std::iter::repeat_with(move || {
        seed = digest(&seed, 8);
        let stem: String = wanted.chars().take(MAX_NAME - 1 - seed.len()).collect();
        format!("{stem}-{seed}")
    });
    told.into_iter().chain(hashed)
}

pub fn digest(text: &str, digits: usize) -> String {
    sha256::hex(text).chars().take(digits).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn characters_that_names_cannot_contain_are_replaced() {
        assert_eq!(letters("a/b c"), "a.b-c");
        assert_eq!(letters("caf\u{e9}"), "caf-");
        assert_eq!(letters("\u{e9}t\u{e9}"), "t-");
        assert_eq!(letters("-x"), "-x");
        let hashes = ["\u{5ba1}\u{67e5}", "\u{4fee}\u{590d}"].map(letters);
        assert!(hashes.iter().all(|hash| hash.len() == 8) && hashes[0] != hashes[1], "{hashes:?}");
        assert_eq!(letters(""), "");
    }
}
