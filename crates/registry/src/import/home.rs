//! Reads the folders of Enact, the program that contract 002 describes. Only regular files up to a size limit are read,
//! and links that lead out of the folder above `.enact` are refused.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;

/// The maximum size of one file in bytes.
const LARGEST: u64 = 4 << 20;

/// A place where Enact keeps its files: the folder `.enact` and the folder above it.
#[derive(Clone, Debug)]
pub struct Home {
    /// The folder `.enact` itself.
    pub own: PathBuf,
    /// The user's home folder, or the folder of a project.
    above: PathBuf,
}

impl Home {
    /// Returns the user's Enact folder: `named`, or `~/.enact` by default.
    ///
    /// # Errors
    /// `E_ROOT_REQUIRED` if the home folder is unknown; `E_NOT_FOUND` if the Enact folder does not exist;
    /// `E_INVALID_ARGUMENT` if it is a file.
    pub fn of_user(named: Option<&Path>) -> Result<Self> {
        let own = match named {
            Some(named) => named.to_owned(),
            None => disk::home()?.join(".enact"),
        };
        let real = mcpkg_base::platform::real(&own).map_err(|error| match error.kind() {
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

    /// Returns Enact's folder in a project.
    pub fn of_project(folder: &Path) -> Result<Self> {
        let above = mcpkg_base::platform::real(folder).map_err(|error| Error::file("read", folder, error))?;
        let home = Self { own: above.join(".enact"), above };
        if !home.own.is_dir() && !home.above.join("agents").is_dir() {
            let what = format!("`{}` contains neither a .enact nor an agents folder", folder.display());
            return Err(Error::new(Code::NotFound, what).hint("pass the folder of a project in which you used Enact"));
        }
        Ok(home)
    }

    /// Returns the folder with tool packages: `agents/skills` in a project, `.agents/skills` in the home folder.
    pub fn skills(&self, agents: &str) -> PathBuf {
        self.above.join(agents).join("skills")
    }

    /// Returns the text of a file below the folder that contains `.enact`; `None` if there is no file.
    ///
    /// # Errors
    /// `E_IO_INVALID_PATH` if a link leads out of that folder.
    pub fn text(&self, relative: &str) -> Result<Option<Text>> {
        let path = self.above.join(relative);
        self.read(path, relative)
    }

    /// Like [`Home::text`], for a file in `.enact`.
    pub fn own_text(&self, name: &str) -> Result<Option<Text>> {
        self.read(self.own.join(name), name)
    }

    fn read(&self, path: PathBuf, name: &str) -> Result<Option<Text>> {
        let real = match mcpkg_base::platform::real(&path) {
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

/// One of Enact's files.
#[derive(Clone, Debug)]
pub struct Text {
    /// The name to show in messages: the path relative to the folder that was read.
    pub name: String,
    pub path: PathBuf,
    pub text: String,
}

impl Text {
    /// Returns the error for a malformed file.
    pub fn malformed(&self, why: impl std::fmt::Display) -> Error {
        Error::new(Code::InvalidArgument, format!("`{}` is malformed: {why}", self.path.display()))
            .hint("nothing was imported; fix this file or move it elsewhere")
    }
}
