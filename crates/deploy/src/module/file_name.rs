//! Converts module ids to file names.

use mcpkg_agents::forms::file_letters;
use mcpkg_base::hex;
use mcpkg_base::sha256;

/// Converts an id to part of a file name: everything except letters, digits, `_` and `-` becomes `_`.
pub fn sanitise(id: &str) -> String {
    let name = file_letters(id);
    if name.is_empty() { "module".to_owned() } else { name }
}

/// Returns the name that agentpack (the original tool of contract 000) gives to a module's files: the sanitised id,
/// shortened to 64 bytes, and the beginning of the id's SHA-256.
pub fn fs_key(id: &str) -> String {
    let name = sanitise(id);
    format!("{}--{}", &name[..name.len().min(64)], short_hash(id))
}

/// Like [`fs_key`], but in agentpack's first format, which did not shorten long ids.
pub fn unbounded_fs_key(id: &str) -> String {
    format!("{}--{}", sanitise(id), short_hash(id))
}

fn short_hash(id: &str) -> String {
    hex::encode(&sha256::of(id.as_bytes())[..5])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_those_of_agentpack() {
        assert_eq!(fs_key("instructions:a"), "instructions_a--1b59cb31ea");
        assert_eq!(fs_key(&"é".repeat(90)).len(), 64 + 2 + 10);
        assert!(fs_key("").starts_with("module--"));
    }
}
