//! Tests git sources, with repositories in a temporary folder.

use super::*;
use mcpkg_base::git;
use mcpkg_base::process::Limits;
use mcpkg_base::sha256;

fn git<A: AsRef<std::ffi::OsStr>>(folder: &Path, args: &[A]) -> Result<Vec<u8>> {
    git::run(folder, args, &Limits::new(git::LOCAL, &CancellationToken::new()))
}

/// Creates a repository with one commit, and returns its path and the commit.
fn upstream(scratch: &Scratch) -> (PathBuf, String) {
    let folder = scratch.folder.path().join("upstream");
    write(&folder.join("skills/a/SKILL.md"), SKILL);
    git(&folder, &["init", "-q", "-b", "main"]).unwrap();
    let commit = commit(&folder, "one");
    (folder, commit)
}

fn commit(folder: &Path, message: &str) -> String {
    git(folder, &["add", "-A"]).unwrap();
    git(folder, &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", message]).unwrap();
    let commit = git(folder, &["rev-parse", "HEAD"]).unwrap();
    String::from_utf8(commit).unwrap().trim().to_owned()
}

fn with(url: &str, more: &str) -> String {
    format!("git: {{url: '{url}', subdir: skills/a{more}}}")
}

/// Composes a repo that is allowed to read the repository `upstream` on this machine.
fn compose(scratch: &Scratch, upstream: &Path) -> Result<Composed> {
    composed(&scratch.open_allowing(&[upstream.to_path_buf()]), &CHOICE)
}

fn text(scratch: &Scratch, upstream: &Path) -> String {
    files(&compose(scratch, upstream).unwrap(), "skill:a")[0].1.to_owned()
}

#[test]
fn branches_tags_and_commits_are_found_and_kept() {
    let scratch = Scratch::with(&[]);
    let (folder, first) = upstream(&scratch);
    git(&folder, &["-c", "user.name=n", "-c", "user.email=e@x", "tag", "-a", "v1", "-m", "v1"]).unwrap();
    write(&folder.join("skills/a/SKILL.md"), &format!("{SKILL}two\n"));
    let second = commit(&folder, "two");
    let url = format!("file://{}", folder.display());
    for (url, more, expected) in [
        (url.as_str(), "", &second),
        (url.as_str(), ", ref: v1", &first),
        (url.as_str(), ", shallow: false", &second),
        ("../upstream", ", ref: v1, shallow: false", &first),
        ("../upstream", "", &second),
        (url.as_str(), &format!(", ref: {first}"), &first),
    ] {
        let other = Scratch::with(&[("skill:a", &with(url, more))]);
        let moved = other.folder.path().join("upstream");
        git(other.folder.path(), &["clone", "-q", "--", &folder.display().to_string(), "upstream"]).unwrap();
        assert!(moved.is_dir());
        let beside = if url.starts_with("file:") { &folder } else { &moved };
        let composed =
            compose(&other, beside).unwrap_or_else(|error| panic!("{url}{more}: {error} {:?}", error.details()));
        assert_eq!(composed.warnings.len(), usize::from(!more.contains(first.as_str())), "{:?}", composed.warnings);
        assert_eq!(text(&other, beside).contains("two"), expected == &second, "{url}{more}");
        let cached = other.home().join("cache/git").join(sha256::hex(url)).join(expected);
        assert!(cached.join("skills/a/SKILL.md").is_file());
        let kept: Vec<_> = std::fs::read_dir(cached.parent().unwrap()).unwrap().collect();
        assert_eq!(kept.len(), 1, "{kept:?}");
    }
}

#[test]
fn a_pin_is_used_and_files_that_differ_from_it_are_refused() {
    let scratch = Scratch::new();
    let (folder, first) = upstream(&scratch);
    let url = format!("file://{}", folder.display());
    scratch.write(
        "agentpack.yaml",
        &format!(
            "version: 1\nprofiles: {{default: {{include_tags: [base]}}}}\nmodules:\n  - {{id: 'skill:a', type: skill, tags: \
             [base], source: {{{}}}}}\n  - {{id: 'prompt:p', type: prompt, tags: [base], source: {{local_path: {{path: p.md}}}}}}\n",
            with(&url, "")
        ),
    );
    scratch.write("p.md", "edited since");
    let files = scratch.files("../upstream/skills/a");
    let lock = |hash: &str| {
        serde_json::json!({"version": 1, "generated_at": "2026-01-01T00:00:00Z", "modules": [
            {"id": "prompt:p", "type": "prompt", "resolved_source": {"local_path": {"path": "p.md"}, "git": null},
             "resolved_version": "local", "sha256": "0".repeat(64), "file_manifest": []},
            {"id": "skill:a", "type": "skill", "resolved_version": first, "sha256": hash, "file_manifest": [],
             "resolved_source": {"local_path": null, "git": {"url": url, "commit": first, "subdir": "skills/a"}}}]})
        .to_string()
    };
    scratch.write("agentpack.lock.json", &lock(&tree::Hashes::of(&files).tree));
    write(&folder.join("skills/a/SKILL.md"), &format!("{SKILL}two\n"));
    commit(&folder, "two");
    let composed = compose(&scratch, &folder).unwrap();
    assert_eq!(super::files(&composed, "prompt:p")[0].1, "edited since");
    assert!(composed.warnings.is_empty() && !super::files(&composed, "skill:a")[0].1.contains("two"));

    // From here on, the repository is gone and the cache must be enough.
    std::fs::rename(&folder, folder.with_extension("away")).unwrap();
    let above = scratch.folder.path().to_path_buf();
    compose(&scratch, &above).unwrap();
    scratch.write("agentpack.lock.json", &lock(&"f".repeat(64)));
    let error = compose(&scratch, &above).unwrap_err();
    assert_eq!(error.code(), Code::LockfileInvalid);
    says(&error, "module `skill:a`: its files in `");
    assert_eq!(error.details().unwrap()["module_id"], "skill:a");
}

#[test]
fn errors_contain_what_git_says() {
    let scratch = Scratch::new();
    let (folder, commit) = upstream(&scratch);
    let url = format!("file://{}", folder.display());
    for (source, code, text) in [
        (with(&url, ", ref: gone"), Code::ConfigInvalid, "has no branch or tag `gone`"),
        (
            format!("git: {{url: '{url}', subdir: skills/b, ref: {commit}}}"),
            Code::ConfigInvalid,
            "`skills/b` does not exist in that commit",
        ),
        (with(&format!("{url}/none"), ""), Code::GitFailed, "git ls-remote: fatal: "),
        (with("ext::sh -c 'x'", "").replace("'x'", "x"), Code::GitFailed, "not allowed"),
        (with(&url, &format!(", ref: {}", "1".repeat(40))), Code::GitFailed, "git checkout: "),
    ] {
        let other = Scratch::with(&[("skill:a", &source)]);
        let error = compose(&other, &folder).unwrap_err();
        assert_eq!(error.code(), code, "{error}");
        says(&error, text);
    }
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc", folder.join("skills/out")).unwrap();
        super::git_sources::commit(&folder, "link");
        let other = Scratch::with(&[("skill:a", &format!("git: {{url: '{url}', subdir: skills/out}}"))]);
        says(&compose(&other, &folder).unwrap_err(), "`skills/out` is a link to `");
    }
}
