//! Runs the user's editor (`$VISUAL`, then `$EDITOR`) and pager (`$MCPKG_PAGER`, `$PAGER`, then `less`).

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Code, Error, Result};
use crate::file;
use crate::platform::IS_WINDOWS;
use crate::process::{Environment, Program};

/// Opens the editor on a temporary file named after `name`; returns the file and its content afterwards. `otherwise` is
/// the hint for a user without an editor.
pub fn edit(name: &str, extension: &str, text: &str, otherwise: &str) -> Result<(NamedTempFile, Vec<u8>)> {
    let failed = |what: String| Error::new(Code::EditorFailed, what);
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|variable| std::env::var(variable).ok().filter(|editor| !editor.trim().is_empty()))
        .ok_or_else(|| failed("No editor is set".to_owned()).hint(otherwise))?;
    let mut scratch = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .suffix(&format!(".{extension}"))
        .tempfile()
        .map_err(|error| failed(format!("Cannot create a temporary file: {error}")))?;
    scratch.write_all(text.as_bytes()).map_err(|error| Error::file("write", scratch.path(), error))?;
    let (program, args) = words(&editor)
        .ok_or_else(|| failed(format!("Cannot split the editor `{editor}` into words: a quote is not closed")))?;
    let program = Program::new(program).args(args).args([scratch.path()]).environment(Environment::Whole);
    match program.run_in_terminal() {
        Ok(status) if status.success() => {
            let edited =
                file::read(scratch.path(), file::WHOLE).map_err(|error| Error::file("read", scratch.path(), error))?;
            Ok((scratch, edited))
        }
        Ok(status) => Err(failed(format!("The editor `{editor}` ended with {status}; nothing was changed"))),
        Err(error) => Err(failed(format!("Cannot start the editor `{editor}`: {error}")).with_source(error)),
    }
}

/// The user's pager, for text that is longer than the terminal.
#[derive(Debug, PartialEq, Eq)]
pub struct Pager {
    line: String,
    /// Whether the user chose this pager. If so, mcpkg reports when it cannot be started.
    pub is_named: bool,
}

impl Pager {
    /// Returns the pager from the environment, or else `less`; `None` if the variable is empty or `cat`.
    pub fn of_user() -> Option<Self> {
        Self::named(["MCPKG_PAGER", "PAGER"].iter().find_map(|variable| std::env::var(variable).ok()).as_deref())
    }

    fn named(line: Option<&str>) -> Option<Self> {
        match line.map(str::trim) {
            Some("" | "cat") => None,
            Some(line) => Some(Self { line: line.to_owned(), is_named: true }),
            None => Some(Self { line: "less".to_owned(), is_named: false }),
        }
    }

    /// Shows a text until the user quits the pager.
    ///
    /// # Errors
    /// `E_EDITOR_FAILED` if the pager cannot be started, its command line has an unclosed quote, or its temporary file
    /// cannot be created; `E_DISK_FULL` or `E_FILE_FAILED` if the temporary file cannot be written.
    pub fn show(&self, text: &str) -> Result<()> {
        let failed = |what: String| Error::new(Code::EditorFailed, what);
        let pager = &self.line;
        // A pager may show the name of the file, so the name is not a random one.
        let folder = tempfile::Builder::new().prefix("mcpkg-").tempdir();
        let folder = folder.map_err(|error| failed(format!("Cannot create a temporary folder: {error}")))?;
        let path = folder.path().join("mcpkg");
        std::fs::write(&path, text).map_err(|error| Error::file("write", &path, error))?;
        let (program, args) = words(pager)
            .ok_or_else(|| failed(format!("Cannot split the pager `{pager}` into words: a quote is not closed")))?;
        let mut program = Program::new(program).args(args).args([&path]).environment(Environment::Whole);
        for (name, value) in VARIABLES {
            if std::env::var_os(name).is_none() {
                program = program.variable(name, value);
            }
        }
        match program.run_in_terminal() {
            Ok(_) => Ok(()),
            Err(error) => Err(failed(format!("Cannot start the pager `{pager}`: {error}")).with_source(error)),
        }
    }
}

/// The options of pagers, unless the user has set their own. As in git, `less` quits if the text fits on the screen,
/// shows colors, and leaves the text on the screen afterwards. In addition, `less` and `more` say which keys go on
/// and leave.
const VARIABLES: [(&str, &str); 3] =
    [("LESS", "-F -R -X -P?ethe end, q leaves:space goes on, q leaves.$"), ("MORE", "-d"), ("LV", "-c")];

/// Keeps the temporary file of a rejected text, and adds its path to the error, so that the user's text is not lost.
pub fn keep(scratch: NamedTempFile, refused: Error) -> Error {
    match scratch.keep() {
        Ok((_, path)) => refused.hint(format!("your text is saved in `{}`", path.display())),
        Err(_) => refused,
    }
}

/// Splits the user's editor or pager into a program and arguments: either a path, which may contain blanks, or words
/// split by shell rules. No shell runs, so `~` and variables are not expanded.
fn words(editor: &str) -> Option<(String, Vec<String>)> {
    if Path::new(editor).is_file() {
        return Some((editor.to_owned(), Vec::new()));
    }
    // Windows paths contain backslashes, which shell rules would treat as escapes.
    let words = if IS_WINDOWS { editor.split_whitespace().map(str::to_owned).collect() } else { shlex::split(editor)? };
    let mut words = words.into_iter();
    Some((words.next()?, words.collect()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_has_arguments_or_is_a_path_with_blanks() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("my editor");
        std::fs::write(&path, "").expect("a file");
        let path = path.to_str().expect("UTF-8");
        assert_eq!(words(path), Some((path.to_owned(), Vec::new())));
        let code = ("code".to_owned(), vec!["--wait".to_owned(), "a b".to_owned()]);
        assert_eq!(words("code --wait 'a b'"), Some(code));
        assert_eq!(words("vim 'x"), None);
    }

    #[test]
    fn an_empty_pager_and_cat_count_as_no_pager() {
        let pager = |line: &str, is_named| Some(Pager { line: line.to_owned(), is_named });
        assert_eq!(Pager::named(None), pager("less", false));
        assert_eq!(Pager::named(Some("more -s")), pager("more -s", true));
        assert_eq!([Pager::named(Some(" ")), Pager::named(Some("cat"))], [None, None]);
    }
}
