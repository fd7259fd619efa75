//! Chooses the version that represents a tool in a list.

use semver::Version;

/// Returns the item with the highest version; pre-releases count only if there is nothing else.
pub fn counting<T>(items: impl IntoIterator<Item = T>, version: impl Fn(&T) -> &Version) -> Option<T> {
    items.into_iter().max_by(|a, b| {
        let (a, b) = (version(a), version(b));
        a.pre.is_empty().cmp(&b.pre.is_empty()).then_with(|| a.cmp(b))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn x57_the_highest_by_semver_counts_and_a_pre_release_last() {
        let of = |texts: &[&str]| {
            let versions: Vec<Version> = texts.iter().map(|text| text.parse().unwrap()).collect();
            counting(versions, |version| version).map(|version| version.to_string())
        };
        assert_eq!(of(&["1.9.0", "1.10.0", "1.2.0"]).as_deref(), Some("1.10.0"));
        assert_eq!(of(&["2.0.0-rc.1", "1.0.0"]).as_deref(), Some("1.0.0"));
        assert_eq!(of(&["2.0.0-rc.2", "2.0.0-rc.10"]).as_deref(), Some("2.0.0-rc.10"));
        assert_eq!(of(&[]), None);
    }
}
