//! Finds the shared libraries of mcpkg's own program, so that it can start in a sandbox with other libraries or none.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use crate::file::read_kernel;

/// The files that mcpkg's own program needs to start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Libraries {
    /// The dynamic loader; `None` if the program is linked statically.
    pub loader: Option<PathBuf>,
    /// The libraries, including the loader.
    pub files: Vec<PathBuf>,
}

/// Returns the libraries of this process. The starter is the same program, or was built together with it.
///
/// # Errors
/// The system's error if they cannot be determined.
pub fn of_own_program() -> io::Result<Libraries> {
    let maps = read_kernel(Path::new("/proc/self/maps"))?;
    Ok(of(&maps))
}

fn of(maps: &str) -> Libraries {
    let mut files: Vec<PathBuf> = Vec::new();
    for line in maps.lines() {
        // Fields: ADDRESSES MODE OFFSET DEVICE INODE PATH
        let Some(begin) = line.find('/') else { continue };
        let path = Path::new(line[begin..].trim_end());
        let is_library = path.file_name().and_then(OsStr::to_str).is_some_and(is_library);
        if is_library && !files.iter().any(|file| file == path) {
            files.push(path.to_owned());
        }
    }
    let is_loader =
        |file: &&PathBuf| file.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("ld-"));
    Libraries { loader: files.iter().find(is_loader).cloned(), files }
}

fn is_library(name: &str) -> bool {
    name.ends_with(".so") || name.contains(".so.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn libraries_are_named_once_and_the_loader_is_one_of_them() {
        let maps = "55d0-55d1 r-xp 00000000 08:01 1  /usr/bin/mcpkg\n\
            7f00-7f01 r--p 00000000 08:01 2      /usr/lib/x86_64-linux-gnu/libc.so.6\n\
            7f01-7f02 r-xp 00001000 08:01 2      /usr/lib/x86_64-linux-gnu/libc.so.6\n\
            7f03-7f04 r-xp 00000000 08:01 3      /usr/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2\n\
            7f05-7f06 rw-p 00000000 00:00 0      [stack]\n\
            7f07-7f08 rw-s 00000000 08:01 4      /tmp/a.db-shm\n";
        let found = of(maps);
        let at = |name: &str| PathBuf::from("/usr/lib/x86_64-linux-gnu").join(name);
        assert_eq!(found.files, [at("libc.so.6"), at("ld-linux-x86-64.so.2")]);
        assert_eq!(found.loader, Some(at("ld-linux-x86-64.so.2")));
        assert_eq!(
            of("55d0-55d1 r-xp 00000000 08:01 1  /usr/bin/mcpkg\n"),
            Libraries { loader: None, files: Vec::new() }
        );
    }
}
