//! The user's own editor on a text: `$VISUAL`, else `$EDITOR`. And their pager: `$MCPKG_PAGER`, else `$PAGER`, else `less`.

use std::io::Write;
use std::path::Path;

use tempfile::NamedTempFile;

use crate::error::{Code, Error, Result};
use crate::file;
use crate::process::{Environment, Program};

/// Runs the editor on a scratch file called after `name`, and returns the file with what it left there. `otherwise` says what
/// to do where no editor is set.
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

/// The user's pager: what shows a text that is longer than the terminal.
#[derive(Debug, PartialEq, Eq)]
pub struct Pager {
    line: String,
    /// Whether the user named it, who is told then that it cannot be started.
    pub is_named: bool,
}

impl Pager {
    /// Returns the one of this process's environment: none where a variable is empty, or says `cat`.
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

    /// Shows a text until the user leaves it. `less` shows colours, and gives the terminal back as it was.
    ///
    /// # Errors
    /// `E_EDITOR_FAILED` where it cannot be started, `E_DISK_FULL`, `E_FILE_FAILED`.
    pub fn show(&self, text: &str) -> Result<()> {
        let failed = |what: String| Error::new(Code::EditorFailed, what);
        let pager = &self.line;
        let mut scratch =
            NamedTempFile::new().map_err(|error| failed(format!("Cannot create a temporary file: {error}")))?;
        scratch.write_all(text.as_bytes()).map_err(|error| Error::file("write", scratch.path(), error))?;
        let (program, args) = words(pager)
            .ok_or_else(|| failed(format!("Cannot split the pager `{pager}` into words: a quote is not closed")))?;
        let mut program = Program::new(program).args(args).args([scratch.path()]).environment(Environment::Whole);
        // As git has it: what the user sets themselves counts.
        for (name, value) in [("LESS", "FRX"), ("LV", "-c")] {
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

/// Keeps the scratch file of a text that was refused, and says where: what the user wrote must not be lost.
pub fn keep(scratch: NamedTempFile, refused: Error) -> Error {
    match scratch.keep() {
        Ok((_, path)) => refused.hint(format!("your text is saved in `{}`", path.display())),
        Err(_) => refused,
    }
}

/// Returns the program and the arguments that an editor's variable holds: a path, which may have blanks in it, or words as
/// a shell splits them. No shell runs, so `~` and variables are not filled in.
fn words(editor: &str) -> Option<(String, Vec<String>)> {
    if Path::new(editor).is_file() {
        return Some((editor.to_owned(), Vec::new()));
    }
    // A path there has backslashes, which the shell's rules take for quotes.
    let words =
        if cfg!(windows) { editor.split_whitespace().map(str::to_owned).collect() } else { shlex::split(editor)? };
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
    fn an_empty_pager_and_cat_are_none() {
        let pager = |line: &str, is_named| Some(Pager { line: line.to_owned(), is_named });
        assert_eq!(Pager::named(None), pager("less", false));
        assert_eq!(Pager::named(Some("more -s")), pager("more -s", true));
        assert_eq!([Pager::named(Some(" ")), Pager::named(Some("cat"))], [None, None]);
    }
}
