//! Lists the variables that mcpkg itself sets in every run of a tool.

/// The names and the values. Manifests, settings and imports cannot change them, because every tool relies on them.
pub const USUAL: [(&str, &str); 6] = [
    ("HOME", "/tmp"),
    ("LANG", "C.UTF-8"),
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("PWD", super::mount::WORKSPACE),
    ("TMPDIR", "/tmp"),
    ("USER", "tool"),
];

/// Returns whether mcpkg itself sets this variable in every run.
pub fn is_usual(name: &str) -> bool {
    USUAL.iter().any(|(usual, _)| *usual == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_names_count() {
        assert!(is_usual("PATH") && is_usual("USER"));
        assert!(!is_usual("path") && !is_usual("USERNAME") && !is_usual(""));
    }
}
