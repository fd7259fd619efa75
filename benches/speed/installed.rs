//! Copies the measured programs, so that they are on the disk like installed ones. After a linker has written a file, the
//! system caches the file in single pages until the machine restarts. Each start of such a file takes a tenth longer than a
//! start of a copy.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Returns the path of the copy of the mcpkg under test.
pub fn mcpkg() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| copy(Path::new(env!("CARGO_BIN_EXE_mcpkg"))))
}

/// Returns the path of the copy of this program.
pub fn this() -> &'static Path {
    static COPY: OnceLock<PathBuf> = OnceLock::new();
    COPY.get_or_init(|| copy(&std::env::current_exe().expect("this program has a path")))
}

/// Returns the copy of a program. Makes the copy if there is none or the program is newer.
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
