//! `mcpkg prompt edit`: the user's editor on a prompt's text.

use std::io::Write;
use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{GROUP, answer, argument, prompts as prompt_ops};
use crate::content::completions::PROMPTS;
use crate::error::{Code, Error, Result};
use crate::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use crate::process::{Environment, Program};
use crate::store::{blobs, prompts};

/// Edit a prompt
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Edit {
    /// Prompt name
    #[arg(add = PROMPTS)]
    name: String,
}

impl Operation for Edit {
    const TOOL: &'static str = "edit_prompt";
    const CLI: &'static [&'static str] = &["prompt", "edit"];
    const TITLE: &'static str = "Edit prompt";
    const ABOUT: &'static str = "Edit a prompt's text in $VISUAL or $EDITOR";
    const HELP: &'static str = "The front matter that is kept of an imported file stands before the text, and is edited with it. \
        Leaving both as they are changes nothing. Without a terminal use `mcpkg prompt update`.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg prompt edit code-review", "EDITOR=nano mcpkg prompt edit code-review"];
    const EFFECT: Effect = Effect::Write;
    const CHANGES: Changes = Changes::PROMPTS;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let before = context.read(|db, project| {
            let prompt = prompts::get(db, project, &self.name)?;
            let content = answer::text(blobs::get(db, prompt.blob)?)?;
            Ok((prompt, content, project.name.clone()))
        })?;
        let (prompt, text, project) = before;
        let old = prompt.attributes.front_matter.clone().unwrap_or_default() + &text;
        let (file, edited) = edit(&self.name, &old)?;
        if edited == old.as_bytes() {
            let sentence = format!("Left prompt '{}' in project '{project}' as it was", self.name);
            return Ok(Reply::sentence(sentence, prompt_ops::data(&project, &prompt)));
        }
        let prompt = self.keep(context, &prompt, edited).map_err(|error| match file.keep() {
            // What the user wrote must not be lost because it was refused.
            Ok((_, path)) => error.hint(format!("what you wrote is kept in `{}`", path.display())),
            Err(_) => error,
        })?;
        let sentence = format!("Updated prompt '{}' in project '{project}'", prompt.name);
        Ok(Reply::sentence(sentence, prompt_ops::data(&project, &prompt)))
    }
}

impl Edit {
    /// Writes the edited text, where nobody changed the prompt meanwhile.
    fn keep(&self, context: &Context, before: &prompts::Prompt, edited: Vec<u8>) -> Result<prompts::Prompt> {
        let front = before.attributes.front_matter.as_deref().unwrap_or_default();
        let keeps_front = edited.starts_with(front.as_bytes());
        let edited = if keeps_front { edited[front.len()..].to_vec() } else { edited };
        let mut text = argument::prompt(edited)?;
        context.write("prompt.update", &self.name, |db, project, author| {
            let mut current = prompts::get(db, project, &self.name)?;
            if current.revision != before.revision {
                return Err(Error::new(
                    Code::EditorFailed,
                    format!(
                        "Prompt '{}' was changed by somebody else while it was edited; nothing was changed",
                        self.name
                    ),
                )
                .hint(format!("`mcpkg prompt show {} --raw` shows the other change", self.name)));
            }
            if !keeps_front && !text.starts_with("---") {
                // Who took it out wants none.
                current.attributes.front_matter = None;
            }
            prompt_ops::declare(&mut current.attributes, &mut text, false);
            prompt_ops::check(&current.attributes, &text)?;
            prompts::update(db, author, project, current, "update", &text)
        })
    }
}

/// Runs the editor on a scratch file and returns the file with what it left there.
fn edit(name: &str, text: &str) -> Result<(tempfile::NamedTempFile, Vec<u8>)> {
    let failed = |what: String| Error::new(Code::EditorFailed, what);
    let editor = ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|variable| std::env::var(variable).ok().filter(|editor| !editor.trim().is_empty()))
        .ok_or_else(|| {
            failed("No editor is set".to_owned()).hint("set EDITOR, or use `mcpkg prompt update NAME --content @FILE`")
        })?;
    let mut file = tempfile::Builder::new()
        .prefix(&format!("{name}-"))
        .suffix(".md")
        .tempfile()
        .map_err(|error| failed(format!("Cannot make a scratch file: {error}")))?;
    file.write_all(text.as_bytes()).map_err(|error| Error::file("write", file.path(), error))?;
    let (program, args) = words(&editor)
        .ok_or_else(|| failed(format!("The editor `{editor}` cannot be split into words: a quote is open")))?;
    let program = Program::new(program).args(args).args([file.path()]).environment(Environment::Whole);
    match program.run_in_terminal() {
        Ok(status) if status.success() => {
            let edited = crate::file::read(file.path(), crate::file::WHOLE)
                .map_err(|error| Error::file("read", file.path(), error))?;
            Ok((file, edited))
        }
        Ok(status) => Err(failed(format!("The editor `{editor}` ended with {status}; nothing was changed"))),
        Err(error) => Err(failed(format!("The editor `{editor}` could not be started: {error}")).with_source(error)),
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
}
