//! The programs that are measured, as an installed one lies on the disk. What a linker wrote stays page by page in the system's
//! cache until the machine restarts, so that each start from it takes a tenth longer than one from a copy of the same bytes.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns where the mcpkg under test stands.
pub fn mcpkg() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| copy(Path::new(env!("CARGO_BIN_EXE_mcpkg"))))
}

/// Returns where this program stands.
pub fn this() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| copy(&std::env::current_exe().expect("this program has a path")))
}

/// Returns the copy of a program, which is made again if the program is newer.
fn copy(program: &Path) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("installed");
    let copy = folder.join(program.file_name().expect("a program has a name"));
    let written = |path: &Path| fs::metadata(path).and_then(|metadata| metadata.modified()).ok();
    if program != copy && written(&copy) <= written(program) {
        fs::create_dir_all(&folder).expect("a folder for the copies");
        let new = folder.join(format!("new-{}", std::process::id()));
        fs::copy(program, &new).expect("a copy of the program");
        fs::rename(&new, &copy).expect("the copy in its place");
    }
    copy
}
