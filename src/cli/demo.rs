//! `mcpkg demo`: shows mcpkg's main steps with the real binary, from an empty folder to a verified backup.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::globals::Globals;
use super::output::Output;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::process::{Environment, Failure, Limits, Program, Running};

/// The user's files at the start of the demo, for one agent.
const KIT: [(&str, &str); 3] = [
    ("CLAUDE.md", "# House rules\n\nUse British spelling. Run `make test` before you commit.\n"),
    (
        ".claude/commands/review.md",
        "---\ndescription: Review a change before it is committed\nargument-hint: [what]\n---\nReview $ARGUMENTS for races first.\n",
    ),
    (SKILL, "---\nname: release\ndescription: Cut a release. Use when asked to publish a version.\n---\n1. Tag.\n"),
];

/// The path at which Claude Code reads the skill, both before and after a deploy.
const SKILL: &str = ".claude/skills/release/SKILL.md";

/// The path at which Codex, Cursor and VS Code read the skill after a deploy.
const SKILL_OF_OTHERS: &str = ".agents/skills/release/SKILL.md";

/// The text that the demo adds to the skill in Claude Code's folder.
const EDIT: &str = "2. Announce it.\n";

/// The time limit for one command of the demo.
const COMMAND: Duration = Duration::from_secs(60);

/// The width of the command column in the list of steps.
const COLUMNS: usize = 36;

pub(super) fn command() -> Command {
    let about = "Show what mcpkg does, in a scratch folder: import, serve, deploy, accept an edit, roll back, back up";
    let notes = "The demo does not touch your own database or files. The demo prints the path of its scratch folder, \
        and keeps the folder so that you can inspect its files. With -v, the demo also shows what each command prints.";
    super::help::finished(Command::new("demo"), about, &["demo"], notes, &["mcpkg demo", "mcpkg demo -v"])
}

pub(super) fn run(_matches: &ArgMatches, globals: &Globals, output: &Output) -> Result<u8> {
    let folder = tempfile::Builder::new()
        .prefix("mcpkg-demo-")
        .tempdir()
        .map_err(|error| Error::new(Code::FileFailed, format!("Cannot create a scratch folder: {error}")))?
        .keep();
    let demo = Demo { output, verbose: globals.verbose > 0, code: folder.join("code"), folder };
    demo.say(&format!("The demo works in {}. Your own files are not touched.\n\n", demo.folder.display()))?;
    demo.import()?;
    demo.serve()?;
    demo.deploy()?;
    demo.evolve()?;
    demo.roll_back()?;
    demo.back_up()?;
    demo.say(
        "\nNow with your own files:\n  mcpkg up         set up a folder for your agents, after one question\n  \
         mcpkg up --undo  take all of it back\n",
    )?;
    Ok(0)
}

struct Demo<'a> {
    output: &'a Output,
    /// Whether to show the output of each command.
    verbose: bool,
    /// The scratch folder, which is also the demo's home folder.
    folder: PathBuf,
    /// The folder that the demo deploys to.
    code: PathBuf,
}

impl Demo<'_> {
    fn say(&self, text: &str) -> Result<()> {
        self.output.print(text)
    }

    fn step(&self, command: &str, says: &str) -> Result<()> {
        self.say(&format!("{command:<COLUMNS$} {says}\n"))
    }

    /// Returns a program that runs this binary with the demo's database and without the user's settings.
    fn mcpkg(&self) -> Result<Program> {
        let binary = std::env::current_exe()
            .map_err(|error| Error::internal("cannot determine the path of this program").with_source(error))?;
        let mut program = Program::new(binary).environment(Environment::Inherited).folder(&self.code);
        for name in ["HOME", "XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"] {
            program = program.variable(name, &self.folder);
        }
        Ok(program.variable("MCPKG_DB", self.folder.join("mcpkg.db")))
    }

    fn shell(&self, words: &[&str]) -> Result<String> {
        let never = CancellationToken::new();
        let answer = self.mcpkg()?.args(words).run(&[], &Limits::new(COMMAND, &never)).map_err(lost)?;
        let shown = format!("mcpkg {}", words.join(" "));
        if answer.status.success() {
            return Ok(answer.stdout.text());
        }
        self.say(&format!("$ {shown}\n{}\n", answer.stderr.text().trim_end()))?;
        Err(Error::internal(format!("`{shown}` failed")))
    }

    fn run(&self, words: &[&str], says: &str) -> Result<()> {
        let printed = self.shell(words)?;
        self.step(&format!("mcpkg {}", words.join(" ")), says)?;
        self.detail(&printed)
    }

    /// Shows the output of a step if the user passed `--verbose`.
    fn detail(&self, printed: &str) -> Result<()> {
        match self.verbose {
            true => printed.lines().try_for_each(|line| self.say(&format!("    {line}\n"))),
            false => Ok(()),
        }
    }

    fn write(&self, path: &Path, text: &str) -> Result<()> {
        let folder = path.parent().unwrap_or(path);
        let written = std::fs::create_dir_all(folder).and_then(|()| std::fs::write(path, text));
        written.map_err(|error| Error::file("write", path, error))
    }

    fn read(&self, path: &str) -> Result<String> {
        let path = self.code.join(path);
        file::read_text(&path, file::TEXT).map_err(|error| Error::file("read", &path, error))
    }

    fn import(&self) -> Result<()> {
        std::fs::create_dir_all(&self.code).map_err(|error| Error::file("make", &self.code, error))?;
        for (path, text) in KIT {
            self.write(&self.folder.join("kit").join(path), text)?;
        }
        self.run(&["project", "create", "shop"], "a project holds content for your agents")?;
        self.run(&["import", "../kit"], "import CLAUDE.md, a command and a skill")?;
        self.run(&["project", "select", "shop", "--here"], "commands in this folder use this project")
    }

    /// Shows how an agent lists and reads prompts and resources over MCP.
    fn serve(&self) -> Result<()> {
        let mut client = Client::start(self.mcpkg()?.args(["serve"]))?;
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "mcpkg-demo", "version": env!("CARGO_PKG_VERSION") },
        });
        let hello = client.request("initialize", hello)?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        let prompts = client.request("prompts/list", json!({}))?;
        let review = json!({ "name": "review", "arguments": { "arguments": "the last commit" } });
        let review = client.request("prompts/get", review)?;
        let resources = client.request("resources/list", json!({}))?;
        let skill = client.request("resources/read", json!({ "uri": "skill://release/SKILL.md" }))?;
        client.finish()?;
        let listed = names(&prompts["prompts"]).len() + names(&resources["resources"]).len();
        self.step("mcpkg serve", &format!("an agent lists and reads {listed} items"))?;
        self.detail(&format!(
            "{} speaks {}\nprompts: {}\nprompts/get review: {}\nresources: {}\nresources/read: {}\n",
            hello["serverInfo"]["name"],
            hello["protocolVersion"],
            names(&prompts["prompts"]).join(", "),
            last_line(&review["messages"][0]["content"]["text"]),
            names(&resources["resources"]).join(", "),
            last_line(&skill["contents"][0]["text"]),
        ))
    }

    fn deploy(&self) -> Result<()> {
        self.run(&["plan"], "what each of four agents would get")?;
        self.run(&["deploy", "--apply", "--yes"], "the files are written, all or none")?;
        self.read("AGENTS.md").map(drop)
    }

    /// Shows how an edit in the folder of one agent reaches the other agents.
    fn evolve(&self) -> Result<()> {
        let edited = self.read(SKILL)? + EDIT;
        self.write(&self.code.join(SKILL), &edited)?;
        self.step("(you edit a skill of Claude Code)", &format!("{SKILL} is yours"))?;
        self.run(&["evolve", "propose"], "mcpkg sees the change")?;
        self.run(&["evolve", "accept", "1"], "the project accepts the change")?;
        self.run(&["deploy", "--apply", "--yes"], "the change reaches the other agents")?;
        match self.read(SKILL_OF_OTHERS)?.ends_with(EDIT) {
            true => Ok(()),
            false => Err(Error::internal("the edit did not reach the other agents")),
        }
    }

    fn roll_back(&self) -> Result<()> {
        let printed = self.shell(&["rollback", "--to", "pristine", "--yes"])?;
        let left = std::fs::read_dir(&self.code).map_err(|error| Error::file("read", &self.code, error))?.count();
        if left > 0 {
            return Err(Error::internal("the rollback left files behind"));
        }
        self.step("mcpkg rollback --to pristine --yes", "the folder is empty again")?;
        self.detail(&printed)
    }

    fn back_up(&self) -> Result<()> {
        self.run(&["backup", "../backup.db"], "everything in one file, verified")?;
        self.run(&["--db", "../backup.db", "check", "--deep"], "its contents match their SHA-256")
    }
}

/// Returns the last line of a text. In the demo, that is the line into which a template fills its values.
fn last_line(value: &Value) -> &str {
    value.as_str().unwrap_or_default().trim_end().lines().last().unwrap_or_default()
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str()).collect()
}

/// An MCP client that talks to a child process, one line per message.
struct Client {
    server: Running,
    input: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
    next: u64,
}

impl Client {
    fn start(program: Program) -> Result<Self> {
        let mut server = program.start().map_err(lost)?;
        let (input, answers) = (server.stdin(), server.stdout());
        let answers = answers.ok_or_else(|| Error::internal("the server has no standard output"))?;
        Ok(Self { server, input, answers: BufReader::new(answers), next: 1 })
    }

    fn send(&mut self, message: &Value) -> Result<()> {
        let line = format!("{message}\n");
        self.input
            .as_mut()
            .ok_or_else(|| Error::internal("the server has no standard input"))?
            .write_all(line.as_bytes())
            .map_err(|error| Error::internal("the server did not accept a request").with_source(error))
    }

    /// Sends a request, and returns its result.
    fn request(&mut self, method: &str, params: Value) -> Result<Value> {
        let id = self.next;
        self.next += 1;
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            match self.answers.read_line(&mut line) {
                Ok(0) => return Err(Error::internal(format!("the server exited before it responded to {method}"))),
                Ok(_) => {}
                Err(error) => return Err(Error::internal("the server's response could not be read").with_source(error)),
            }
            let mut answer: Value = serde_json::from_str(&line)
                .map_err(|error| Error::internal("the server's response is not JSON").with_source(error))?;
            // A notification may arrive before the answer.
            if answer["id"] == id {
                return match answer.get_mut("result") {
                    Some(result) => Ok(result.take()),
                    None => Err(Error::internal(format!("the server responded to {method} with {answer}"))),
                };
            }
        }
    }

    fn finish(mut self) -> Result<()> {
        drop(self.input.take());
        match self.server.wait(Instant::now() + COMMAND, &CancellationToken::new()).map_err(lost)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(Error::internal(format!("the server exited with {status}"))),
            None => Err(Error::internal("the server did not exit when its input closed")),
        }
    }
}

/// Returns the error for a failed run of this binary.
fn lost(failure: Failure) -> Error {
    let error = Error::internal("this program could not be run again");
    match failure {
        Failure::NotStarted(cause) | Failure::Lost(cause) => error.with_source(cause),
        Failure::TimedOut | Failure::Cancelled => error,
    }
}
