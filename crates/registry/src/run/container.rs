//! Runs tools in containers of podman or docker, with images that are already pulled.
//!
//! mcpkg's own program also runs inside the container as the starter, together with the libraries that it needs. So
//! limits, variables and output files are handled in the same way as in bubblewrap. mcpkg talks to the starter
//! through a socket in a mounted folder, since arguments and the engine's records of a container must not contain
//! variables. The starter is the container's first process. If mcpkg closes the socket or is killed, the starter
//! ends the container.

use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::engine::{self, Engine, Image};
use super::kind::RunnerKind;
use super::limits::{Limits, OUTPUT_BYTES};
use super::mount::{Mount, OUTPUT, PACKAGE, STARTER, WORKSPACE};
use super::runner::{Job, NotRun, Ran, Runner, Takes};
use super::started;
use mcpkg_base::platform;
use mcpkg_base::process;
use mcpkg_base::process::starter::{self, Libraries, Meeting, Within};

/// The folder for the libraries of mcpkg's own program.
const LIBRARIES: &str = "/run/mcpkg-libraries";

/// The folder for the socket.
const MEET: &str = "/run/mcpkg-meet";

const SOCKET: &str = "socket";

/// The bytes that a file system in memory needs in addition to its files.
const OVERHEAD: u64 = 1 << 20;

/// The timeout for removing a container.
const REMOVAL: Duration = Duration::from_secs(20);

/// A container to start.
#[derive(Debug)]
pub struct Container {
    engine: Engine,
    image: Image,
    /// The name, which is needed to remove the container.
    name: String,
}

impl Container {
    /// Returns a container for an existing image.
    pub fn new(engine: Engine, image: Image) -> Self {
        Self { engine, image, name: format!("mcpkg-{}", uuid::Uuid::now_v7().simple()) }
    }

    fn arguments(&self, job: &Job<'_>, libraries: &Libraries) -> Result<Vec<String>, String> {
        let Limits { scratch, processes, memory, files, .. } = job.limits;
        let ulimit = |name: &str, most: u64| format!("{name}={most}:{most}");
        let is_podman = self.engine.kind == RunnerKind::Podman;
        let mut arguments = Vec::new();
        let mut add = |words: &[&str]| arguments.extend(words.iter().map(|&word| word.to_owned()));
        add(&["--log-level", "error", "run", "--rm", "--name", &self.name, "--pull", "never", "--log-driver", "none"]);
        add(&["--read-only", "--cap-drop", "all", "--security-opt", "no-new-privileges", "--user", &self.engine.user]);
        add(&["--network", if job.granted.network { "host" } else { "none" }, "--ipc", "private"]);
        add(&["--hostname", "sandbox", "--workdir", "/", "--no-healthcheck", "--shm-size", &scratch.to_string()]);
        if is_podman {
            // These options stop the image and the user's own podman configuration from adding anything.
            add(&["--read-only-tmpfs=false", "--image-volume", "ignore", "--http-proxy=false", "--systemd", "false"]);
            // podman's default limits are higher than a user without root privileges may set.
            add(&["--ulimit", &ulimit("nofile", files), "--ulimit", &ulimit("nproc", processes + 4)]);
        }
        if self.engine.limits {
            let bytes = memory.saturating_add(started::files_in_memory(&job.limits));
            let bytes = bytes.saturating_add(started::workspace_size(job)).to_string();
            // The starter and the engine's own helpers also count as processes.
            let processes = (processes + 4).to_string();
            add(&["--memory", &bytes, "--memory-swap", &bytes, "--pids-limit", &processes]);
        }
        let mut in_memory = |at: &str, bytes: u64| {
            let copies = if is_podman { ",notmpcopyup" } else { "" };
            add(&["--tmpfs", &format!("{at}:rw,exec,nosuid,nodev,size={bytes},mode=1777{copies}")]);
        };
        in_memory("/tmp", scratch);
        in_memory(OUTPUT, OUTPUT_BYTES + OVERHEAD);
        if job.takes == Takes::Workspace {
            in_memory(WORKSPACE, started::workspace_size(job) + OVERHEAD);
        }
        for mount in self.mounts(job)? {
            match mount {
                Mount::Read { from, at } => add(&["--mount", &bind(&from, &at, ",readonly")?]),
                Mount::Write { from, at } => add(&["--mount", &bind(&from, &at, "")?]),
                Mount::Link { .. } => {}
            }
        }
        let words = Meeting::words(&format!("{MEET}/{SOCKET}"));
        match libraries.loader.as_deref().and_then(Path::file_name) {
            Some(loader) => {
                let loader = format!("{LIBRARIES}/{}", loader.to_string_lossy());
                add(&["--entrypoint", &loader, &self.image.id, "--library-path", LIBRARIES, STARTER]);
            }
            None => add(&["--entrypoint", STARTER, &self.image.id]),
        }
        add(&[&words[0], &words[1]]);
        Ok(arguments)
    }

    fn remove(&self) {
        let token = CancellationToken::new();
        let arguments = match self.engine.kind {
            RunnerKind::Podman => &["rm", "--force", "--ignore", "--time", "0", &self.name][..],
            _ => &["rm", "--force", &self.name],
        };
        // Ignore the result: usually the container is already gone, and otherwise nothing more can be done.
        let _ = engine::program(self.engine.kind).args(arguments).run(&[], &process::Limits::new(REMOVAL, &token));
    }
}

impl Runner for Container {
    fn kind(&self) -> RunnerKind {
        self.engine.kind
    }

    fn image(&self) -> Option<&str> {
        Some(&self.image.id)
    }

    fn mounts(&self, job: &Job<'_>) -> Result<Vec<Mount>, String> {
        let mut mounts = vec![started::starter_mount()?];
        for file in libraries()?.files {
            let name = file.file_name().unwrap_or_default().to_owned();
            mounts.push(Mount::read(file, Path::new(LIBRARIES).join(name)));
        }
        mounts.push(Mount::read(job.scratch.join("meet"), MEET));
        mounts.push(Mount::read(job.tree, if job.takes == Takes::Workspace { PACKAGE } else { WORKSPACE }));
        mounts.extend(job.granted.folders.iter().map(|folder| Mount::Write { from: folder.into(), at: folder.into() }));
        mounts.extend(job.given.iter().map(|(from, at)| Mount::read(from, at)));
        Ok(mounts)
    }

    fn command(&self, job: &Job<'_>) -> Vec<String> {
        let arguments = libraries().and_then(|libraries| self.arguments(job, &libraries)).unwrap_or_default();
        [self.engine.kind.word().to_owned()].into_iter().chain(arguments).collect()
    }

    fn unlimited(&self) -> Vec<&'static str> {
        match self.engine.limits {
            true => Vec::new(),
            false => vec!["shared memory", "processes"],
        }
    }

    fn run(&self, job: Job<'_>) -> Result<Ran, NotRun> {
        let arguments = libraries().and_then(|libraries| self.arguments(&job, &libraries));
        let arguments = arguments.map_err(NotRun::Unavailable)?;
        let meet = job.scratch.join("meet");
        std::fs::create_dir(&meet).map_err(NotRun::Lost)?;
        open_to_all(&meet).map_err(NotRun::Lost)?;
        let word = self.engine.kind.word();
        let start = started::Start {
            request: started::request(&job, Within::Container),
            meeting: Meeting::Socket(meet.join(SOCKET)),
            not_started: &|error: &std::io::Error| match error.kind() {
                ErrorKind::NotFound => engine::not_installed(self.engine.kind),
                _ => format!("`{word}` cannot be started: {error}"),
            },
            not_made: &|line: &str| {
                format!("{word} could not create a container: {}", line.trim_start_matches("Error: "))
            },
        };
        // If memory runs out, podman's monitor leaves a file in its working folder. Therefore start podman in the
        // scratch folder.
        let program = engine::program(self.engine.kind).folder(job.scratch).args(arguments);
        let ran = started::run(program, job, start);
        let has_ended = ran.as_ref().is_ok_and(|ran| ran.ended.is_some());
        if !has_ended {
            self.remove();
        }
        let mut ran = ran?;
        ran.unlimited = self.unlimited();
        if ran.ended.is_none() && self.engine.limits {
            // Only the kernel kills the first process of a container, and it does so when memory runs out.
            ran.reached = Some("memory");
        }
        Ok(ran)
    }
}

/// Returns the argument for a mount. Both engines read it as a comma-separated list, so a path must not contain a
/// comma, a quote or a line break.
fn bind(from: &Path, at: &Path, access: &str) -> Result<String, String> {
    let text = |path: &Path| {
        let text = path.to_str().filter(|text| !text.contains([',', '"', '\n']));
        text.map(str::to_owned)
            .ok_or_else(|| format!("cannot mount `{}`: its path contains a comma or a quote", path.display()))
    };
    Ok(format!("type=bind,source={},target={}{access}", text(from)?, text(at)?))
}

fn libraries() -> Result<Libraries, String> {
    starter::of_own_program().map_err(|error| format!("cannot find mcpkg's own libraries: {error}"))
}

/// Lets all users into a folder. Its parent folder is accessible to this user only, so only users inside the container
/// gain access.
fn open_to_all(folder: &Path) -> std::io::Result<()> {
    platform::set_path_mode(folder, 0o755)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::path::PathBuf;

    use super::*;
    use crate::run::grants::Granted;

    fn arguments(kind: RunnerKind, limits: bool, granted: &Granted, takes: Takes) -> String {
        let engine = Engine { kind, limits, user: "0:0".to_owned() };
        let container = Container { engine, image: Image { id: "ID".to_owned() }, name: "NAME".to_owned() };
        let (variables, token) =
            (BTreeMap::from([("TOKEN".to_owned(), "secret".to_owned())]), CancellationToken::new());
        let job = Job {
            argv: &["tool".to_owned(), "--all".to_owned()],
            variables: &variables,
            tree: Path::new("/cache/tree"),
            given: &[(PathBuf::from("/home/a.txt"), PathBuf::from("/input/file/a.txt"))],
            scratch: Path::new("/scratch"),
            granted,
            limits: Limits { scratch: 4096, ..Limits::default() },
            takes,
            cancelled: &token,
            told: None,
            before: None,
        };
        let loader = Some(PathBuf::from("/lib64/ld-linux.so.2"));
        container.arguments(&job, &Libraries { loader, files: Vec::new() }).expect("arguments").join(" ")
    }

    #[test]
    fn a_container_gets_only_what_is_allowed_and_no_variable_is_an_argument() {
        for kind in [RunnerKind::Podman, RunnerKind::Docker] {
            let shown = arguments(kind, true, &Granted::default(), Takes::Output);
            for words in [
                "--pull never",
                "--network none",
                "--read-only ",
                "--cap-drop all",
                "--security-opt no-new-privileges",
                "--name NAME",
                "--rm",
                "--log-driver none",
                "--memory 1627389952 --memory-swap 1627389952 --pids-limit 132",
                "--shm-size 4096",
                "type=bind,source=/cache/tree,target=/workspace,readonly",
                "type=bind,source=/home/a.txt,target=/input/file/a.txt,readonly",
                "type=bind,source=/scratch/meet,target=/run/mcpkg-meet,readonly",
            ] {
                let words =
                    words.replace("1627389952", &(Limits::default().memory + 2 * 4096 + OUTPUT_BYTES).to_string());
                assert!(shown.contains(&words), "{words}: {shown}");
            }
            // The tool's arguments and variables are sent to the starter, and are not part of the command line.
            assert!(!shown.contains("secret") && !shown.contains("tool") && !shown.contains("--env"), "{shown}");
            // Each file system in memory has a size limit.
            assert_eq!(
                shown.matches("--tmpfs").count(),
                shown.matches("size=").count() - shown.matches("--shm-size=").count()
            );
            // No mount is writable.
            assert_eq!(shown.matches("type=bind").count(), shown.matches(",readonly").count());
            let end = "--entrypoint /run/mcpkg-libraries/ld-linux.so.2 ID --library-path /run/mcpkg-libraries /run/mcpkg \
                __start-in-sandbox /run/mcpkg-meet/socket";
            assert!(shown.ends_with(end), "{shown}");
        }
    }

    #[test]
    fn a_container_gets_what_is_allowed_and_a_build_changes_a_copy() {
        let granted = Granted { network: true, folders: vec!["/data/a b".to_owned()], unsandboxed: false };
        let shown = arguments(RunnerKind::Podman, false, &granted, Takes::Workspace);
        assert!(shown.contains("--network host") && !shown.contains("--network none"), "{shown}");
        assert!(shown.contains("--mount type=bind,source=/data/a b,target=/data/a b --mount"), "{shown}");
        assert!(
            shown.contains("source=/cache/tree,target=/run/package,readonly") && shown.contains("--tmpfs /workspace:")
        );
        // Options for limits that the engine does not support must be absent, or the container would not start.
        assert!(!shown.contains("--memory") && !shown.contains("--pids-limit"), "{shown}");
    }

    #[test]
    fn a_path_with_a_comma_is_refused_and_never_read_as_an_option() {
        for path in ["/data/a,readonly=false", "/data/\"a", "/data/a\nb"] {
            assert!(bind(Path::new(path), Path::new("/at"), "").is_err(), "{path:?}");
        }
    }
}
