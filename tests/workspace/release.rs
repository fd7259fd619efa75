//! Tests of releases and hotfixes: both branches, one tag, and a changelog.

use super::shop::{REPOS, Shop};

/// A release and a hotfix are merged into main and develop, the tag is on main's merge, and the branch is deleted.
#[test]
fn x1_a_release_and_a_hotfix_reach_both_branches() {
    let shop = Shop::new();
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
    shop.ok(&["flow", "feature", "finish", "login"]);
    shop.ok(&["flow", "release", "start", "1.0.0"]);
    shop.work("version.txt");
    let data = shop.data(&["flow", "release", "finish", "1.0.0"]);
    assert_eq!(data["tag"], "v1.0.0");
    assert!(data["changelog"]["lib"].as_str().is_some_and(|text| text.contains("login.txt: lib")), "{data}");
    for (repo, _) in REPOS {
        let folder = shop.repo(repo);
        assert_eq!(shop.id(repo, "v1.0.0^{commit}"), shop.id(repo, "main"), "the tag is on main's merge");
        assert_eq!(shop.git(&folder, &["cat-file", "-t", "v1.0.0"]), "tag");
        assert_eq!(shop.git(&folder, &["describe", "develop"]).split('-').next(), Some("v1.0.0"));
        for branch in ["main", "develop"] {
            let file = format!("{branch}:version.txt");
            assert_eq!(shop.git(&folder, &["show", &file]), repo, "{branch} has it");
        }
        assert_eq!(shop.id(repo, "release/1.0.0"), "");
        assert_eq!(shop.git(&folder, &["status", "--porcelain"]), "");
        assert!(
            shop.git(&folder, &["for-each-ref", "--format=%(contents)", "refs/tags/v1.0.0"]).contains("## 1.0.0 - ")
        );
    }
    for kind in ["release", "hotfix"] {
        let (refused, _) = shop.refused(&["flow", kind, "start", "1.0.0"]);
        assert_eq!(refused["code"], "E_TAG_EXISTS", "{refused}");
    }
    shop.ok(&["flow", "hotfix", "start", "crash"]);
    shop.work("fix.txt");
    let data = shop.data(&["flow", "hotfix", "finish", "crash"]);
    assert_eq!(data["tag"], "v1.0.1");
    for (repo, _) in REPOS {
        for branch in ["main", "develop"] {
            assert_eq!(shop.git(&shop.repo(repo), &["show", &format!("{branch}:fix.txt")]), repo);
        }
    }
    shop.assert_tidy();
}

/// A release that main already contains is tagged, and the output says that there was nothing to merge.
#[test]
fn a_release_without_anything_new_is_reported() {
    let shop = Shop::new();
    let manifest = shop.root().join(".smctl/workspace.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    std::fs::write(&manifest, format!("{text}\n[flow]\nchangelog = \"CHANGELOG.md\"\n")).expect("written");
    shop.ok(&["flow", "release", "start", "1.0.0"]);
    let ran = shop.run(&["flow", "release", "finish", "1.0.0"]);
    assert!(
        ran.status == 0
            && ran.stdout.contains("nothing to merge: main and develop already have every commit; tagged v1.0.0"),
        "{ran}"
    );
    assert!(ran.stderr.contains("CHANGELOG.md gets no section for v1.0.0"), "{ran}");
}

#[test]
fn a_changelog_file_is_written_within_the_merge() {
    let shop = Shop::new();
    let manifest = shop.root().join(".smctl/workspace.toml");
    let text = std::fs::read_to_string(&manifest).expect("a manifest");
    std::fs::write(&manifest, format!("{text}\n[flow]\nchangelog = \"CHANGELOG.md\"\n")).expect("written");
    for version in ["1.0.0", "1.1.0"] {
        shop.ok(&["flow", "feature", "start", "f"]);
        shop.work(&format!("f-{version}.txt"));
        shop.ok(&["flow", "feature", "finish", "f"]);
        shop.ok(&["flow", "release", "start", version]);
        shop.ok(&["flow", "release", "finish", version]);
    }
    let text = shop.git(&shop.repo("api"), &["show", "develop:CHANGELOG.md"]);
    let headings: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert!(headings[0].starts_with("## 1.1.0 - ") && headings[1].starts_with("## 1.0.0 - "), "{text}");
    assert!(text.contains("- f-1.1.0.txt: api ("), "{text}");
    assert_eq!(shop.git(&shop.repo("api"), &["status", "--porcelain"]), "");
}

/// An existing tag and an invalid version are refused before anything changes.
#[test]
fn x38_a_taken_tag_and_a_bad_version_are_refused_first() {
    let shop = Shop::new();
    for (version, hint) in [("v1.0.0", "write `1.0.0`"), ("1.0", "MAJOR.MINOR.PATCH")] {
        let ran = shop.run(&["flow", "release", "start", version]);
        assert_eq!(ran.status, 2, "{ran}");
        assert!(ran.stderr.contains(hint), "{ran}");
    }
    shop.ok(&["flow", "release", "start", "1.0.0"]);
    shop.work("v.txt");
    shop.git(&shop.repo("web"), &["tag", "v1.0.0"]);
    let before = shop.state();
    let (error, _) = shop.refused(&["flow", "release", "finish", "1.0.0"]);
    assert_eq!((error["code"].as_str(), &error["details"]["repos"][0]), (Some("E_TAG_EXISTS"), &"web".into()));
    assert_eq!(shop.state(), before);
}

/// A version with a tag is refused before a branch is created, because its release could never be finished.
#[test]
fn a_release_of_a_version_that_is_tagged_is_not_started() {
    let shop = Shop::new();
    shop.git(&shop.repo("web"), &["tag", "v1.0.0", "main"]);
    let before = shop.state();
    let (error, exit) = shop.refused(&["flow", "release", "start", "1.0.0"]);
    assert_eq!((error["code"].as_str(), exit), (Some("E_TAG_EXISTS"), 1));
    assert_eq!((&error["details"]["tag"], &error["details"]["repos"][0]), (&"v1.0.0".into(), &"web".into()));
    assert_eq!(shop.state(), before);
    shop.ok(&["flow", "release", "start", "1.0.1"]);
}

/// A hotfix gets one tag for repositories with different latest tags.
#[test]
fn x39_a_hotfix_has_one_tag_over_all() {
    let shop = Shop::new();
    shop.git(&shop.repo("lib"), &["tag", "v1.2.0", "main"]);
    shop.git(&shop.repo("web"), &["tag", "v1.10.3", "main"]);
    shop.ok(&["flow", "hotfix", "start", "crash"]);
    shop.work("fix.txt");
    let data = shop.data(&["flow", "hotfix", "finish", "crash"]);
    assert_eq!(data["tag"], "v1.10.4");
    for (repo, _) in REPOS {
        assert_ne!(shop.id(repo, "v1.10.4"), "");
    }
}
