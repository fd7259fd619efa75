//! Finds the tool that a user names: an installed tool, or a folder by its path.

use std::path::{Path, PathBuf};

use crate::alias;
use crate::backend::{Choice, download, resolve};
use crate::package::{Name, Reference, Wanted, manifest, missing};
use crate::run::call::Tool;
use crate::trust::{self, Subject};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::tools::installs::{self, Scope};

/// Returns the folder that a text names; `None` if the text is a tool's name.
///
/// # Errors
/// `E_NOT_FOUND` if the folder does not exist, `E_INVALID_ARGUMENT` if it is a file, `E_ROOT_REQUIRED` if the home
/// folder is unknown.
pub fn folder(text: &str) -> Result<Option<PathBuf>> {
    path(text)?.map(|path| existing(&path)).transpose()
}

/// Returns the folder and the optional action in a text such as `./my-tool:forecast`; `None` if the text is a
/// tool's name.
pub fn folder_and_action(text: &str) -> Result<Option<(PathBuf, Option<String>)>> {
    let Some(whole) = path(text)? else { return Ok(None) };
    let divided = text.rsplit_once(':').filter(|(_, action)| !action.contains('/') && !whole.exists());
    match divided {
        Some((before, action)) => Ok(folder(before)?.map(|folder| (folder, Some(action.to_owned())))),
        None => Ok(Some((existing(&whole)?, None))),
    }
}

/// Returns a text as a path; `None` if the text is a tool's name.
fn path(text: &str) -> Result<Option<PathBuf>> {
    let is_path = matches!(text.split(':').next(), Some("." | ".."))
        || ["./", "../", "/", "~/"].iter().any(|begin| text.starts_with(begin));
    if !is_path {
        return Ok(None);
    }
    Ok(Some(match text.strip_prefix("~/") {
        Some(rest) => disk::home()?.join(rest),
        None => PathBuf::from(text),
    }))
}

fn existing(path: &Path) -> Result<PathBuf> {
    let real = mcpkg_base::platform::real(path).map_err(|error| missing(path, error))?;
    match real.is_dir() {
        true => Ok(real),
        false => Err(Error::new(Code::InvalidArgument, format!("`{}` is not a folder", path.display()))
            .hint("pass the folder that contains the tool's manifest")),
    }
}

/// Returns the tool that a user names, by its name or folder, to show or change its permissions.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if the text is not a valid name, `E_MANIFEST_INVALID` if the folder has no valid manifest, and
/// the errors of [`folder`] and [`resolve`].
pub fn tool(context: &Context, text: &str) -> Result<Tool> {
    if let Some(folder) = folder(text)? {
        let publisher = publisher_of(&folder);
        let manifest = manifest::of_folder(&folder)?.manifest()?;
        return Ok(Tool { name: manifest.name.to_string(), version: None, sha256: None, publisher });
    }
    let name = Name::parse(&alias::expanded(context, text)?)?;
    match context.store.read(|db| installs::active(db, &Scope::Global, name.as_str()))? {
        Some(install) => Ok(Tool {
            name: install.name,
            version: Some(install.version),
            sha256: Some(install.sha256),
            publisher: install.publisher.unwrap_or_default(),
        }),
        None => not_installed(context, name),
    }
}

/// Finds a tool that is not installed, in the registries. The tool's build may need a permission before the tool can
/// be installed.
fn not_installed(context: &Context, name: Name) -> Result<Tool> {
    (context.step_aside)();
    let reference = Reference { name, version: Wanted::Latest, action: None };
    let resolved = resolve(context, &reference, Choice::default()).map_err(|error| match error.code() {
        Code::ToolNotFound => {
            error.hint("`mcpkg tool list` shows the installed tools; to use a folder, pass its path, such as ./my-tool")
        }
        _ => error,
    })?;
    // Downloading also stores the attestations, which the verdict needs.
    let sha256 = download(context, &resolved)?.sha256();
    let (name, version) = (resolved.version.name.to_string(), resolved.version.version.to_string());
    let subject = Subject { name: name.clone(), version: version.clone(), sha256 };
    let verdict = context.store.read(|db| trust::judge(db, context, &subject))?;
    let publisher = verdict.publisher().map(|identity| identity.as_str().to_owned()).unwrap_or_default();
    Ok(Tool { name, version: Some(version), sha256: Some(sha256), publisher })
}

/// Returns the text that stands for the publisher of a tool in a folder. It contains the folder's path, so that
/// permissions apply only to this folder.
pub fn publisher_of(folder: &Path) -> String {
    format!("folder:{}", folder.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_told_from_a_name_by_how_it_begins() {
        for name in ["alice/utils", "@org/a", "weather", ".hidden"] {
            assert_eq!(folder(name).expect(name), None);
        }
        assert_eq!(folder("/").expect("a folder"), Some("/".into()));
        assert!(folder(".").expect("a folder").expect("here").is_absolute());
        assert_eq!(folder("/none/at/all").expect_err("gone").code(), Code::NotFound);
        assert_eq!(folder("/proc/self/status").expect_err("a file").code(), Code::InvalidArgument);
    }
}
