//! `mcpkg prompt edit`: opens a prompt's text in the user's editor.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{GROUP, answer, argument, prompts as prompt_ops};
use crate::completions::PROMPTS;
use mcpkg_base::editor;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::{Changes, Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::{blobs, prompts};

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
    const HELP: &'static str = "If the prompt was imported from a file with front matter, the editor shows the \
        front matter before the text, and you can edit both. If you change nothing, mcpkg does not update the \
        prompt. Without a terminal, use `mcpkg prompt update`.";
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
        let hint = "set EDITOR, or use `mcpkg prompt update NAME --content @FILE`";
        let (file, edited) = editor::edit(&self.name, "md", &old, hint)?;
        if edited == old.as_bytes() {
            let sentence = format!("Prompt '{}' in project '{project}' is unchanged", self.name);
            return Ok(Reply::sentence(sentence, prompt_ops::data(&project, &prompt)));
        }
        let prompt = self.keep(context, &prompt, edited).map_err(|error| editor::keep(file, error))?;
        let sentence = format!("Updated prompt '{}' in project '{project}'", prompt.name);
        Ok(Reply::sentence(sentence, prompt_ops::data(&project, &prompt)))
    }
}

impl Edit {
    /// Stores the edited text. Fails if the prompt changed while the user was editing it.
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
                    format!("Prompt '{}' changed while you were editing it; your changes were not saved", self.name),
                )
                .hint(format!("`mcpkg prompt show {} --raw` shows the current text", self.name)));
            }
            if !keeps_front && !text.starts_with("---") {
                // The user deleted the front matter in the editor, so do not put it back.
                current.attributes.front_matter = None;
            }
            prompt_ops::declare(&mut current.attributes, &mut text, false)?;
            prompt_ops::check(&current.attributes, &text)?;
            prompts::update(db, author, project, current, "update", &text)
        })
    }
}
