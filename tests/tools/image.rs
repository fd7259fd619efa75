//! Builds an image for podman from this machine's programs, without any registry.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// The programs that the tools of these tests start.
const PROGRAMS: [&str; 36] = [
    "bash", "cat", "chmod", "cut", "date", "dd", "echo", "env", "false", "grep", "head", "id", "kill", "ln", "ls",
    "mkdir", "mkfifo", "mknod", "mount", "printf", "python3", "readlink", "rm", "sed", "setsid", "sh", "sleep", "sort",
    "stat", "sync", "tail", "tr", "true", "unshare", "wc", "cp",
];

/// Returns the name of the image. Each process builds it once.
///
/// # Errors
/// The reason if the image cannot be built.
pub(super) fn made() -> Result<String, String> {
    static MADE: OnceLock<Result<String, String>> = OnceLock::new();
    MADE.get_or_init(make).clone()
}

fn make() -> Result<String, String> {
    let info = Command::new("podman").args(["info", "--format", "{{.Host.OCIRuntime.Name}}"]).output();
    let info = info.map_err(|_| "there is no podman".to_owned())?;
    succeeded("podman does not work", &info)?;
    let folder = tempfile::tempdir().expect("a folder");
    let root = folder.path().join("root");
    for name in ["bin", "etc", "proc", "sys", "tmp", "usr"] {
        fs::create_dir_all(root.join(name)).expect("a folder");
    }
    let mut libraries = BTreeSet::new();
    for name in PROGRAMS {
        let Some(program) = on_path(name) else { continue };
        fs::copy(&program, root.join("bin").join(name)).expect("a program");
        libraries.extend(libraries_of(&program));
    }
    for library in libraries {
        copy(&library, &root);
    }
    python(&root);
    let tarball = folder.path().join("root.tar");
    let packed = Command::new("tar").arg("-cf").arg(&tarball).arg("-C").arg(&root).arg(".").output();
    succeeded("the image cannot be packed", &packed.map_err(|error| error.to_string())?)?;
    // Each test process has its own image, so that concurrent processes do not remove each other's.
    let name = format!("localhost/mcpkg-test:{}", std::process::id());
    let imported = Command::new("podman").arg("import").arg(&tarball).arg(&name).output();
    succeeded("podman imports no image", &imported.map_err(|error| error.to_string())?)?;
    sweep(&name);
    Ok(name)
}

/// Removes the images of test processes that have ended.
fn sweep(own: &str) {
    let listed = Command::new("podman")
        .args(["images", "--format", "{{.Repository}}:{{.Tag}}", "localhost/mcpkg-test"])
        .output();
    let listed = listed.map(|listed| String::from_utf8_lossy(&listed.stdout).into_owned()).unwrap_or_default();
    for name in listed.lines().filter(|name| *name != own) {
        let process = name.rsplit(':').next().unwrap_or_default();
        if process.parse::<u32>().is_ok() && !Path::new("/proc").join(process).exists() {
            let _ = Command::new("podman").args(["rmi", "--force", name]).output();
        }
    }
}

/// Copies parts of Python's standard library, because Python does not start without them.
fn python(root: &Path) {
    if on_path("python3") != Some("/usr/bin/python3".into()) {
        return;
    }
    let said =
        Command::new("/usr/bin/python3").args(["-c", "import sysconfig; print(sysconfig.get_path('stdlib'))"]).output();
    let said = said.map(|said| String::from_utf8_lossy(&said.stdout).trim().to_owned()).unwrap_or_default();
    let library = PathBuf::from(said);
    let to = root.join(library.strip_prefix("/").expect("an absolute path"));
    for wanted in ["", "collections", "encodings", "importlib", "re", "json", "lib-dynload"] {
        fs::create_dir_all(to.join(wanted)).expect("a folder");
        for file in fs::read_dir(library.join(wanted)).into_iter().flatten().flatten() {
            if file.file_type().is_ok_and(|kind| kind.is_file()) {
                fs::copy(file.path(), to.join(wanted).join(file.file_name())).expect("a file");
            }
        }
    }
}

fn libraries_of(program: &Path) -> Vec<PathBuf> {
    let said = Command::new("ldd").arg(program).output().map(|said| said.stdout).unwrap_or_default();
    let said = String::from_utf8_lossy(&said).into_owned();
    said.split_whitespace().filter(|word| word.starts_with('/')).map(PathBuf::from).collect()
}

fn copy(file: &Path, root: &Path) {
    let to = root.join(file.strip_prefix("/").expect("an absolute path"));
    fs::create_dir_all(to.parent().expect("a folder")).expect("a folder");
    fs::copy(file, to).expect("a file");
}

/// Returns the program with this name that a tool would find in bubblewrap.
fn on_path(name: &str) -> Option<PathBuf> {
    ["/usr/local/bin", "/usr/bin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|program| program.is_file())
}

fn succeeded(what: &str, output: &Output) -> Result<(), String> {
    let said = String::from_utf8_lossy(&output.stderr);
    match output.status.success() {
        true => Ok(()),
        false => Err(format!("{what}: {}", said.lines().last().unwrap_or_default())),
    }
}
