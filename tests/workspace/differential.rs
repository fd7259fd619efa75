//! Compares status, branches and worktrees of random workspaces with a plain script of git commands. `PROPTEST_CASES`
//! can set the number of workspaces. `status.rs` does the same with one workspace that changes.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::imported::{FILE, Files, Stream};
use super::shop::{REPOS, Shop};
use crate::support::{Client, Random, cases};

const BRANCHES: [&str; 9] = [
    "develop",
    "feature/login",
    "feature/deep/er",
    "feature/\u{fc}ml\u{e4}ut",
    "release/1.0.0",
    "hotfix/urgent",
    "featureless",
    "other",
    "x/feature/y",
];

/// Returns a repository with random branches. Each has its own commits, or those of another branch.
fn stream(random: &mut Random) -> Stream {
    let mut stream = Stream::default();
    let mut files = Files::from([(b"a.txt".to_vec(), (FILE, b"one\n".to_vec()))]);
    let mut commits = vec![stream.commit("main", None, None, &files)];
    for branch in BRANCHES {
        if random.below(3) == 0 {
            continue;
        }
        let from = commits[random.below(commits.len())];
        stream.branch(branch, from);
        let mut at = from;
        for n in 0..random.below(3) {
            files.insert(format!("{branch}/{n}.txt").into_bytes(), (FILE, b"x\n".to_vec()));
            let merged = commits[random.below(commits.len())];
            at = stream.commit(branch, Some(at), (random.below(3) == 0 && merged != at).then_some(merged), &files);
            commits.push(at);
        }
    }
    stream
}

/// Makes random changes in a repository, as a person may.
fn disturb(shop: &Shop, repo: &str, path: &str, random: &mut Random) {
    let folder = shop.repo(repo);
    let try_git = |folder: &Path, line: &[&str]| drop(shop.git_command(folder).args(line).output());
    let any = |random: &mut Random| BRANCHES[random.below(BRANCHES.len())];
    for n in 0..random.below(5) {
        let branch = any(random);
        match random.below(9) {
            0 => std::fs::write(folder.join(format!("new {n}.txt")), "new").expect("a file"),
            1 => std::fs::write(folder.join("a.txt"), format!("changed {n}")).expect("a file"),
            2 => try_git(&folder, &["mv", "a.txt", "b.txt"]),
            3 => try_git(&folder, &["switch", "-q", branch]),
            4 => try_git(&folder, &["switch", "-q", "--detach", branch]),
            5 => try_git(&folder, &["merge", "-q", "--no-edit", branch]),
            6 => {
                let upstream = format!("refs/remotes/origin/{branch}");
                try_git(&folder, &["update-ref", &upstream, any(random)]);
                try_git(&folder, &["config", &format!("branch.{branch}.remote"), "origin"]);
                try_git(&folder, &["config", &format!("branch.{branch}.merge"), &format!("refs/heads/{branch}")]);
            }
            7 => {
                let set = shop.root().join(".worktrees").join(format!("set{n}")).join(path);
                let detach: &[&str] = if random.below(3) == 0 { &["--detach"] } else { &[] };
                let set_text = set.display().to_string();
                try_git(&folder, &[&["worktree", "add", "-q"], detach, &[&set_text, branch]].concat());
                if random.below(2) == 0 && set.exists() {
                    std::fs::write(set.join("a.txt"), "changed").expect("a file");
                }
            }
            _ => {
                let elsewhere = shop.scratch.path().join(format!("elsewhere/{repo}{n}")).display().to_string();
                try_git(&folder, &["worktree", "add", "-q", &elsewhere, branch]);
            }
        }
    }
}

/// Reads a repository with separate git commands.
struct Script<'s> {
    shop: &'s Shop,
    folder: PathBuf,
}

impl Script<'_> {
    fn ask(&self, line: &[&str]) -> Option<String> {
        let output = self.shop.git_command(&self.folder).args(line).output().expect("git starts");
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim_end().to_owned())
    }

    fn lines(&self, line: &[&str]) -> Vec<String> {
        self.ask(line).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    fn status(&self) -> Value {
        let entries = self.lines(&["-c", "core.quotePath=false", "status", "--porcelain"]);
        let is_unmerged = |line: &String| ["DD", "AU", "UD", "UA", "DU", "AA", "UU"].contains(&&line[..2]);
        let untracked = entries.iter().filter(|line| line.starts_with("??")).count();
        let conflicted = entries.iter().filter(|line| is_unmerged(line)).count();
        let count = |range: &str| self.ask(&["rev-list", "--count", range]).and_then(|count| count.parse::<u64>().ok());
        json!({
            "branch": self.ask(&["symbolic-ref", "-q", "--short", "HEAD"]).unwrap_or_else(|| "detached".to_owned()),
            "head": self.ask(&["rev-parse", "HEAD"]),
            "clean": entries.is_empty(),
            "modified_files": entries.len() - untracked - conflicted,
            "untracked_files": untracked,
            "conflicted_files": conflicted,
            "upstream": self.ask(&["rev-parse", "-q", "--abbrev-ref", "@{upstream}"]),
            "ahead": count("@{upstream}..HEAD"),
            "behind": count("HEAD..@{upstream}"),
            "operation": self.folder.join(".git/MERGE_HEAD").exists().then_some("merge"),
        })
    }

    /// Returns the folder and the branch of each work tree.
    fn worktrees(&self) -> Vec<(PathBuf, Option<String>)> {
        let mut found: Vec<(PathBuf, Option<String>)> = Vec::new();
        for line in self.lines(&["worktree", "list", "--porcelain"]) {
            if let Some(path) = line.strip_prefix("worktree ") {
                found.push((PathBuf::from(path), None));
            } else if let (Some(branch), Some(last)) = (line.strip_prefix("branch refs/heads/"), found.last_mut()) {
                last.1 = Some(branch.to_owned());
            }
        }
        found
    }

    fn branches(&self, repo: &str) -> Vec<Value> {
        let contains = |target: &str, name: &str| {
            self.ask(&["merge-base", "--is-ancestor", &format!("refs/heads/{name}"), &format!("refs/heads/{target}")])
                .is_some()
        };
        let row = |name: &String| {
            let kinds = [("feature/", "Feature"), ("release/", "Release"), ("hotfix/", "Hotfix")];
            let kind = match name.as_str() {
                "main" => "Main",
                "develop" => "Develop",
                _ => kinds.iter().find(|(prefix, _)| name.starts_with(prefix)).map_or("Other", |(_, kind)| kind),
            };
            let merged = match kind {
                "Main" | "Develop" => None,
                "Hotfix" => Some(contains("main", name)),
                _ => Some(contains("develop", name)),
            };
            let elsewhere = self.worktrees().into_iter().skip(1).find(|(_, branch)| branch.as_ref() == Some(name));
            json!({
                "repo_name": repo,
                "branch": name,
                "branch_type": kind,
                "head": self.ask(&["rev-parse", &format!("refs/heads/{name}")]),
                "merged": merged,
                "worktree": elsewhere.map(|(place, _)| place),
            })
        };
        self.lines(&["for-each-ref", "--format=%(refname:lstrip=2)", "refs/heads/"]).iter().map(row).collect()
    }
}

fn read(client: &mut Client, uri: &str) -> Value {
    let read = client.result("resources/read", json!({ "uri": uri }));
    serde_json::from_str(read["contents"][0]["text"].as_str().expect("text")).expect("JSON")
}

/// Checks that `found` has the same values as `expected` for its keys.
#[track_caller]
fn assert_has(found: &Value, expected: &Value, what: &str) {
    let keys = expected.as_object().expect("an object");
    let found: Map<String, Value> = keys.keys().map(|key| (key.clone(), found[key].clone())).collect();
    assert_eq!(Value::Object(found), *expected, "{what}");
}

fn check(random: &mut Random, round: usize) {
    let shop = Shop::imported(&[0, 1, 2].map(|_| stream(random)));
    REPOS.iter().for_each(|(repo, path)| disturb(&shop, repo, path, random));
    let mut client = shop.client(&["--as", "smctl"]);
    let status = read(&mut client, "smctl://workspace/status");
    let branches = read(&mut client, "smctl://flow/branches");
    let sets = read(&mut client, "smctl://worktree/list");
    client.finish();
    let (mut of_kind, mut listed) = (Map::new(), Vec::new());
    for kind in ["features", "releases", "hotfixes", "base"] {
        of_kind.insert(kind.to_owned(), json!([]));
    }
    for (n, (repo, path)) in REPOS.into_iter().enumerate() {
        let script = Script { shop: &shop, folder: shop.repo(repo) };
        assert_eq!(status["repos"][n]["name"], repo);
        assert_has(&status["repos"][n], &script.status(), &format!("round {round}: status of {repo}"));
        for row in script.branches(repo) {
            let kind = match row["branch_type"].as_str() {
                Some("Feature") => "features",
                Some("Release") => "releases",
                Some("Hotfix") => "hotfixes",
                Some("Other") => continue,
                _ => "base",
            };
            of_kind[kind].as_array_mut().expect("rows").push(row);
        }
        for (place, branch) in script.worktrees() {
            let Ok(below) = place.strip_prefix(shop.root().join(".worktrees")) else { continue };
            let set = below.to_string_lossy().trim_end_matches(path).trim_end_matches('/').to_owned();
            let own = Script { shop: &shop, folder: place.clone() }.status();
            let branch = branch.unwrap_or_else(|| "detached".to_owned());
            listed.push((
                set,
                json!({
                    "repo_name": repo,
                    "branch": branch,
                    "path": place,
                    "exists": true,
                    "clean": own["clean"],
                    "modified_files": own["modified_files"],
                }),
            ));
        }
    }
    assert_eq!(branches, Value::Object(of_kind), "round {round}");
    listed.sort_by(|(a, _), (b, _)| a.cmp(b));
    let mut found = Vec::new();
    for set in sets["sets"].as_array().expect("sets") {
        let name = set["name"].as_str().expect("a name").to_owned();
        found.extend(set["worktrees"].as_array().expect("rows").iter().map(|row| (name.clone(), row.clone())));
    }
    assert_eq!(found.len(), listed.len(), "round {round}: {sets}");
    for ((set, found), (expected_set, expected)) in found.iter().zip(&listed) {
        assert_eq!(set, expected_set, "round {round}");
        assert_has(found, expected, &format!("round {round}: set {set}"));
    }
}

#[test]
fn reads_of_random_workspaces_agree_with_a_script_of_git_commands() {
    let count = cases(12);
    let mut random = Random::new();
    (0..count as usize).for_each(|round| check(&mut random, round));
    eprintln!("{count} random workspaces compared");
}
