//! `mcpkg demo`: the main job, from an empty folder to a verified backup, through the real binary.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout};
use std::time::{Duration, Instant};

use clap::{ArgMatches, Command};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::output::Output;
use crate::error::{Code, Error, Result};
use crate::process::{Environment, Failure, Limits, Program, Running};

const PROMPTS: &[(&str, &str, &str, &[&str])] = &[
    ("code-review", "Review a change before it is committed", include_str!("../../assets/demo/code-review.md"), &[]),
    ("commit-message", "Write the message of a commit", include_str!("../../assets/demo/commit-message.md"), &[]),
    (
        "explain",
        "Explain a part of the code",
        include_str!("../../assets/demo/explain.md"),
        &["topic=What to explain", "audience?=Who reads it"],
    ),
];

const FILES: &[(&str, &str, &[u8])] = &[
    ("README.md", "What mcpkg is and how to start", include_bytes!("../../README.md")),
    ("docs/architecture.md", "How mcpkg is built", include_bytes!("../../docs/architecture.md")),
    ("docs/contributing.md", "How to change mcpkg", include_bytes!("../../docs/contributing.md")),
    ("docs/picture.png", "A picture", include_bytes!("../../assets/demo/picture.png")),
];

/// How long one command of the demo may take.
const COMMAND: Duration = Duration::from_secs(60);

pub(super) fn command() -> Command {
    let about = "Show the main job in a scratch folder: fill a database, serve it, read it over MCP, back it up";
    let notes =
        "Your own database is not touched. The scratch folder is named at the start and left for you to look at.";
    super::help::finished(Command::new("demo"), about, &["demo"], notes, &["mcpkg demo"])
}

pub(super) fn run(_matches: &ArgMatches, output: &Output) -> Result<u8> {
    let folder = tempfile::Builder::new()
        .prefix("mcpkg-demo-")
        .tempdir()
        .map_err(|error| Error::new(Code::FileFailed, format!("Cannot make a scratch folder: {error}")))?
        .keep();
    let demo = Demo { output, database: folder.join("mcpkg.db") };
    demo.say(&format!("The demo's database is {}\n", demo.database.display()))?;
    demo.fill(&folder)?;
    demo.talk()?;
    demo.back_up(&folder)?;
    demo.say(
        "\nNow with your own:\n  mcpkg init                      make your database, and see how to connect a client\n  \
         mcpkg project create NAME       make a project; the first one is selected\n  \
         mcpkg import CLAUDE.md .claude  bring in what you have\n",
    )?;
    Ok(0)
}

struct Demo<'a> {
    output: &'a Output,
    database: std::path::PathBuf,
}

impl Demo<'_> {
    fn say(&self, text: &str) -> Result<()> {
        self.output.print(text)
    }

    /// This very binary on the demo's database, apart from what the user's environment says.
    fn mcpkg(&self) -> Result<Program> {
        let binary = std::env::current_exe()
            .map_err(|error| Error::internal("the path of this program is not known").with_source(error))?;
        let program = Program::new(binary).environment(Environment::Inherited);
        Ok(program.args(["--db".as_ref(), self.database.as_os_str()]))
    }

    /// Runs a command as a user would, and shows it with what it printed.
    fn shell(&self, arguments: &[&str]) -> Result<()> {
        let shown: Vec<String> = arguments
            .iter()
            .map(|word| if word.contains([' ', '=']) { format!("'{word}'") } else { (*word).to_owned() })
            .collect();
        let never = CancellationToken::new();
        let answer = self.mcpkg()?.args(arguments).run(&[], &Limits::new(COMMAND, &never)).map_err(lost)?;
        let text = if answer.status.success() { answer.stdout.text() } else { answer.stderr.text() };
        self.say(&format!("$ mcpkg {}\n  {}\n", shown.join(" "), text.trim_end()))?;
        if answer.status.success() {
            Ok(())
        } else {
            Err(Error::internal(format!("`mcpkg {}` failed", shown.join(" "))))
        }
    }

    fn fill(&self, folder: &Path) -> Result<()> {
        self.shell(&["project", "create", "demo"])?;
        self.shell(&["project", "select", "demo"])?;
        let write = |name: &str, bytes: &[u8]| {
            let path = folder.join("content").join(name);
            path.parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| std::fs::write(&path, bytes))
                .map_err(|error| Error::file("write", &path, error))?;
            Ok::<_, Error>(format!("@{}", path.display()))
        };
        for (name, description, text, arguments) in PROMPTS {
            let content = write(&format!("{name}.md"), text.as_bytes())?;
            let mut words = vec!["prompt", "create", name, &content, "--description", description];
            for argument in *arguments {
                words.extend(["--argument", argument]);
            }
            self.shell(&words)?;
        }
        for (path, description, bytes) in FILES {
            let content = write(path, bytes)?;
            let (name, uri) = (path.replace('/', "."), format!("file:///{path}"));
            self.shell(&["resource", "create", &name, &uri, &content, "--description", description])?;
        }
        Ok(())
    }

    fn talk(&self) -> Result<()> {
        let mut client = Client::start(self.mcpkg()?.args(["serve"]))?;
        self.say("\n$ mcpkg serve, spoken to over its standard input and output\n")?;
        let hello = json!({
            "protocolVersion": "2025-11-25",
            "capabilities": {},
            "clientInfo": { "name": "mcpkg-demo", "version": env!("CARGO_PKG_VERSION") },
        });
        self.exchange(&mut client, "initialize", hello, |result| {
            format!("{} speaks {}", result["serverInfo"]["name"], result["protocolVersion"])
        })?;
        client.send(&json!({ "jsonrpc": "2.0", "method": "notifications/initialized" }))?;
        self.exchange(&mut client, "prompts/list", json!({}), |result| names(&result["prompts"]))?;
        let explain = json!({ "name": "explain", "arguments": { "topic": "the front", "audience": "a beginner" } });
        self.exchange(&mut client, "prompts/get", explain, |result| text(&result["messages"][0]["content"]["text"]))?;
        self.exchange(&mut client, "resources/list", json!({}), |result| names(&result["resources"]))?;
        let readme = json!({ "uri": "file:///README.md" });
        self.exchange(&mut client, "resources/read", readme, |result| text(&result["contents"][0]["text"]))?;
        let picture = json!({ "uri": "file:///docs/picture.png" });
        self.exchange(&mut client, "resources/read", picture, |result| {
            let content = &result["contents"][0];
            let blob = content["blob"].as_str().unwrap_or_default();
            format!("{} in {} characters of base64", content["mimeType"], blob.len())
        })?;
        let create = json!({
            "name": "create_prompt",
            "arguments": { "name": "from-an-agent", "content": "Kept by an agent over MCP", "description": "An agent's own" },
        });
        self.exchange(&mut client, "tools/call", create, |result| text(&result["content"][0]["text"]))?;
        self.exchange(&mut client, "prompts/list", json!({}), |result| names(&result["prompts"]))?;
        client.finish()
    }

    fn exchange(
        &self,
        client: &mut Client,
        method: &str,
        params: Value,
        show: impl FnOnce(&Value) -> String,
    ) -> Result<()> {
        let (answer, time) = client.request(method, params)?;
        let Some(result) = answer.get("result") else {
            return Err(Error::internal(format!("{method} was answered {answer}")));
        };
        self.say(&format!("  {method:<16} {:>7.2} ms   {}\n", time.as_secs_f64() * 1e3, show(result)))
    }

    fn back_up(&self, folder: &Path) -> Result<()> {
        let backup = folder.join("backup.db").display().to_string();
        self.say("\n")?;
        self.shell(&["backup", &backup])?;
        self.shell(&["--db", &backup, "check", "--deep"])
    }
}

/// The first line of a text, and how long the whole is.
fn text(value: &Value) -> String {
    let text = value.as_str().unwrap_or_default();
    let first: String = text.lines().next().unwrap_or_default().chars().take(60).collect();
    if text.lines().count() > 1 { format!("{first} … ({} bytes)", text.len()) } else { first }
}

fn names(list: &Value) -> String {
    let names: Vec<&str> = list.as_array().into_iter().flatten().filter_map(|item| item["name"].as_str()).collect();
    names.join(", ")
}

/// A client of a child process, a line each way.
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
            .map_err(|error| Error::internal("the server took no request").with_source(error))
    }

    fn request(&mut self, method: &str, params: Value) -> Result<(Value, Duration)> {
        let id = self.next;
        self.next += 1;
        let started = Instant::now();
        self.send(&json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params }))?;
        loop {
            let mut line = String::new();
            let read = self.answers.read_line(&mut line);
            let time = started.elapsed();
            match read {
                Ok(0) => return Err(Error::internal(format!("the server ended before it answered {method}"))),
                Ok(_) => {}
                Err(error) => return Err(Error::internal("the server's answer could not be read").with_source(error)),
            }
            let answer: Value = serde_json::from_str(&line)
                .map_err(|error| Error::internal("the server wrote no JSON").with_source(error))?;
            // A notification may come between.
            if answer["id"] == id {
                return Ok((answer, time));
            }
        }
    }

    fn finish(mut self) -> Result<()> {
        drop(self.input.take());
        match self.server.wait(Instant::now() + COMMAND, &CancellationToken::new()).map_err(lost)? {
            Some(status) if status.success() => Ok(()),
            Some(status) => Err(Error::internal(format!("the server ended with {status}"))),
            None => Err(Error::internal("the server did not end with its input")),
        }
    }
}

/// Says how this very program failed to run.
fn lost(failure: Failure) -> Error {
    let error = Error::internal("this program could not be run again");
    match failure {
        Failure::NotStarted(cause) | Failure::Lost(cause) => error.with_source(cause),
        Failure::TimedOut | Failure::Cancelled => error,
    }
}
