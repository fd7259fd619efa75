//! Tests that a config repo reads only its own files. Every path that leads outside is refused, wherever it is read and
//! in every kind of source, unless the user names the folder.

use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use mcpkg_deploy::repo::identity;
use serde_json::json;

use crate::deploy::answers::{tool, tool_data, tool_refused, word};
use crate::deploy::place::Place;
use crate::support::runs_all;

/// The text of every file outside the repo. It must not appear anywhere.
const CANARY: &str = "canary-7f3a";

/// The overlay of `skill:s`.
const OVERLAY: &str = "repo/overlays/skill_s--df092f8d77";

/// Returns a place with a skill in a config repo, and a folder outside with files that a repo might try to read.
fn place() -> Place {
    let place =
        Place::with_repo(&["codex: {scope: project, options: {layout: current}}"], &[("skill:s", &skill("ours"))]);
    place.write("secret/SKILL.md", skill(CANARY));
    for name in ["AGENTS.md", "p.md", "key", "deep/key"] {
        place.write(&format!("secret/{name}"), format!("{CANARY}\n"));
    }
    let manifest = place.read("repo/agentpack.yaml");
    place.write("secret/agentpack.yaml", format!("{manifest}# {CANARY}\n"));
    place.write("secret/agentpack.lock.json", json!({ "version": 1, "modules": [], CANARY: 1 }).to_string());
    place.write("secret/overlay.json", json!({ "overlay_kind": "patch", CANARY: 1 }).to_string());
    place.write("secret/.git/config", CANARY);
    place.write("secret/overlays/skill_s--df092f8d77/key", CANARY);
    let patch = format!("--- a/SKILL.md\n+++ b/SKILL.md\n@@ -3,2 +3,2 @@\n ---\n-ours\n+{CANARY}\n");
    place.write("secret/patches/SKILL.md.patch", patch);
    place
}

fn skill(text: &str) -> String {
    format!("---\nname: s\ndescription: d\n---\n{text}\n")
}

fn secret(place: &Place) -> PathBuf {
    place.scratch.path().join("secret")
}

/// Makes `link`, relative to the scratch folder, a link to `target`.
fn link(place: &Place, link: &str, target: impl AsRef<Path>) {
    let link = place.scratch.path().join(link);
    std::fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
    let _ = std::fs::remove_dir_all(&link).or_else(|_| std::fs::remove_file(&link));
    symlink(target, link).expect("a link");
}

/// Changes the source of `skill:s`.
fn source(place: &Place, source: &str) {
    let manifest = place.read("repo/agentpack.yaml");
    let (head, _) = manifest.split_once("modules:").expect("modules");
    let module = format!("modules:\n  - {{id: 'skill:s', type: skill, tags: [base], source: {{{source}}}}}\n");
    place.write("repo/agentpack.yaml", format!("{head}{module}"));
}

/// Creates a git repository at a remote URL. A rule in the user's git configuration redirects the URL to this machine.
fn served(place: &Place, name: &str, fill: impl Fn(&str)) {
    fill(name);
    let folder = place.scratch.path().join(name);
    place.write(&format!("{name}/here/SKILL.md"), skill("ours"));
    place.git(&folder, &["init", "-q", "-b", "main"]);
    place.git(&folder, &["add", "-A"]);
    place.git(&folder, &["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "x"]);
    let rule = format!("[url \"file://{}\"]\n\tinsteadOf = https://git.invalid/{name}\n", folder.display());
    place.write("home/.gitconfig", rule);
}

/// A way to leave the repo: its name, and the function that sets it up.
type Way = (&'static str, fn(&Place));

const WAYS: [Way; 24] = [
    ("an absolute path", |place| source(place, &format!("local_path: {{path: {}}}", secret(place).display()))),
    ("a path with ..", |place| source(place, "local_path: {path: ../secret}")),
    ("a module that is a link", |place| link(place, "repo/modules/skill_s", secret(place))),
    ("a linked modules folder", |place| {
        place.write("secret/skill_s/SKILL.md", skill(CANARY));
        link(place, "repo/modules", secret(place));
    }),
    ("a link to a link", |place| {
        link(place, "repo/first", secret(place));
        link(place, "repo/modules/skill_s", "../first");
    }),
    ("a file that is a link", |place| link(place, "repo/modules/skill_s/key", secret(place).join("key"))),
    ("a relative link", |place| link(place, "repo/modules/skill_s/key", "../../../secret/key")),
    ("a linked folder in a module", |place| link(place, "repo/modules/skill_s/deep", secret(place).join("deep"))),
    ("a source that is one linked file", |place| {
        place.declare(&["codex: project"], &[]);
        let module = "modules: [{id: 'prompt:p', type: prompt, tags: [base], source: {local_path: {path: p.md}}}]\n";
        let manifest = place.read("repo/agentpack.yaml").replace("modules:\n", module);
        place.write("repo/agentpack.yaml", manifest.replace("scope: project", "scope: user"));
        link(place, "repo/p.md", secret(place).join("p.md"));
    }),
    ("a linked overlays folder", |place| link(place, "repo/overlays", secret(place).join("overlays"))),
    ("a linked overlay", |place| link(place, OVERLAY, secret(place).join("deep"))),
    ("a linked file in an overlay", |place| link(place, &format!("{OVERLAY}/key"), secret(place).join("key"))),
    ("linked overlays of a machine", |place| link(place, "repo/overlays/machines/box", secret(place).join("overlays"))),
    ("linked overlays of all projects", |place| {
        let project = identity::project(&place.root()).expect("an id");
        place.write(&format!("secret/{project}/overlays/skill_s--df092f8d77/key"), CANARY);
        link(place, "repo/projects", secret(place));
    }),
    ("a linked patches folder", |place| {
        place.write(&format!("{OVERLAY}/.agentpack/overlay.json"), r#"{"overlay_kind":"patch"}"#);
        link(place, &format!("{OVERLAY}/.agentpack/patches"), secret(place).join("patches"));
    }),
    ("a linked patch", |place| {
        place.write(&format!("{OVERLAY}/.agentpack/overlay.json"), r#"{"overlay_kind":"patch"}"#);
        let patch = format!("{OVERLAY}/.agentpack/patches/SKILL.md.patch");
        link(place, &patch, secret(place).join("patches/SKILL.md.patch"));
    }),
    ("a linked overlay.json", |place| {
        place.write(&format!("{OVERLAY}/.agentpack/module_id"), "skill:s");
        link(place, &format!("{OVERLAY}/.agentpack/overlay.json"), secret(place).join("overlay.json"));
    }),
    ("a linked manifest", |place| link(place, "repo/agentpack.yaml", secret(place).join("agentpack.yaml"))),
    ("a linked lockfile", |place| link(place, "repo/agentpack.lock.json", secret(place).join("agentpack.lock.json"))),
    ("a link in a git source", |place| {
        served(place, "up", |name| link(place, &format!("{name}/here/key"), secret(place).join("key")));
        source(place, "git: {url: 'https://git.invalid/up', subdir: here}");
    }),
    ("a subfolder of a git source that is a link", |place| {
        served(place, "up", |name| link(place, &format!("{name}/there"), secret(place)));
        source(place, "git: {url: 'https://git.invalid/up', subdir: there}");
    }),
    ("a repository on this machine, by URL", |place| {
        served(place, "secret/repo", |_| {});
        source(place, &format!("git: {{url: 'file://{}/repo', subdir: here}}", secret(place).display()));
    }),
    ("a repository on this machine, by path", |place| {
        served(place, "secret/repo", |_| {});
        source(place, "git: {url: ../secret/repo, subdir: here, shallow: false}");
    }),
    ("a repository in the repo that is a link", |place| {
        served(place, "secret/repo", |_| {});
        link(place, "repo/inner", secret(place).join("repo"));
        source(place, "git: {url: ./inner, subdir: here}");
    }),
];

#[test]
fn every_way_out_is_refused_until_the_user_names_the_folder() {
    let reads = [&["plan"][..], &["diff"], &["preview", "--diff"], &["status"]];
    for (at, (what, make)) in WAYS.into_iter().enumerate() {
        let place = place();
        make(&place);
        let (repo, outside) = (place.repo().display().to_string(), secret(&place).display().to_string());
        let before = place.tree();
        // By default, the commands that only read take turns.
        let reads = if runs_all() { &reads[..] } else { &reads[at % reads.len()..][..1] };
        for command in reads.iter().chain([&&["deploy", "--apply", "--yes"][..]]) {
            let envelope = place.envelope(&[*command, &["--repo", &repo]].concat());
            let error = &envelope["errors"][0];
            assert_eq!(envelope["ok"], false, "{what}: {envelope:#}");
            assert!(!envelope.to_string().contains(CANARY), "{what}: {envelope:#}");
            let said = error.to_string();
            assert!(said.contains("--allow-outside"), "{what}: {error:#}");
            let code = word(&error["code"]);
            assert!(["E_CONFIG_INVALID", "E_LOCKFILE_INVALID"].contains(&code), "{what}: {error:#}");
        }
        assert_eq!(place.tree(), before, "{what}");
        assert!(!holds_canary(&place), "{what}");

        let planned = place.envelope(&["plan", "--repo", &repo, "--allow-outside", &outside]);
        assert_eq!(planned["ok"], true, "{what}: {planned:#}");
        place.data(&["deploy", "--apply", "--yes", "--repo", &repo, "--allow-outside", &outside]);
    }
}

/// Whether the database contains text of the files outside the repo.
fn holds_canary(place: &Place) -> bool {
    let files = std::fs::read_dir(place.scratch.path()).expect("a folder").map(|entry| entry.expect("an entry").path());
    let of_database = files.filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().contains(".db")));
    of_database.into_iter().any(|path| {
        let bytes = std::fs::read(path).expect("a file");
        bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
    })
}

#[test]
fn the_refusal_names_the_link_its_target_and_the_flag_that_allows_it() {
    let place = place();
    link(&place, "repo/modules/skill_s/key", secret(&place).join("key"));
    let repo = place.repo().display().to_string();
    let ran = place.run(&["plan", "--repo", &repo]);
    let said = ran.stderr.replace("<SCRATCH>", "");
    assert!(said.contains("Module `skill:s`: `/repo/modules/skill_s/key` is a link that leads out of"), "{ran}");
    assert!(said.contains("to `/secret/key`"), "{ran}");
    assert!(said.contains("to allow this, pass --allow-outside /secret"), "{ran}");
    let ran = place.run(&["plan", "--repo", &repo, "--allow-outside", "none"]);
    assert_eq!(ran.status, 2, "{ran}");
    assert!(ran.stderr.contains("--allow-outside `none`: not a readable folder"), "{ran}");
}

#[test]
fn gits_own_files_are_never_read() {
    let place = place();
    place.write("repo/.git/SKILL.md", skill(CANARY));
    let repo = place.repo().display().to_string();
    let outside = secret(&place).join("sub");
    place.write("secret/sub/.git/key", CANARY);
    for make in [
        (|place| source(place, "local_path: {path: .git}")) as fn(&Place),
        |place| link(place, "repo/modules/skill_s/key", "../../.git/SKILL.md"),
        |place| link(place, "repo/modules/skill_s/key", secret(place).join("sub/.git/key")),
    ] {
        place.declare(&["codex: project"], &[("skill:s", &skill("ours"))]);
        make(&place);
        let more = ["--repo", &repo, "--allow-outside", &outside.display().to_string()];
        let error = place.refused(&[&["plan"], &more[..]].concat(), "E_CONFIG_INVALID");
        assert!(!error.to_string().contains(CANARY), "{error:#}");
    }
}

#[test]
fn links_that_stay_inside_work_as_before() {
    let place = place();
    let shared = place.scratch.path().join("repo/shared");
    std::fs::create_dir_all(&shared).expect("a folder");
    std::fs::rename(place.scratch.path().join("repo/modules/skill_s"), shared.join("s")).expect("moved");
    link(&place, "repo/modules/skill_s", "../shared/s");
    link(&place, "repo/shared/s/again.md", "SKILL.md");
    link(&place, "elsewhere", place.repo());
    let through = place.scratch.path().join("elsewhere").display().to_string();
    let planned = place.planned(&["--repo", &through]);
    assert_eq!(planned, ["create root/.agents/skills/s/SKILL.md", "create root/.agents/skills/s/again.md"]);
}

#[test]
fn an_agent_cannot_allow_it_but_the_user_who_starts_the_server_can() {
    let place = place();
    link(&place, "repo/modules/skill_s", secret(&place));
    let outside = secret(&place).display().to_string();
    let mut client = place.server(&[]);
    tool_refused(&mut client, "plan", place.arguments(json!({})), "E_CONFIG_INVALID");
    let asked = place.arguments(json!({ "allow_outside": [outside] }));
    assert_eq!(tool(&mut client, "plan", asked)["ok"], false);
    client.finish();
    let mut client = place.server(&["--allow-outside", &outside]);
    let data = tool_data(&mut client, "plan", place.arguments(json!({})));
    assert!(data["changes"].to_string().contains("\".agents/skills/s/SKILL.md"), "{data:#}");
    client.finish();
}

#[test]
fn special_and_oversized_files_are_refused_at_once() {
    let repo = |place: &Place| place.repo().display().to_string();
    for (path, code) in [
        ("repo/agentpack.yaml", "E_CONFIG_INVALID"),
        ("repo/agentpack.lock.json", "E_LOCKFILE_INVALID"),
        (&format!("{OVERLAY}/.agentpack/overlay.json"), "E_CONFIG_INVALID"),
    ] {
        let place = place();
        let file = place.write(path, "");
        std::fs::remove_file(&file).expect("a file");
        let made = std::process::Command::new("mkfifo").arg(&file).status().expect("mkfifo starts");
        assert!(made.success());
        let error = place.refused(&["plan", "--repo", &repo(&place)], code);
        assert!(word(&error["message"]).contains("is a named pipe, not a file"), "{error:#}");
        std::fs::remove_file(&file).expect("a FIFO");
        std::fs::create_dir(&file).expect("a folder");
        place.refused(&["plan", "--repo", &repo(&place)], code);
    }
    for (path, code) in [
        ("repo/agentpack.yaml", "E_CONFIG_INVALID"),
        ("repo/agentpack.lock.json", "E_LOCKFILE_INVALID"),
        ("repo/modules/skill_s/large.bin", "E_CONFIG_INVALID"),
    ] {
        let place = place();
        let file = std::fs::OpenOptions::new().create(true).append(true).open(place.scratch.path().join(path));
        file.expect("a file").set_len(8 << 30).expect("a file with a hole");
        let error = place.refused(&["plan", "--repo", &repo(&place)], code);
        assert!(word(&error["message"]).contains("larger than the limit of"), "{error:#}");
    }
}

#[test]
fn a_repo_writes_only_below_the_home_folder_and_the_root() {
    let place = place();
    let elsewhere = place.scratch.path().join("elsewhere");
    let outside = elsewhere.display().to_string();
    let repo = place.repo().display().to_string();
    for (codex_home, refused) in
        [(outside.as_str(), true), ("~/../elsewhere", true), ("codex", true), ("~/code/codex", false)]
    {
        let target = format!("codex: {{scope: user, options: {{codex_home: '{codex_home}'}}}}");
        place.declare(&[&target], &[("skill:s", &skill("ours"))]);
        let planned = place.envelope(&["plan", "--repo", &repo]);
        assert_eq!(planned["ok"], !refused, "{codex_home}: {planned:#}");
        assert!(!refused || planned.to_string().contains("--allow-outside"), "{planned:#}");
    }
    link(&place, "home/linked", &elsewhere);
    place.declare(&["codex: {scope: user, options: {codex_home: ~/linked}}"], &[("skill:s", &skill("ours"))]);
    std::fs::create_dir(&elsewhere).expect("a folder");
    place.refused(&["plan", "--repo", &repo], "E_CONFIG_INVALID");
    let planned = place.planned(&["--repo", &repo, "--allow-outside", &outside]);
    assert_eq!(planned, ["create elsewhere/skills/s/SKILL.md"]);
}
