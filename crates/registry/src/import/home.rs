//! The original's folders. Only regular files of a bounded size are read, and no link that leads elsewhere is followed.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// Bytes of the longest of the original's files.
const LARGEST: u64 = 4 << 20;

/// Where the original keeps what belongs together: its own folder, and the folder that holds it.
#[derive(Clone, Debug)]
pub struct Home {
    /// `.enact`.
    pub own: PathBuf,
    /// The user's home, or a project.
    above: PathBuf,
}

impl Home {
    /// Returns the original's folder of a user; the usual one where none is named.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` where the home folder is not known.
    pub fn of_user(named: Option<&Path>) -> Result<Self> {
        let own = match named {
            Some(named) => named.to_owned(),
            None => disk::home()?.join(".enact"),
        };
        let real = std::fs::canonicalize(&own).map_err(|error| match error.kind() {
            ErrorKind::NotFound => Error::new(Code::NotFound, format!("`{}` does not exist", own.display()))
                .hint("pass the folder where Enact stores tools.json and config.yaml, such as ~/.enact"),
            _ => Error::file("read", &own, error),
        })?;
        if !real.is_dir() {
            let what = format!("`{}` is a file", own.display());
            return Err(Error::new(Code::InvalidArgument, what)
                .hint("pass the folder that contains this file, such as ~/.enact"));
        }
        let above = real.parent().unwrap_or(&real).to_owned();
        Ok(Self { own: real, above })
    }

    /// Returns a project's folder.
    pub fn of_project(folder: &Path) -> Result<Self> {
        let above = std::fs::canonicalize(folder).map_err(|error| Error::file("read", folder, error))?;
        let home = Self { own: above.join(".enact"), above };
        if !home.own.is_dir() && !home.above.join("agents").is_dir() {
            let what = format!("`{}` contains neither a .enact nor an agents folder", folder.display());
            return Err(Error::new(Code::NotFound, what).hint("pass the folder of a project in which you used Enact"));
        }
        Ok(home)
    }

    /// Returns the folder that holds the packages of this place.
    pub fn skills(&self, agents: &str) -> PathBuf {
        self.above.join(agents).join("skills")
    }

    /// Returns the text of a file below the folder that contains the original's folder; `None` if there is no file.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` where a link leads out of that folder.
    pub fn text(&self, relative: &str) -> Result<Option<Text>> {
        let path = self.above.join(relative);
        self.read(path, relative)
    }

    /// As [`Home::text`], of a file in the original's own folder.
    pub fn own_text(&self, name: &str) -> Result<Option<Text>> {
        self.read(self.own.join(name), name)
    }

    fn read(&self, path: PathBuf, name: &str) -> Result<Option<Text>> {
        let real = match std::fs::canonicalize(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            real => real.map_err(|error| Error::file("read", &path, error))?,
        };
        if !real.starts_with(&self.above) {
            let what = format!("`{}` is a link to a place outside `{}`", path.display(), self.above.display());
            return Err(Error::new(Code::InvalidPath, what).hint("replace the link with the file itself"));
        }
        let text = file::read_text(&real, LARGEST).map_err(|error| Error::file("read", &path, error))?;
        Ok(Some(Text { name: name.to_owned(), path, text }))
    }
}

/// A file of the original's.
#[derive(Clone, Debug)]
pub struct Text {
    /// Its name in messages: its path below the folder that was named.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
}

impl Text {
    /// Returns the failure of a file that is malformed.
    pub fn malformed(&self, why: impl std::fmt::Display) -> Error {
        Error::new(Code::InvalidArgument, format!("`{}` is malformed: {why}", self.path.display()))
            .hint("nothing was imported; fix this file or move it elsewhere")
    }
}
