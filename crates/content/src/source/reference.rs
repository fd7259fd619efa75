//! Handles names of branches, tags and commits.

use mcpkg_base::sha256;

/// Returns the ref under which the mirror stores a branch or tag. Its name is a hash, because git does not allow both `a` and
/// `a/b` as names of refs.
pub fn mirrored(reference: &str) -> String {
    format!("refs/mcpkg/{}", &sha256::hex(reference)[..32])
}

/// Formats a ref for people: `refs/heads/main` -> `branch 'main'`.
pub fn shown(reference: &str) -> String {
    match (reference.strip_prefix("refs/heads/"), reference.strip_prefix("refs/tags/")) {
        (Some(branch), _) => format!("branch '{branch}'"),
        (_, Some(tag)) => format!("tag '{tag}'"),
        _ => format!("ref '{reference}'"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_are_shown_as_branches_and_tags() {
        assert_eq!(shown("refs/heads/main"), "branch 'main'");
        assert_eq!(shown("refs/tags/v1"), "tag 'v1'");
        assert_ne!(mirrored("refs/heads/a"), mirrored("refs/heads/a/b"));
    }
}
