//! Tests with config repos from strangers: odd manifests, and links, devices and huge files in every place that is
//! read.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use mcpkg_deploy::module::fs_key;

use crate::support::fuzz::{Cases, Outcome, bounded};
use crate::support::{Ground, Random, Tree, is_root};

/// A text in every file of the folder `outside`. It must not get into any output or deployed file.
const CANARY: &str = "canary-51d0c7";

/// The memory in MiB that a command may use, in addition to an idle process.
const MIB: u64 = 256;

const DEADLINE: Duration = Duration::from_secs(20);

const KINDS: [&str; 4] = ["instructions", "skill", "prompt", "command"];

/// Values that a reader of YAML, paths or names may fail on.
const ODD: [&str; 30] = [
    "",
    "~",
    "[]",
    "{}",
    "[[[[[[]]]]]]",
    "1e999",
    "-9223372036854775809",
    "0x41",
    ".nan",
    "!!binary aGk=",
    "!!python/object:os.system x",
    "&x [*x]",
    "*none",
    "'\\0'",
    "\"\\0\"",
    "\"\\ud800\"",
    "\"\\u202e\"",
    "'..'",
    "'../../outside'",
    "OUTSIDE",
    "OUTSIDE/secret",
    "/dev/zero",
    "/proc/self/environ",
    "'a\\b'",
    "-rf",
    "'{{ x }}'",
    "'%s%n'",
    "\"a\\nb: c\"",
    "? {a: b}\n    : c",
    "<<: *all",
];

/// Creates the repo of a stranger.
struct Stranger<'a> {
    random: &'a mut Random,
    repo: PathBuf,
    outside: PathBuf,
    /// Whether the manifest is odd too. If mcpkg refuses the manifest, the rest of the repo is not read.
    writes_odd: bool,
}

impl Stranger<'_> {
    fn one_in(&mut self, count: usize) -> bool {
        self.random.below(count) == 0
    }

    fn pick<'t>(&mut self, choices: &[&'t str]) -> &'t str {
        choices[self.random.below(choices.len())]
    }

    fn odd(&mut self) -> String {
        if self.one_in(12) {
            return "n".repeat(1 + self.random.below(100_000));
        }
        self.pick(&ODD).replace("OUTSIDE", &self.outside.display().to_string())
    }

    /// Returns `usual`, or sometimes an odd value if the manifest may be odd.
    fn or_odd(&mut self, usual: impl Into<String>) -> String {
        if self.writes_odd && self.one_in(14) { self.odd() } else { usual.into() }
    }

    /// Creates the repo: a manifest, the modules that it names, their overlays and a lockfile. Then replaces some of
    /// it.
    fn make(&mut self) {
        let ids: Vec<String> = (0..1 + self.random.below(4)).map(|number| self.id(number)).collect();
        let mut text = format!("version: {}\n", self.or_odd("1"));
        if self.writes_odd && self.one_in(6) {
            text.push_str(&self.bomb());
        }
        let profile = self.or_odd("{include_tags: [base]}");
        text.push_str(&format!("profiles:\n  {}: {profile}\n", self.or_odd("default")));
        text.push_str("targets:\n");
        for target in ["codex", "claude_code", "cursor", "vscode"] {
            if self.one_in(2) {
                let scope = self.pick(&["project", "user", "both"]);
                let scope = if matches!(target, "cursor" | "vscode") { "project" } else { scope };
                let (scope, home) = (self.or_odd(scope), self.or_odd("~/.codex"));
                let layout = self.pick(&["current", "original"]);
                let name = self.or_odd(target);
                text.push_str(&format!(
                    "  {name}: {{scope: {scope}, options: {{layout: {layout}, codex_home: {home}}}}}\n"
                ));
            }
        }
        text.push_str("modules:\n");
        for id in &ids {
            text.push_str(&self.module(id));
        }
        self.write("agentpack.yaml", &text);
        if self.one_in(8) {
            let lock = self.lockfile(&ids);
            self.write("agentpack.lock.json", &lock);
        }
        for _ in 0..self.random.below(3) {
            self.exchange();
        }
    }

    fn id(&mut self, number: usize) -> String {
        format!("{}:m{number}", self.pick(&KINDS))
    }

    /// Returns nested YAML aliases. Each level is ten times as large as the level before.
    fn bomb(&mut self) -> String {
        let mut text = "all: &all\n  l0: &l0 [x, x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..2 + self.random.below(9) {
            let before = format!("*l{}", level - 1);
            text.push_str(&format!("  l{level}: &l{level} [{}]\n", vec![before; 10].join(", ")));
        }
        text
    }

    fn module(&mut self, id: &str) -> String {
        let (kind, name) = id.split_once(':').expect("a kind");
        let folder = format!("modules/{name}");
        self.fill(kind, name, &folder);
        for layer in ["overlays", "overlays/machines/box"] {
            if self.one_in(4) {
                self.overlay(&format!("{layer}/{}", fs_key(id)), kind, name);
            }
        }
        let source = match self.random.below(16) {
            0 if self.writes_odd => format!("git: {{url: {}, subdir: {}}}", self.odd(), self.odd()),
            1 if self.writes_odd => format!("git: {{url: 'file://{}', shallow: false}}", self.outside.display()),
            2 if self.writes_odd => format!("local_path: {{path: {}}}", self.odd()),
            _ => format!("local_path: {{path: {folder}}}"),
        };
        let metadata = self.or_odd("{owner: x}");
        format!(
            "  - id: '{id}'\n    type: {}\n    tags: {}\n    {}: true\n    source: {{{source}}}\n    metadata: {metadata}\n",
            self.or_odd(kind),
            self.or_odd("[base]"),
            self.pick(&["enabled", "enabled", "enabeld"]),
        )
    }

    /// Writes the files of a module of this kind.
    fn fill(&mut self, kind: &str, name: &str, folder: &str) {
        let matter = format!("---\nname: {}\ndescription: {}\n---\nText\n", self.or_odd(name), self.or_odd("d"));
        match kind {
            "instructions" => self.write(&format!("{folder}/AGENTS.md"), "Be brief.\n"),
            "skill" => {
                self.write(&format!("{folder}/SKILL.md"), &matter);
                self.write(&format!("{folder}/run.sh"), "#!/bin/sh\n");
                let deep = vec!["d"; self.random.below(70)].join("/");
                self.write(&format!("{folder}/{deep}/x.md"), "x\n");
            }
            _ => self.write(&format!("{folder}/{name}.md"), &matter),
        }
    }

    fn overlay(&mut self, folder: &str, kind: &str, name: &str) {
        let file = match kind {
            "instructions" => "AGENTS.md".to_owned(),
            "skill" => "SKILL.md".to_owned(),
            _ => format!("{name}.md"),
        };
        let meta = format!("{folder}/.agentpack");
        if kind != "instructions" || self.one_in(2) {
            self.write(&format!("{folder}/{file}"), "---\nname: m\ndescription: o\n---\nOverlaid\n");
        } else {
            self.write(&format!("{meta}/overlay.json"), r#"{"overlay_kind":"patch"}"#);
            let patch = self.patch(&file);
            self.write(&format!("{meta}/patches/{file}.patch"), &patch);
        }
        if self.one_in(3) {
            let baseline =
                self.pick(&[r#"{"version":2}"#, "[", r#"{"upstream_sha256":"","file_manifest":[],"version":9}"#]);
            self.write(&format!("{meta}/baseline.json"), baseline);
        }
    }

    fn patch(&mut self, file: &str) -> String {
        if self.one_in(3) {
            return format!("--- a/{file}\n+++ b/{file}\n@@ -1,1 +1,2 @@\n Be brief.\n+And kind.\n");
        }
        let mut number = || {
            let numbers = ["0", "1", "2", "-1", "99999999", "18446744073709551615", "18446744073709551616", ""];
            self.pick(&numbers)
        };
        let range = format!("@@ -{},{} +{},{} @@\n", number(), number(), number(), number());
        let lines: String = (0..self.random.below(6))
            .map(|_| {
                self.pick(&[
                    " Be brief.\n",
                    "-Be brief.\n",
                    "+Be brief.\n",
                    "\\ No newline at end of file\n",
                    "+\n",
                    "x\n",
                ])
            })
            .collect();
        format!("--- a/{file}\n+++ b/{}\n{range}{lines}", self.or_odd(file))
    }

    fn lockfile(&mut self, ids: &[String]) -> String {
        let digits = "a".repeat(64 * self.random.below(2));
        let path = self.outside.display();
        let modules: Vec<String> = ids
            .iter()
            .map(|id| {
                format!(r#"{{"id":"{id}","resolved_source":{{"local_path":{{"path":"{path}"}}}},"sha256":"{digits}"}}"#)
            })
            .collect();
        let text = format!(r#"{{"version":1,"modules":[{}]}}"#, modules.join(","));
        match self.random.below(4) {
            0 => text[..self.random.below(text.len())].to_owned(),
            1 => "[".repeat(100_000),
            _ => text,
        }
    }

    fn write(&mut self, name: &str, content: &str) {
        let path = self.repo.join(name);
        // Something from an earlier step may be in the way.
        if fs::create_dir_all(path.parent().expect("a folder")).is_ok() {
            let _ = fs::write(path, content);
        }
    }

    /// Replaces a file or folder of the repo, or a file in one of its folders, with a link, a pipe, a device or other
    /// odd content.
    fn exchange(&mut self) {
        let mut all = everything(&self.repo);
        let manifest = self.repo.join("agentpack.yaml");
        all.retain(|path| *path != manifest || self.one_in(4));
        let Some(place) = all.get(self.random.below(all.len())).cloned() else { return };
        let inside = place.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) && self.one_in(2);
        let place = if inside {
            place.join(self.pick(&["AGENTS.md", "SKILL.md", "new.md", ".agentpack", ".git"]))
        } else {
            place
        };
        let _ = fs::remove_dir_all(&place).or_else(|_| fs::remove_file(&place));
        match self.random.below(16) {
            0..=5 => {
                let name = place.file_name().unwrap_or_default().to_owned();
                let target = match self.random.below(8) {
                    0 => self.outside.clone(),
                    1 => self.outside.join("secret"),
                    // A file with the same name and other content, so that the rest of the repo stays valid.
                    2 | 3 => self.outside.join(name),
                    4 => PathBuf::from("/dev/zero"),
                    5 => PathBuf::from("/proc/self/environ"),
                    6 => self.repo.clone(),
                    _ => PathBuf::from(self.pick(&[".", "..", "none", "/", "../../../../../../../etc/passwd"])),
                };
                let _ = symlink(target, place);
            }
            6 => drop(Command::new("mkfifo").arg(place).stderr(Stdio::null()).status()),
            7 => drop(UnixListener::bind(place)),
            8 if is_root() => {
                let device = self.pick(&["5", "8"]);
                drop(Command::new("mknod").arg(place).args(["c", "1", device]).stderr(Stdio::null()).status());
            }
            9 => drop(fs::File::create(place).and_then(|file| file.set_len(1 << (20 + self.random.below(16))))),
            10 => drop(fs::create_dir_all(place.join("x".repeat(255)).join("y".repeat(255)))),
            11 => drop(fs::create_dir_all(place.join(std::ffi::OsStr::from_bytes(b"no\xff utf-8")))),
            12 => {
                let mut deep = place;
                for _ in 0..self.random.below(900) {
                    deep.push("d");
                }
                drop(fs::create_dir_all(deep));
            }
            13 => drop(fs::write(place, self.random.bytes(3000))),
            14 => {
                let text = self.pick(&["[", "{", "- ", "a: ", "&a ", "!!", "\u{feff}", "\t"]).repeat(50_000);
                drop(fs::write(place, text));
            }
            _ => {
                drop(
                    fs::write(&place, "x")
                        .and_then(|()| fs::set_permissions(&place, fs::Permissions::from_mode(0o000))),
                );
            }
        }
    }
}

/// Returns everything below a folder, without following links. After 2,000 entries, it enters no more folders.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_path_buf()];
    while let Some(at) = folders.pop() {
        for entry in fs::read_dir(at).into_iter().flatten().flatten() {
            if entry.file_type().is_ok_and(|kind| kind.is_dir()) && found.len() < 2000 {
                folders.push(entry.path());
            }
            found.push(entry.path());
        }
    }
    found.sort_unstable();
    found
}

/// Returns whether any file below `folder` contains the canary.
fn holds_canary(folder: &Path) -> bool {
    let is_file = |path: &&PathBuf| path.symlink_metadata().is_ok_and(|metadata| metadata.is_file());
    everything(folder).iter().filter(is_file).any(|path| has_canary(&fs::read(path).unwrap_or_default()))
}

fn has_canary(bytes: &[u8]) -> bool {
    bytes.windows(CANARY.len()).any(|window| window == CANARY.as_bytes())
}

#[test]
fn hostile_config_repos_give_an_answer_and_no_content_from_outside() {
    let mut cases = Cases::new("hostile config repos", 16);
    let ground = Ground::new();
    let outside = ground.scratch.path().join("outside");
    for name in ["secret", "AGENTS.md", "SKILL.md", "m0.md", "new.md", "skill/SKILL.md", ".git/config"] {
        let text = format!("---\nname: m\ndescription: d\n---\n{CANARY}\n");
        ground.scratch.file(&format!("outside/{name}"), text);
    }
    ground.scratch.file("outside/overlay.json", format!("{{\"{CANARY}\": 1}}"));
    ground.scratch.file("outside/agentpack.lock.json", CANARY);
    ground.scratch.file("outside/agentpack.yaml", format!("{CANARY}: 1\n"));
    let before = Tree::of(&outside);
    let mut deployed = 0;
    while cases.more() {
        for folder in [ground.repo(), ground.root(), ground.home()] {
            let _ = fs::remove_dir_all(&folder);
            fs::create_dir_all(&folder).expect("a folder");
        }
        let writes_odd = cases.random.below(3) == 0;
        let mut stranger =
            Stranger { random: &mut cases.random, repo: ground.repo(), outside: outside.clone(), writes_odd };
        stranger.make();
        let json = stranger.one_in(2);
        for words in [&["plan"][..], &["diff"], &["deploy", "--apply", "--yes", "--adopt"]] {
            let mut command = ground.command();
            command.env("AGENTPACK_MACHINE_ID", "box").args(json.then_some("--json"));
            command.args(words).arg("--repo").arg(ground.repo());
            let Outcome { status, stdout, stderr, .. } = bounded(&mut command, b"", MIB, DEADLINE);
            assert!(matches!(status, Some(0 | 1)), "{words:?}: {status:?}\n{stdout}\n{stderr}");
            deployed += u32::from(status == Some(0) && words.len() > 1);
            assert!(!has_canary(stdout.as_bytes()) && !has_canary(stderr.as_bytes()), "{words:?}\n{stdout}\n{stderr}");
        }
        for folder in [ground.root(), ground.home()] {
            assert!(!holds_canary(&folder), "the canary is in {}", folder.display());
        }
        Tree::of(&outside).assert_is(&before, "outside");
    }
    assert!(deployed > 0, "every repo was refused: nothing came to be read");
    for entry in fs::read_dir(ground.scratch.path()).expect("a folder").flatten() {
        let name = entry.file_name();
        let is_database = name.to_string_lossy().starts_with("test.db") && entry.path().is_file();
        assert!(!is_database || !has_canary(&fs::read(entry.path()).expect("a file")), "the canary is in {name:?}");
    }
}
