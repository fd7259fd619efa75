//! Talks to podman and docker: checks whether they work on this machine, and finds their images.

use std::sync::OnceLock;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::kind::RunnerKind;
use super::started;
use mcpkg_base::platform::{self, SYSTEM, System};
use mcpkg_base::process::{Failure, Limits, Output, Program};

/// The timeout of a request to an engine. The first request may have to start a daemon, which takes a while.
const ANSWER: Duration = Duration::from_secs(30);

/// Variables that an engine needs to find its daemon, its configuration and its storage.
const VARIABLES: [&str; 7] = [
    "DBUS_SESSION_BUS_ADDRESS",
    "DOCKER_CONFIG",
    "DOCKER_CONTEXT",
    "DOCKER_HOST",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "XDG_RUNTIME_DIR",
];

/// An engine that works on this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Engine {
    pub kind: RunnerKind,
    /// Whether the engine can limit the memory and processes of a whole container.
    pub limits: bool,
    /// The user of the tool inside the container. It maps to the user who runs mcpkg, so that the tool can read
    /// that user's files.
    pub user: String,
}

/// An image that is already pulled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    pub id: String,
}

/// Returns an engine if it works; otherwise the error says why not. A success is remembered until the process ends.
pub fn find(kind: RunnerKind) -> Result<Engine, String> {
    static PODMAN: OnceLock<Engine> = OnceLock::new();
    static DOCKER: OnceLock<Engine> = OnceLock::new();
    let kept = if kind == RunnerKind::Podman { &PODMAN } else { &DOCKER };
    match kept.get() {
        Some(engine) => Ok(engine.clone()),
        None => probe(kind).map(|engine| kept.get_or_init(|| engine).clone()),
    }
}

/// Asks an engine about its host, since an installed program does not mean that its daemon runs. An error says why
/// it does not work.
pub fn probe(kind: RunnerKind) -> Result<Engine, String> {
    if SYSTEM != System::Linux {
        // mcpkg's own program starts the tool inside the container, where only a program for Linux runs.
        return Err("mcpkg runs tools in containers on Linux only".to_owned());
    }
    if kind == RunnerKind::Podman {
        let format = "{{.Host.Security.Rootless}} {{.Host.CgroupsVersion}} {{.Host.CgroupControllers}}";
        return Ok(podman(&ask(kind, &["info", "--format", format])?));
    }
    let said = ask(kind, &["info", "--format", "{{.ServerVersion}}"])?;
    if said.is_empty() {
        return Err("the daemon does not respond".to_owned());
    }
    let (user, group) = platform::user().unwrap_or_default();
    Ok(Engine { kind, limits: true, user: format!("{user}:{group}") })
}

/// Parses podman's description of its host.
fn podman(said: &str) -> Engine {
    let mut words = said.split_whitespace();
    let (rootless, version) = (words.next() == Some("true"), words.next());
    let controllers: Vec<&str> = words.map(|word| word.trim_matches(['[', ']'])).collect();
    let has = |controller: &str| controllers.contains(&controller);
    // Without root, version 1 of control groups cannot limit anything.
    let limits = !rootless || version == Some("v2") && has("memory") && has("pids");
    // User 0 inside the container maps to the user who runs podman.
    Engine { kind: RunnerKind::Podman, limits, user: "0:0".to_owned() }
}

/// Returns an image; `None` if it is missing. An error says why the engine did not answer, or why the image cannot
/// be used.
pub fn image(engine: &Engine, name: &str) -> Result<Option<Image>, String> {
    if !is_name(name) {
        return Err(format!("'{}' is not an image name", name.escape_debug()));
    }
    let format = "{{.Id}} {{json .Config.Volumes}}";
    let output = run(engine.kind, &["image", "inspect", "--format", format, name])?;
    if !output.status.success() {
        return match started::first_line(&output.stderr).unwrap_or_default() {
            why if is_missing(&why) => Ok(None),
            why => Err(why),
        };
    }
    let said = output.stdout.text();
    let (id, volumes) = said.trim().split_once(' ').unwrap_or((said.trim(), "null"));
    if engine.kind == RunnerKind::Docker && !matches!(volumes, "null" | "{}") {
        return Err(format!(
            "the image {name} declares volumes, which docker stores on this machine's disk without a limit"
        ));
    }
    Ok(Some(Image { id: id.to_owned() }))
}

/// Returns whether a line of output says that the image is missing; the wording differs between podman, docker and
/// their versions.
fn is_missing(line: &str) -> bool {
    let line = line.to_ascii_lowercase();
    ["no such image", "image not known", "no such object", "failed to find image", "unable to find"]
        .iter()
        .any(|words| line.contains(words))
}

/// Returns whether a text is a possible image name; it must not look like an option of the engine.
fn is_name(name: &str) -> bool {
    name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name.len() <= 255
        && name.bytes().all(|c| c.is_ascii_alphanumeric() || b"._-/:@".contains(&c))
}

/// Returns the command that pulls an image.
pub fn pull(kind: RunnerKind, name: &str) -> String {
    format!("{} pull {name}", kind.word())
}

/// Returns the program of an engine with the variables that it needs.
pub fn program(kind: RunnerKind) -> Program {
    let program = Program::new(kind.word());
    VARIABLES
        .iter()
        .filter_map(|name| Some((name, std::env::var_os(name)?)))
        .fold(program, |program, (name, value)| program.variable(name, value))
}

/// Returns the message for a missing engine.
pub fn not_installed(kind: RunnerKind) -> String {
    format!("{0} is not installed: there is no `{0}` on PATH", kind.word())
}

fn ask(kind: RunnerKind, arguments: &[&str]) -> Result<String, String> {
    let output = run(kind, arguments)?;
    match output.status.success() {
        true => Ok(output.stdout.text().trim().to_owned()),
        false => {
            let why = started::first_line(&output.stderr);
            Err(why.unwrap_or_else(|| format!("`{} {}` failed", kind.word(), arguments.join(" "))))
        }
    }
}

fn run(kind: RunnerKind, arguments: &[&str]) -> Result<Output, String> {
    if !started::is_on_path(kind.word()) {
        return Err(not_installed(kind));
    }
    let token = CancellationToken::new();
    let word = kind.word();
    program(kind).args(arguments).run(&[], &Limits::new(ANSWER, &token)).map_err(|failure| match failure {
        Failure::NotStarted(error) => format!("`{word}` cannot be started: {error}"),
        Failure::TimedOut => format!("`{word} {}` did not respond within {} seconds", arguments[0], ANSWER.as_secs()),
        Failure::Lost(error) => format!("cannot wait for `{word}`: {error}"),
        Failure::Cancelled => format!("`{word}` was cancelled"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn podman_can_limit_only_what_its_control_groups_support() {
        for (said, limits) in [
            ("false v1 [memory pids]", true),
            ("false v2 []", true),
            ("true v1 []", false),
            ("true v2 [cpu memory pids]", true),
            ("true v2 [memory]", false),
        ] {
            assert_eq!(podman(said).limits, limits, "{said}");
        }
    }

    #[test]
    fn an_image_name_is_never_read_as_an_option() {
        for name in ["alpine", "docker.io/library/node:20-alpine", "localhost/mini:1", "a@sha256:00ff"] {
            assert!(is_name(name), "{name}");
        }
        for name in ["", "-v", "--privileged", "a b", "a\nb", "a;b", "$(id)", &"a".repeat(256)] {
            assert!(!is_name(name), "{name}");
        }
    }

    #[test]
    fn a_missing_image_is_distinguished_from_a_failing_engine() {
        for line in [
            "Error: localhost/none:1: image not known",
            "Error: inspecting object: localhost/none:1: image not known",
            "Error response from daemon: No such image: none:latest",
            "Error: No such object: none",
        ] {
            assert!(is_missing(line), "{line}");
        }
        assert!(!is_missing(
            "Cannot connect to the Docker daemon at unix:///var/run/docker.sock. Is the docker daemon running?"
        ));
    }
}
