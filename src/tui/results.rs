//! Applies the results of background work, such as checks and saves, to the text in an editor.

use mcpkg_base::error::Result;
use mcpkg_console::document::Saved;
use mcpkg_console::picker::Picker;
use mcpkg_console::place::{Place, Text};
use mcpkg_console::reply;
use mcpkg_console::screen::Tone;

use super::app::{App, Typing};
use super::editor::Lower;
use super::level::Level;
use super::message::{Edited, Task, Version};

impl App {
    /// Applies the result of work on a text. Drops a result for an older version of the text, with these exceptions:
    /// [`Edited::Saved`], [`Edited::Rewritten`], [`Edited::Picked`] (checked by its own number), and [`Edited::Set`],
    /// whose error or warning is still shown.
    pub(super) fn worked(&mut self, version: Version, result: Edited, tasks: &mut Vec<Task>) {
        if let Edited::Saved(text, saved) = result {
            return self.saved(version, text, saved, tasks);
        }
        let levels = self.stacks.iter_mut().flatten();
        let mut editors = levels.filter_map(|level| level.editor.as_deref_mut());
        let Some(editor) = editors.find(|editor| editor.id == version.editor) else { return };
        let is_current = editor.version() == version;
        match result {
            Edited::Checked(Ok(findings)) if is_current => (editor.findings, editor.is_checked) = (findings, true),
            Edited::Checked(Err(error)) if is_current => self.fail(&error, None),
            Edited::Described(fields) if is_current => editor.take_fields(fields),
            Edited::Planned(lines) if is_current => editor.plan = lines,
            Edited::Meant(lines) if is_current && !lines.is_empty() => {
                if let Lower::Difference(difference) = &mut editor.lower {
                    difference.splice(0..0, lines);
                }
            }
            Edited::Set(Ok(text)) if is_current => {
                editor.replace(&text);
                let has_plan = editor.has_plan || editor.lower == Lower::Plan;
                tasks.push(Task::Check(editor.version(), editor.text(), has_plan));
            }
            Edited::Set(Err(error)) => {
                editor.wanted = None;
                self.fail(&error, None);
            }
            Edited::Set(..) => {
                editor.wanted = None;
                self.say(Tone::Warning, "The text changed in the meantime; the value was not set");
            }
            // $EDITOR had the terminal, so nobody could change the text here in the meantime. No version check is
            // needed.
            Edited::Rewritten(Ok(text)) => self.edited(|editor| editor.replace(&text), tasks),
            Edited::Rewritten(Err(error)) => self.fail(&error, None),
            Edited::Picked(number, result) => self.picked(version, number, result, tasks),
            Edited::Checked(_) | Edited::Described(_) | Edited::Planned(_) | Edited::Meant(_) | Edited::Saved(..) => {}
        }
    }

    fn picked(&mut self, version: Version, number: u64, result: Result<Picker>, tasks: &mut Vec<Task>) {
        let Some(editor) = self.open_editor().filter(|editor| editor.id == version.editor) else { return };
        let Lower::Picker(picking) = &mut editor.lower else { return };
        if picking.wanted != number {
            return;
        }
        match result {
            Ok(picker) => {
                let is_only = picking.completes && picker.rows.len() == 1;
                (picking.picker, picking.shown) = (Some(picker), number);
                picking.completes = false;
                if is_only {
                    self.take_pick(tasks);
                }
            }
            Err(error) => {
                editor.lower = Lower::Findings;
                if self.typing == Typing::Pick {
                    self.typing = Typing::Nothing;
                }
                self.fail(&error, None);
            }
        }
    }

    /// Applies the outcome of saving a text. The user may have typed more, or opened another screen, in the meantime.
    fn saved(&mut self, version: Version, text: String, saved: Saved, tasks: &mut Vec<Task>) {
        self.running = self.running.saturating_sub(1);
        let levels = self.stacks.iter_mut().flatten();
        let mut editors = levels.filter_map(|level| level.editor.as_deref_mut());
        let editor = editors.find(|editor| editor.id == version.editor);
        match saved {
            Saved::Done(found) => {
                let (mut sentence, mut saved_row) = (reply::sentence(&found), None);
                if let Some(editor) = editor {
                    editor.document.keep(text, &found);
                    editor.lower = Lower::Findings;
                    let document = &editor.document;
                    // When the list of workflows is shown again, the saved workflow is selected.
                    saved_row = Some(format!("workflow {}", document.name));
                    sentence = document.saved(&found);
                }
                self.say(Tone::Good, &sentence);
                if let Some(row) = saved_row {
                    let is_list = |level: &&mut Level| level.place == Place::Workflows;
                    self.stacks.iter_mut().flatten().filter(is_list).for_each(|level| level.selected.clone_from(&row));
                }
                // An approved draft is gone, so there is nothing left to edit.
                let is_draft = matches!(&self.level().place, Place::Editor(Text::Draft(_)));
                let is_here = self.level().editor.as_ref().is_some_and(|editor| editor.version() == version);
                if is_draft && is_here {
                    self.back(tasks);
                }
            }
            Saved::Overtaken(versions) => {
                let who = if versions.by.is_empty() { "Somebody" } else { versions.by.as_str() };
                let did = if versions.of_draft { "edited this draft" } else { "saved this workflow" };
                let what = format!("{who} {did} in the meantime; nothing was overwritten");
                if let Some(editor) = editor {
                    editor.document.follow(&versions);
                    editor.ask(Lower::Meanwhile(Box::new(versions)));
                }
                self.say(Tone::Warning, &what);
            }
            Saved::Failed { error, is_stored } => {
                if let Some(editor) = editor.filter(|_| is_stored) {
                    editor.document.text = text;
                    editor.document.meanwhile = None;
                }
                self.fail(&error, None);
            }
        }
    }
}
