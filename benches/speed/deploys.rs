//! Measures deploys: plans, status, apply, and the size of a snapshot.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::data::Data;
use crate::peer::{mcpkg, reference};
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value};
use crate::{Effort, references};

const TARGETS: &str = "plan of 1000 modules, four targets against one";
const PLAN: &str = "plan of 200 modules as a process";
const STATUS: &str = "status of 2000 deployed files, warm";
const APPLY: &str = "apply of 1000 small files";
const APPLY_MANY: &str = "apply of 7000 small files";
const GROWTH: &str = "database growth for one of 400 files, mean of ten deploys";

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    let samples = effort.samples(5) * effort.rounds;
    if table.wants(TARGETS) {
        targets(data, samples, table);
    }
    if table.wants(PLAN) {
        plan(data, samples, table);
    }
    if table.wants(STATUS) {
        status(data, samples, table);
    }
    if table.wants(APPLY) {
        apply(data, (APPLY, 334, 1.5), effort.samples(2) * effort.rounds, table);
    }
    if table.wants(APPLY_MANY) {
        apply(data, (APPLY_MANY, 2334, 1.3), effort.samples(2) * effort.rounds, table);
    }
    if table.wants(GROWTH) {
        growth(data, table);
    }
}

/// A database, a home folder and a deploy root.
struct Ground {
    folder: PathBuf,
}

impl Ground {
    fn make(data: &Data, name: &str) -> Self {
        let folder = data.path(name);
        for part in ["home", "root", "repo"] {
            fs::create_dir_all(folder.join(part)).expect("a scratch folder");
        }
        Self { folder }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = mcpkg(&self.path("deploys.db"));
        command.current_dir(self.path("root")).env("HOME", self.path("home")).env("AGENTPACK_MACHINE_ID", "bench");
        for name in ["CODEX_HOME", "AGENTPACK_HOME"] {
            command.env_remove(name);
        }
        command.args(arguments);
        command
    }

    fn run(&self, arguments: &[&str]) -> String {
        ran(self.command(arguments)).1
    }

    /// Makes a project with `count` prompts of about 1 KiB.
    fn project(&self, count: usize) {
        let folder = self.path("commands/.claude/commands");
        fs::create_dir_all(&folder).expect("a scratch folder");
        for n in 0..count {
            fs::write(folder.join(format!("c{n:04}.md")), text(n, 1024)).expect("a command");
        }
        self.run(&["project", "create", "bench"]);
        self.run(&["import", self.path("commands").to_str().expect("a plain path")]);
    }

    /// Writes a config repo with `count` modules of about 4 KiB for `targets`. The modules get the `types` in turn.
    fn repo(&self, name: &str, count: usize, types: &[&str], targets: &[(&str, &str)]) -> String {
        let repo = self.path(name);
        let mut manifest = String::from("version: 1\nprofiles:\n  default:\n    include_tags: [base]\ntargets:\n");
        for (target, scope) in targets {
            manifest.push_str(&format!("  {target}:\n    mode: files\n    scope: {scope}\n"));
        }
        manifest.push_str("modules:\n");
        for n in 0..count {
            let kind = types[n % types.len()];
            let folder = format!("modules/{kind}-{n:04}");
            let file = match kind {
                "instructions" => "AGENTS.md".to_owned(),
                "skill" => "SKILL.md".to_owned(),
                _ => format!("{kind}-{n:04}.md"),
            };
            let front = match kind {
                "skill" | "command" => format!("---\nname: m{n:04}\ndescription: Module {n}\n---\n"),
                _ => String::new(),
            };
            fs::create_dir_all(repo.join(&folder)).expect("a module's folder");
            fs::write(repo.join(&folder).join(file), front + &text(n, 4096)).expect("a module's file");
            manifest.push_str(&format!(
                "  - id: \"{kind}:m{n:04}\"\n    type: {kind}\n    tags: [base]\n    source:\n      local_path:\n        path: {folder}\n"
            ));
        }
        fs::write(repo.join("agentpack.yaml"), manifest).expect("the manifest");
        repo.to_str().expect("a plain path").to_owned()
    }
}

/// Returns a text that differs for each `n`.
fn text(n: usize, bytes: usize) -> String {
    let line = format!("Line of module {n}: look at the change, and say what is wrong with it.\n");
    line.repeat(bytes / line.len() + 1)
}

fn ran(mut command: Command) -> (Duration, String) {
    let start = Instant::now();
    let output = command.output().expect("the command starts");
    let time = start.elapsed();
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    (time, String::from_utf8_lossy(&output.stdout).into_owned())
}

fn sha256sum(files: &[PathBuf]) -> Duration {
    let mut command = Command::new("sha256sum");
    command.args(files).stdout(Stdio::null());
    ran(command).0
}

fn files_below(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() { files_below(&entry, found) } else { found.push(entry) }
    }
}

fn targets(data: &Data, samples: usize, table: &mut Table) {
    let ground = Ground::make(data, "targets");
    let types = ["instructions", "skill", "prompt", "command"];
    let all = [("codex", "both"), ("claude_code", "both"), ("cursor", "project"), ("vscode", "project")];
    let four = ground.repo("four", 1000, &types, &all);
    let one = ground.repo("one", 1000, &types, &all[..1]);
    let time = |repo: &str| {
        let (time, plan) = ran(ground.command(&["plan", "--repo", repo]));
        assert!(plan.lines().count() > 500, "the plan has {} lines", plan.lines().count());
        time
    };
    let [ours, reference] = in_turn(samples, || [time(&four), time(&one)]);
    push(table, TARGETS, ours, reference, 1.5);
}

fn plan(data: &Data, samples: usize, table: &mut Table) {
    let ground = Ground::make(data, "plan");
    let repo = ground.repo("repo", 200, &["command", "skill"], &[("codex", "project"), ("claude_code", "project")]);
    let mut files = Vec::new();
    files_below(&Path::new(&repo).join("modules"), &mut files);
    ground.run(&["deploy", "--repo", &repo, "--apply", "--yes"]);
    let time = || ran(ground.command(&["plan", "--repo", &repo])).0;
    let [ours, reference] = in_turn(samples, || [time(), sha256sum(&files)]);
    push(table, PLAN, ours, reference, 4.0);
}

fn status(data: &Data, samples: usize, table: &mut Table) {
    let ground = Ground::make(data, "status");
    // Each prompt becomes a command for two agents and a skill for the others.
    ground.project(667);
    ground.run(&["deploy", "--apply", "--yes"]);
    let mut files = Vec::new();
    files_below(&ground.path("root"), &mut files);
    assert_eq!(files.len(), 2001);
    let time = || ran(ground.command(&["status"])).0;
    let [ours, reference] = in_turn(samples, || [time(), sha256sum(&files)]);
    push(table, STATUS, ours, reference, 2.0);
}

/// Measures a deploy in which each prompt becomes a command for two agents and a skill for the others.
fn apply(data: &Data, (what, prompts, bar): (&str, usize, f64), samples: usize, table: &mut Table) {
    let ground = Ground::make(data, &format!("apply-{prompts}"));
    ground.project(prompts);
    ground.run(&["deploy", "--apply", "--yes"]);
    let from = ground.path("root");
    let mut round = 0;
    let [ours, theirs] = in_turn(samples, || {
        round += 1;
        let root = ground.path(&format!("root-{round}"));
        let by_hand = ground.path(&format!("hand-{round}"));
        let journal = ground.path(&format!("hand-{round}.db"));
        references::make_journal(&journal);
        fs::create_dir_all(&root).expect("a root");
        fs::create_dir_all(&by_hand).expect("a root");
        let mut command = ground.command(&["deploy", "--apply", "--yes", "--root"]);
        command.arg(&root);
        let ours = ran(command).0;
        let [from, to, journal] = [&from, &by_hand, &journal].map(|path| path.to_str().expect("a plain path"));
        [ours, ran(reference(&["--write", from, to, journal])).0]
    });
    push(table, what, ours, theirs, bar);
}

/// Measures how much a deploy of one changed file adds to the database file. No command is running while the file is
/// measured, so the WAL is empty.
fn growth(data: &Data, table: &mut Table) {
    const CHANGED: usize = 4096;
    let ground = Ground::make(data, "growth");
    let repo = ground.repo("repo", 400, &["command"], &[("claude_code", "project")]);
    ground.run(&["deploy", "--repo", &repo, "--apply", "--yes"]);
    let size = || fs::metadata(ground.path("deploys.db")).expect("the database").len();
    let before = size();
    for n in 0..10 {
        let file = Path::new(&repo).join(format!("modules/command-{n:04}/command-{n:04}.md"));
        let front = format!("---\nname: m{n:04}\ndescription: Module {n}\n---\n");
        fs::write(file, front + &text(n + 1000, CHANGED)).expect("a module's file");
        ground.run(&["deploy", "--repo", &repo, "--apply", "--yes"]);
    }
    table.push(Row {
        what: GROWTH.to_owned(),
        ours: Value::Memory((size() - before) / 10),
        off: None,
        reference: None,
        bar: Bar::Bytes(3 * CHANGED as u64 + (64 << 10)),
    });
}

fn push(table: &mut Table, what: &str, ours: Duration, reference: Duration, bar: f64) {
    table.push(Row {
        what: what.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: Some(Value::Time(reference)),
        bar: Bar::Times(bar),
    });
}
