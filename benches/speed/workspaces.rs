//! Measures workspaces of many repositories: the time that mcpkg adds to its git commands, and the cost of watching a
//! quiet workspace.

use std::num::NonZero;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::Effort;
use crate::data::Data;
use crate::peer::{Peer, cpu_with_children, line, mcpkg, reference};
use crate::process::{first_answer, in_turn, timed};
use crate::table::{Bar, Row, Table, Value, median};

const STATUS: &str = "`mcpkg workspace status` of 20 repositories, as a process";
const READ: &str = "resources/read of the status of 20 repositories";
const FINISH: &str = "`mcpkg flow feature finish` over three repositories, as a process";
const FIFTY: &str = "finish over 50 repositories, against 5";
const TOLD: &str = "`git switch` to its notification: median, against the time of quiet before one";
const WATCH: &str = "processor time of a server that watches 50 quiet repositories, against the time";
const START: &str = "start to first answer in a workspace of 50 repositories";

/// The time without changes that mcpkg waits for before it notifies subscribers.
const QUIET: Duration = Duration::from_millis(200);

/// The time for which the benchmark observes a quiet server.
const WATCHED: Duration = Duration::from_secs(30);

/// The URI of the workspace's status.
const URI: &str = "smctl://workspace/status";

/// The arguments of the git command that reads the status of a repository.
const LOOK: [&str; 6] = ["status", "--porcelain=v2", "--branch", "-z", "--ahead-behind", "--find-renames"];

/// Runs this file's measurements, and adds a row to the table for each.
pub fn measure(data: &Data, effort: &Effort, table: &mut Table) {
    if table.wants(STATUS) || table.wants(READ) {
        status(&Shop::make(data, "twenty", 20), effort, table);
    }
    if table.wants(FINISH) {
        let (ours, theirs) = (Shop::make(data, "three", 3), Shop::make(data, "by-hand", 3));
        let mut n = 0;
        let [ours, reference] = in_turn(effort.samples(30) * effort.rounds, || {
            n += 1;
            let name = format!("change-{n}");
            [ours.finish(&name), theirs.finish_by_hand(&name)]
        });
        push(table, FINISH, [ours, reference], 2.0);
    }
    if table.wants(FIFTY) {
        let (fifty, five) = (Shop::make(data, "fifty", 50), Shop::make(data, "five", 5));
        let mut n = 0;
        let times = in_turn(effort.samples(30), || {
            n += 1;
            let name = format!("change-{n}");
            [fifty.finish(&name), five.finish(&name)]
        });
        push(table, FIFTY, times, 12.0);
    }
    if table.wants(TOLD) {
        push(table, TOLD, [told(&Shop::make(data, "told", 3), effort.samples(100)), QUIET], 2.0);
    }
    if table.wants(WATCH) || table.wants(START) {
        let shop = Shop::make(data, "watched", 50);
        if table.wants(START) {
            let outside = data.path("outside");
            std::fs::create_dir(&outside).expect("a folder");
            let times = in_turn(effort.samples(50) * effort.rounds, || {
                [first_answer(shop.command(&["serve"])), first_answer(shop.command_in(&outside, &["serve"]))]
            });
            push(table, START, times, 1.1);
        }
        if table.wants(WATCH) {
            let server = shop.subscribed();
            std::thread::sleep(Duration::from_secs(5));
            let (before, start) = (cpu_with_children(server.id()), Instant::now());
            std::thread::sleep(WATCHED);
            push(table, WATCH, [cpu_with_children(server.id()) - before, start.elapsed()], 0.03);
        }
    }
}

/// Runs `git status` in this many repositories below a folder, on as many threads as mcpkg uses.
pub fn look(root: &Path, repos: &str) {
    let repos: usize = repos.parse().expect("a number");
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, NonZero::get) {
            scope.spawn(|| {
                loop {
                    let n = next.fetch_add(1, Ordering::Relaxed);
                    if n >= repos {
                        break;
                    }
                    let output = Command::new("git").current_dir(root.join(format!("repo-{n}"))).args(LOOK).output();
                    assert!(output.expect("git starts").status.success());
                }
            });
        }
    });
}

fn status(shop: &Shop, effort: &Effort, table: &mut Table) {
    let root = shop.root.to_str().expect("a path in UTF-8");
    if table.wants(STATUS) {
        let times = in_turn(effort.samples(30) * effort.rounds, || {
            [timed(&mut shop.command(&["workspace", "status"])), timed(&mut reference(&["--look", root, "20"]))]
        });
        push(table, STATUS, times, 1.3);
    }
    if table.wants(READ) {
        let mut server = Peer::shake_hands(shop.command(&["serve", "--as", "smctl"]));
        let read = line(&format!(r#"{{"jsonrpc":"2.0","id":1,"method":"resources/read","params":{{"uri":"{URI}"}}}}"#));
        let times = in_turn(effort.samples(30) * effort.rounds, || {
            let start = Instant::now();
            let answer = server.ask(&read);
            let ours = start.elapsed();
            assert!(answer.windows(7).any(|part| part == b"repo-19"), "{}", String::from_utf8_lossy(answer));
            let start = Instant::now();
            look(&shop.root, "20");
            [ours, start.elapsed()]
        });
        push(table, READ, times, 1.2);
    }
}

/// Returns the median time from a `git switch` in a terminal until a subscriber is notified.
fn told(shop: &Shop, samples: usize) -> Duration {
    let mut server = shop.subscribed();
    let mut times: Vec<Duration> = (0..samples)
        .map(|n| {
            std::thread::sleep(QUIET * 2);
            let start = Instant::now();
            git(&shop.repo(0), &["switch", "-q", if n % 2 == 0 { "develop" } else { "main" }]);
            server.wait_for("notifications/resources/updated");
            start.elapsed()
        })
        .collect();
    median(&mut times)
}

fn push(table: &mut Table, what: &str, [ours, reference]: [Duration; 2], bar: f64) {
    let reference = Some(Value::Time(reference));
    table.push(Row { what: what.to_owned(), ours: Value::Time(ours), off: None, reference, bar: Bar::Times(bar) });
}

/// A workspace whose repositories have a hundred files and a history each.
struct Shop {
    root: PathBuf,
    database: PathBuf,
    state: PathBuf,
    repos: usize,
}

impl Shop {
    fn make(data: &Data, name: &str, repos: usize) -> Self {
        let root = data.path(&format!("shop-{name}"));
        let seed = data.path(&format!("seed-{name}"));
        std::fs::create_dir_all(root.join(".smctl")).expect("a folder");
        std::fs::create_dir(&seed).expect("a folder");
        git(&seed, &["init", "-q", "-b", "main"]);
        for (key, value) in [("user.name", "Ada"), ("user.email", "ada@example.org")] {
            git(&seed, &["config", key, value]);
        }
        for n in 0..100 {
            std::fs::create_dir_all(seed.join(format!("src/{}", n % 10))).expect("a folder");
            std::fs::write(seed.join(format!("src/{}/{n}.txt", n % 10)), format!("file {n}\n").repeat(20))
                .expect("a file");
            git(&seed, &["add", "-A"]);
            if n % 10 == 0 {
                git(&seed, &["commit", "-q", "-m", &format!("commit {n}")]);
            }
        }
        git(&seed, &["commit", "-q", "-m", "the rest"]);
        git(&seed, &["branch", "develop"]);
        let mut manifest = format!("[workspace]\nname = \"{name}\"\n");
        for n in 0..repos {
            let place = root.join(format!("repo-{n}"));
            let copied = Command::new("cp").arg("-a").arg(&seed).arg(&place).status().expect("cp starts");
            assert!(copied.success());
            // git's index recognizes unchanged files by their times and inodes, which differ in the copy, so refresh
            // it.
            git(&place, &["update-index", "-q", "--refresh"]);
            manifest
                .push_str(&format!("\n[[repos]]\nname = \"repo-{n}\"\nurl = \"https://example.org/repo-{n}.git\"\n"));
        }
        std::fs::write(root.join(".smctl/workspace.toml"), manifest).expect("a manifest");
        let (database, state) = (data.empty(&format!("shop-{name}.db")), data.path(&format!("shop-state-{name}")));
        Self { root, database, state, repos }
    }

    fn repo(&self, n: usize) -> PathBuf {
        self.root.join(format!("repo-{n}"))
    }

    fn command(&self, arguments: &[&str]) -> Command {
        self.command_in(&self.root, arguments)
    }

    fn command_in(&self, folder: &Path, arguments: &[&str]) -> Command {
        let mut command = mcpkg(&self.database);
        command.current_dir(folder).env("XDG_STATE_HOME", &self.state).args(arguments);
        for name in ["MCPKG_WORKSPACE", "SMCTL_WORKSPACE"] {
            command.env_remove(name);
        }
        command
    }

    /// Starts a server, and subscribes to the status as its client.
    fn subscribed(&self) -> Peer {
        let mut server = Peer::shake_hands(self.command(&["serve", "--as", "smctl"]));
        server.ask(&line(&format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"resources/subscribe","params":{{"uri":"{URI}"}}}}"#
        )));
        server
    }

    /// Starts a feature with one commit in each repository.
    fn start(&self, name: &str) {
        for n in 0..self.repos {
            let repo = self.repo(n);
            git(&repo, &["switch", "-q", "-c", &format!("feature/{name}"), "develop"]);
            std::fs::write(repo.join(format!("{name}.txt")), name).expect("a file");
            git(&repo, &["add", "-A"]);
            git(&repo, &["commit", "-q", "-m", name]);
        }
    }

    /// Starts and finishes a feature. Returns the time of the finish only.
    fn finish(&self, name: &str) -> Duration {
        self.start(name);
        timed(&mut self.command(&["-q", "flow", "feature", "finish", name]))
    }

    /// Finishes a feature with plain git commands, as people do by hand.
    fn finish_by_hand(&self, name: &str) -> Duration {
        self.start(name);
        let (branch, start) = (format!("feature/{name}"), Instant::now());
        for n in 0..self.repos {
            let repo = self.repo(n);
            git(&repo, &["checkout", "-q", "develop"]);
            git(&repo, &["merge", "-q", "--no-ff", "--no-edit", &branch]);
            git(&repo, &["branch", "-q", "-d", &branch]);
        }
        start.elapsed()
    }
}

fn git(folder: &Path, arguments: &[&str]) {
    timed(Command::new("git").current_dir(folder).args(arguments));
}
