//! Measures an update of a source. The reference is git's own fetch and diff of the same commits.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use crate::Effort;
use crate::data::Data;
use crate::peer::mcpkg;
use crate::process::in_turn;
use crate::table::{Bar, Row, Table, Value};

const UPDATE: &str = "source update, 1 of 1,000 skills changed, as a process, against git fetch and git diff";

const SKILLS: usize = 1_000;

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if !table.wants(UPDATE) {
        return;
    }
    let Some(mut upstream) = Upstream::make(&data.path("sources")) else {
        return eprintln!("skipped: {UPDATE}: there is no git");
    };
    let database = data.empty("sources.db");
    let run = |arguments: &[&str]| {
        let mut command = mcpkg(&database);
        // Keep the mirror and the approvals in the scratch folder.
        command.env("XDG_CACHE_HOME", data.path("cache")).env("XDG_STATE_HOME", data.path("state")).args(arguments);
        timed(&mut command)
    };
    let url = format!("file://{}", upstream.bare.display());
    run(&["source", "add", &url, "--yes", "-q"]);
    let clone = data.path("clone.git");
    git(&data.path("sources"), &["clone", "-q", "--mirror", &url, &clone.display().to_string()]);
    let [ours, reference] = in_turn(effort.samples(30) * effort.rounds, || {
        let (old, new) = upstream.change();
        let reference = git(&clone, &["fetch", "-q"]) + git(&clone, &["diff", "--no-ext-diff", &old, &new]);
        [run(&["source", "update", "kit", "-q"]), reference]
    });
    table.push(Row {
        what: UPDATE.to_owned(),
        ours: Value::Time(ours),
        off: None,
        reference: Some(Value::Time(reference)),
        bar: Bar::Times(2.0),
    });
}

/// A repository of skills that the benchmark changes.
struct Upstream {
    tree: PathBuf,
    bare: PathBuf,
    changes: usize,
}

impl Upstream {
    fn make(folder: &Path) -> Option<Self> {
        Command::new("git").arg("--version").output().ok()?;
        let (tree, bare) = (folder.join("tree"), folder.join("kit.git"));
        for n in 0..SKILLS {
            let skill = tree.join(format!("skills/skill-{n:04}"));
            std::fs::create_dir_all(&skill).expect("a folder");
            let text = format!(
                "---\nname: skill-{n:04}\ndescription: What skill {n} is for\n---\n{}",
                "A line.\n".repeat(100)
            );
            std::fs::write(skill.join("SKILL.md"), text).expect("a file");
        }
        git(folder, &["init", "-q", "--bare", "-b", "main", "kit.git"]);
        git(&tree, &["init", "-q", "-b", "main"]);
        git(&tree, &["remote", "add", "origin", &bare.display().to_string()]);
        let upstream = Self { tree, bare, changes: 0 };
        upstream.publish();
        Some(upstream)
    }

    /// Changes one skill, and returns the commits before and after.
    fn change(&mut self) -> (String, String) {
        let old = self.head();
        self.changes += 1;
        let main = self.tree.join(format!("skills/skill-{:04}/SKILL.md", self.changes % SKILLS));
        let text = std::fs::read_to_string(&main).expect("a skill");
        std::fs::write(&main, format!("{text}Change {}.\n", self.changes)).expect("a file");
        self.publish();
        (old, self.head())
    }

    fn publish(&self) {
        git(&self.tree, &["add", "-A"]);
        git(&self.tree, &["commit", "-q", "-m", "change"]);
        git(&self.tree, &["push", "-q", "origin", "main"]);
    }

    fn head(&self) -> String {
        let output = Command::new("git").args(["rev-parse", "HEAD"]).current_dir(&self.tree).output();
        String::from_utf8(output.expect("git runs").stdout).expect("a commit").trim().to_owned()
    }
}

/// Runs git, and returns how long it took.
fn git(folder: &Path, arguments: &[&str]) -> Duration {
    let mut command = Command::new("git");
    command.args(["-c", "user.name=Bench", "-c", "user.email=bench@example.com", "-c", "commit.gpgsign=false"]);
    command.args(["-c", "gc.auto=0", "-c", "maintenance.auto=false"]).args(arguments).current_dir(folder);
    let start = Instant::now();
    let output = command.output().expect("git runs");
    let time = start.elapsed();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "git {}: {said}", arguments.join(" "));
    time
}

fn timed(command: &mut Command) -> Duration {
    let start = Instant::now();
    let output = command.output().expect("mcpkg runs");
    let time = start.elapsed();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    time
}
