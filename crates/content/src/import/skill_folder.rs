//! Reads the files of one folder as a skill.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::import::find::links::{self, Reached};
use crate::import::find::root::{relative, stay_inside};
use crate::import::find::walk::Take;
use crate::import::paths::entered::{INSTALLED, VERSION_CONTROL};
use crate::import::reason::Reason;
use crate::import::recognise::{Unopened, open};
use crate::item::File;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;

/// The files in a skill's folder.
#[derive(Debug, Default)]
pub struct Folder {
    /// The files, with paths relative to the folder.
    pub files: Vec<File>,
    /// Hints to print about the files.
    pub hints: Vec<String>,
}

/// Reads the files in one folder. `.gitignore` applies, but hidden files are included, as in every skill's folder.
/// Fails if a link leads out of the folder, or if a subfolder cannot be read.
pub fn folder(path: &Path, context: &Context) -> Result<Folder> {
    let root = mcpkg_base::platform::real(path).map_err(|error| Error::file("read", path, error))?;
    if !root.is_dir() {
        return Err(Error::new(Code::InvalidArgument, format!("`{}` is not a folder", path.display())));
    }
    let mut found = Folder::default();
    let Reached { files, dead } = links::behind(&root, &root, &root, Take::Skill)?;
    for (link, reason) in dead {
        match reason {
            Reason::LinkOut => stay_inside(&link, &root)?,
            Reason::Unreadable => return Err(Error::file("read", &link, ErrorKind::PermissionDenied.into())),
            Reason::LinkLoop => found.hints.push(format!(
                "did not follow the link `{}`, which leads back to a folder that contains the link",
                link.display()
            )),
            _ => found.hints.push(format!("skipped `{}`: {}", relative(&link, &root), reason.text())),
        }
    }
    let mut files: Vec<PathBuf> = files.into_iter().map(|file| file.shown).collect();
    let is_in = |folder: &str, file: &Path| {
        file.strip_prefix(&root).unwrap_or(file).components().any(|part| part.as_os_str() == folder)
    };
    for folder in VERSION_CONTROL {
        if root.join(folder).exists() {
            found.hints.push(format!("skipped the version control folder {folder}"));
        }
        files.retain(|file| !is_in(folder, file));
    }
    let is_env = |file: &&PathBuf| {
        let name = file.file_name().unwrap_or_default().to_string_lossy();
        name == ".env" || (name.starts_with(".env.") && !name.ends_with(".example"))
    };
    for file in files.iter().filter(is_env) {
        let file = relative(file, &root);
        found.hints.push(format!(
            "`{file}` is included, and agents can read the file; to skip the file, list it in .gitignore"
        ));
    }
    let installed = files.iter().filter(|file| is_in(INSTALLED, file)).count();
    if installed > 0 {
        let why =
            format!("{installed} files in `{INSTALLED}` are included; to skip them, list the folder in .gitignore");
        found.hints.push(why);
    }
    let unopened = files.into_iter().map(|path| {
        let relative = relative(&path, &root);
        Unopened { path, relative, listed: None, to: None }
    });
    found.files = open(unopened.collect(), false, context)?.0.into_iter().map(|(file, _)| file).collect();
    Ok(found)
}
