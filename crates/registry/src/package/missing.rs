//! Builds the error for a package folder that does not exist.

use std::io;
use std::path::Path;

use mcpkg_base::error::{Code, Error};

/// The maximum number of folders to search for a similar name.
const LOOKED_AT: usize = 1_000;

/// Returns the error for a package folder that cannot be read. If it does not exist, the hint suggests a folder
/// with a similar name.
pub fn missing(folder: &Path, error: io::Error) -> Error {
    let error = Error::file("read", folder, error);
    if error.code() != Code::NotFound {
        return error;
    }
    let name = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let above = folder.parent().filter(|above| *above != Path::new("")).unwrap_or(Path::new("."));
    let beside = std::fs::read_dir(above).into_iter().flatten().flatten().take(LOOKED_AT);
    let folders = beside.filter(|entry| entry.path().is_dir());
    let names: Vec<String> = folders.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    error.suggest(
        &name,
        names.iter().map(String::as_str),
        "pass the folder of a package; for an installed tool, pass its name (see `mcpkg tool list`)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hint_names_a_folder_with_a_similar_name() {
        let scratch = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(scratch.path().join("weather")).expect("a folder");
        std::fs::write(scratch.path().join("weathr.txt"), "").expect("a file");
        let of = |name: &str| missing(&scratch.path().join(name), io::ErrorKind::NotFound.into());
        assert_eq!(of("waether").hints(), ["did you mean 'weather'?"]);
        assert!(of("zzz").hints()[0].contains("mcpkg tool list"));
        assert!(missing(Path::new("/x"), io::ErrorKind::PermissionDenied.into()).code() != Code::NotFound);
    }
}
