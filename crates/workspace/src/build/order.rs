//! Sorts repositories so that each is built after its dependencies.

use crate::manifest::Repo;

/// Returns the named repository and everything it depends on, in the manifest's order. The list is empty for an
/// unknown repository.
pub fn with_dependencies<'m>(repos: &'m [Repo], name: &str) -> Vec<&'m Repo> {
    let mut wanted = vec![name];
    let mut next = 0;
    while let Some(name) = wanted.get(next).copied() {
        next += 1;
        let depends_on = repos.iter().filter(|repo| repo.name == name).flat_map(|repo| &repo.depends_on);
        for name in depends_on {
            if !wanted.contains(&name.as_str()) {
                wanted.push(name);
            }
        }
    }
    repos.iter().filter(|repo| wanted.contains(&repo.name.as_str())).collect()
}

/// Splits repositories into levels. Each repository depends only on repositories in earlier levels. Within a level, the
/// given order is kept.
pub fn levels<'m>(repos: &[&'m Repo]) -> Vec<Vec<&'m Repo>> {
    let mut left = repos.to_vec();
    let mut levels = Vec::new();
    while !left.is_empty() {
        let waits = |repo: &&Repo| left.iter().any(|other| repo.depends_on.contains(&other.name));
        let (later, mut level): (Vec<_>, Vec<_>) = left.iter().copied().partition(waits);
        left = later;
        if level.is_empty() {
            // A dependency cycle, which reading a manifest already rejects.
            level = std::mem::take(&mut left);
        }
        levels.push(level);
    }
    levels
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn repo(name: &str, depends_on: &[&str]) -> Repo {
        Repo {
            name: name.to_owned(),
            url: String::new(),
            path: name.to_owned(),
            default_branch: "main".to_owned(),
            smctl_home: false,
            build: vec!["true".to_owned()],
            test: vec!["true".to_owned()],
            clean: None,
            depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
            timeout: Duration::from_secs(1),
        }
    }

    fn names(repos: &[&Repo]) -> Vec<String> {
        repos.iter().map(|repo| repo.name.clone()).collect()
    }

    #[test]
    fn a_level_depends_on_those_before_it_and_keeps_the_manifests_order() {
        let repos = [
            repo("web", &["api", "lib"]),
            repo("docs", &[]),
            repo("api", &["lib"]),
            repo("lib", &[]),
            repo("cli", &["lib"]),
        ];
        let all: Vec<&Repo> = repos.iter().collect();
        let levels: Vec<_> = levels(&all).iter().map(|level| names(level)).collect();
        assert_eq!(levels, [vec!["docs", "lib"], vec!["api", "cli"], vec!["web"]]);
    }

    #[test]
    fn a_repository_brings_what_it_depends_on_and_nothing_else() {
        let repos = [repo("web", &["api"]), repo("docs", &[]), repo("api", &["lib"]), repo("lib", &[])];
        let of = |name| names(&with_dependencies(&repos, name));
        assert_eq!(of("web"), ["web", "api", "lib"]);
        assert_eq!(of("lib"), ["lib"]);
        assert!(of("none").is_empty());
        assert_eq!(levels(&with_dependencies(&repos, "web")).len(), 3);
    }

    #[test]
    fn a_dependency_cycle_does_not_loop_forever() {
        let repos = [repo("a", &["b"]), repo("b", &["a"]), repo("c", &[])];
        let all: Vec<&Repo> = repos.iter().collect();
        assert_eq!(levels(&all).iter().map(|level| level.len()).collect::<Vec<_>>(), [1, 2]);
    }
}
