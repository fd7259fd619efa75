//! A workflow or draft in the editor: its text, form, findings and fixes, and how to save it.

use serde_json::json;

use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::merge;
use mcpkg_core::op::{Context, Reply};

use crate::action::{self, Invocation};
use crate::data::{number, rows, text};
use crate::fields::Fields;
use crate::finding::{self, Finding};
use crate::place::Text;
use crate::reply;

/// The text that a new workflow begins with.
const NEW: &str = "workflow: new_workflow\ninputs: {}\nsteps: []\n";

/// An opened workflow or draft.
#[derive(Clone, Debug)]
pub struct Document {
    pub origin: Text,
    pub name: String,
    /// The agent that proposed the draft; empty for a workflow.
    pub by: String,
    /// The text when it was opened or last stored.
    pub text: String,
    /// The text of the saved workflow, which saving replaces; empty if there is no saved workflow.
    pub saved: String,
    /// The revision of `saved`; 0 if there is no saved workflow.
    pub revision: u64,
    pub findings: Vec<Finding>,
    pub fields: Fields,
    /// For a stale draft: how its workflow changed since the draft was made.
    pub meanwhile: Option<Versions>,
}

/// The outcome of saving a text.
#[derive(Debug)]
pub enum Saved {
    Done(Box<Reply>),
    /// Somebody else has changed the workflow or draft since the text was opened, so the workflow was not saved.
    Overtaken(Versions),
    /// With `is_stored`, the draft has the new text, but the workflow was not saved.
    Failed {
        error: Error,
        is_stored: bool,
    },
}

/// Validates a text with `workflow validate`.
pub fn validated(context: &Context, written: &str) -> Result<Vec<Finding>> {
    match action::read(context, "workflow validate", json!({ "yaml": written })) {
        Ok(data) => Ok(finding::all(&data)),
        Err(error) => {
            let found = error.details().map(finding::all).unwrap_or_default();
            if found.is_empty() { Err(error) } else { Ok(found) }
        }
    }
}

/// Changes a value with `workflow set`, or removes it if there is no new value. With `new_input`, also adds the input
/// that the value names. Returns the new text.
pub fn set(context: &Context, written: &str, pointer: &str, value: Option<&str>, new_input: bool) -> Result<String> {
    let mut arguments = json!({ "yaml": written, "pointer": pointer, "new_input": new_input });
    match value {
        Some(value) => arguments["value"] = value.into(),
        None => arguments["remove"] = true.into(),
    }
    Ok(text(&action::read(context, "workflow set", arguments)?, "yaml").to_owned())
}

/// Returns the name and the revision of the workflow that was saved.
fn saved_as(reply: &Reply) -> (&str, u64) {
    let data = rows(&reply.data, "workflows").first().unwrap_or(&reply.data);
    (text(data, "name"), number(data, "revision"))
}

/// Returns the workflow's name from the first line that begins with `workflow:`. Returns `None` if there is no such
/// line, or no name in it.
pub fn named<'t>(mut lines: impl Iterator<Item = &'t str>) -> Option<&'t str> {
    let value = lines.find_map(|line| line.strip_prefix("workflow:"))?;
    let name = value.split(" #").next().unwrap_or_default().trim().trim_matches(['"', '\'']);
    (!name.is_empty()).then_some(name)
}

impl Document {
    pub fn open(context: &Context, origin: &Text) -> Result<Self> {
        let (name, by, text, draft) = match origin {
            Text::Draft(id) => {
                let data = Invocation::new("draft show").with(id).read(context)?;
                let field = |name| self::text(&data, name).to_owned();
                (field("workflow"), field("proposed_by"), field("yaml"), Some(data))
            }
            Text::Workflow(name) => {
                let data = Invocation::new("workflow show").with(name).read(context)?;
                (name.clone(), String::new(), self::text(&data, "yaml").to_owned(), None)
            }
            Text::Empty => ("new_workflow".to_owned(), String::new(), NEW.to_owned(), None),
        };
        let findings = validated(context, &text)?;
        // A text that is not a workflow has no form.
        let fields = Fields::read(context, &text).unwrap_or_default();
        let (saved, revision) = match origin {
            Text::Empty => (String::new(), 0),
            Text::Draft(_) | Text::Workflow(_) => saved(context, &name, None)?,
        };
        let meanwhile = match draft.filter(|draft| self::text(draft, "state") == "stale") {
            Some(draft) => Some(Versions::since(context, &name, number(&draft, "base_revision"))?),
            None => None,
        };
        Ok(Self { origin: origin.clone(), name, by, text, saved, revision, findings, fields, meanwhile })
    }

    /// Saves a text. A workflow gets a new revision; a draft gets the text and is approved.
    pub fn save(&self, context: &Context, written: &str) -> Saved {
        if let Some(versions) = self.edited_elsewhere(context, written) {
            return Saved::Overtaken(versions);
        }
        let mut is_stored = false;
        // If you change the name in the text, saving creates a new workflow, for which the revision is 0.
        let described = action::read(context, "workflow describe", json!({ "yaml": written })).unwrap_or_default();
        let (name, revision) = match text(&described, "workflow") {
            name if name.is_empty() || name == self.name => (self.name.as_str(), self.revision),
            name => (name, 0),
        };
        match self.stored(context, written, revision, &mut is_stored) {
            Ok(reply) => Saved::Done(Box::new(reply)),
            Err(error) => match overtaken(context, &error, name, revision, &self.saved) {
                Some(versions) => Saved::Overtaken(versions),
                None => Saved::Failed { error, is_stored },
            },
        }
    }

    fn stored(&self, context: &Context, written: &str, revision: u64, is_stored: &mut bool) -> Result<Reply> {
        let failed = |error| Error::new(Code::FileFailed, format!("Cannot store the text for saving: {error}"));
        let folder = tempfile::Builder::new().prefix("mcpkg-").tempdir().map_err(failed)?;
        // Name the file after the workflow, because the audit trail has the file's name if `workflow import` refuses
        // the text.
        let name = named(written.lines())
            .filter(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == '-'));
        let file = folder.path().join(format!("{}.yaml", name.unwrap_or("workflow")));
        std::fs::write(&file, written).map_err(failed)?;
        let (path, revision) = (file.to_string_lossy(), revision.to_string());
        match &self.origin {
            Text::Draft(id) => {
                if written != self.text || self.meanwhile.is_some() {
                    let edit = Invocation::new("draft edit").option("--from", &path).option("--revision", &revision);
                    edit.with(id).run(context)?;
                    *is_stored = true;
                }
                Invocation::new("draft approve").with(id).run(context)
            }
            Text::Workflow(_) | Text::Empty => {
                let import = Invocation::new("workflow import").flag("--update").option("--revision", &revision);
                import.with(path).run(context)
            }
        }
    }

    /// Returns the opened and the current text of the draft, if somebody else edited the draft after it was opened.
    fn edited_elsewhere(&self, context: &Context, written: &str) -> Option<Versions> {
        let Text::Draft(id) = &self.origin else { return None };
        let data = Invocation::new("draft show").with(id).read(context).ok()?;
        let theirs = text(&data, "yaml").to_owned();
        (theirs != self.text && theirs != written).then(|| Versions {
            name: self.name.clone(),
            base: self.text.clone(),
            theirs,
            revision: self.revision,
            by: String::new(),
            of_draft: true,
        })
    }

    /// Returns the sentence that reports a save.
    pub fn saved(&self, reply: &Reply) -> String {
        match (&self.origin, saved_as(reply)) {
            (Text::Draft(_), _) => reply::sentence(reply),
            (_, (name, revision)) => format!("Saved {name} as revision {revision}"),
        }
    }

    /// Records that `written` was saved.
    pub fn keep(&mut self, written: String, reply: &Reply) {
        let (name, revision) = saved_as(reply);
        (self.name, self.revision) = (name.to_owned(), revision);
        self.text.clone_from(&written);
        self.saved = written;
        self.meanwhile = None;
    }

    /// Lets the next save replace the version that somebody else saved. For a workflow, the diff before saving then
    /// starts from that version.
    pub fn follow(&mut self, versions: &Versions) {
        if versions.of_draft {
            self.text.clone_from(&versions.theirs);
            return;
        }
        self.name.clone_from(&versions.name);
        self.saved.clone_from(&versions.theirs);
        self.revision = versions.revision;
    }
}

/// A version that somebody else saved, which conflicts with yours, and the text that both versions started from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Versions {
    /// The name of the workflow.
    pub name: String,
    /// The text that both versions started from.
    pub base: String,
    /// The text that is saved now.
    pub theirs: String,
    /// The revision of the workflow; 0 if it was deleted.
    pub revision: u64,
    /// Who saved `theirs`; empty if that is unknown.
    pub by: String,
    /// Whether `theirs` is the text of the draft, which somebody edited, instead of the workflow's.
    pub of_draft: bool,
}

impl Versions {
    /// Reads the revision `base` of a workflow, and the newest revision. Revision 0 has an empty text.
    fn since(context: &Context, name: &str, base: u64) -> Result<Self> {
        let (theirs, revision) = saved(context, name, None)?;
        let base = if base == 0 { String::new() } else { saved(context, name, Some(base))?.0 };
        Ok(Self { name: name.to_owned(), base, theirs, revision, by: by(context, "workflow", name), of_draft: false })
    }

    /// Merges `yours` with `theirs`. Returns `None` if both changed the same lines.
    pub fn merged(&self, yours: &str) -> Option<String> {
        let merged = merge::merge(self.base.as_bytes(), self.theirs.as_bytes(), yours.as_bytes())?;
        String::from_utf8(merged).ok()
    }
}

/// Returns the versions of the conflict if the error says that the workflow is no longer at the revision `shown`.
/// `base` is the text of that revision.
fn overtaken(context: &Context, error: &Error, name: &str, shown: u64, base: &str) -> Option<Versions> {
    let is_changed = matches!(error.code(), Code::ImportConflict | Code::DraftStale);
    let now = error.details().filter(|_| is_changed)?["revision"].as_u64()?;
    let (theirs, revision) = saved(context, name, None).ok().filter(|_| now != shown)?;
    let base = if shown == 0 { String::new() } else { base.to_owned() };
    Some(Versions { name: name.to_owned(), base, theirs, revision, by: by(context, "workflow", name), of_draft: false })
}

/// Returns the text and the number of a revision of a saved workflow. The default is the newest revision. Returns an
/// empty text and 0 if there is no such workflow or revision, or no project.
fn saved(context: &Context, name: &str, revision: Option<u64>) -> Result<(String, u64)> {
    let show = Invocation::new("workflow show").with(name);
    let show = revision.into_iter().fold(show, |show, revision| show.option("--revision", &revision.to_string()));
    match show.read(context) {
        Ok(data) => Ok((text(&data, "yaml").to_owned(), number(&data, "revision"))),
        Err(error) if matches!(error.code(), Code::NotFound | Code::NoProject) => Ok((String::new(), 0)),
        Err(error) => Err(error),
    }
}

/// Returns who saved a text, for a sentence. `by` is an actor of the audit trail; empty if it is unknown.
pub fn who(by: &str) -> String {
    match by {
        "" => "Somebody".to_owned(),
        "shell" => "Somebody in the shell".to_owned(),
        "console" => "Somebody in the console".to_owned(),
        by => by.to_owned(),
    }
}

/// Returns the actor that made the newest revision of an item; empty if it is unknown. `noun` is that of the item's commands,
/// such as `workflow`.
pub fn by(context: &Context, noun: &str, name: &str) -> String {
    let history = Invocation::new(&format!("{noun} history")).with(name).read(context).unwrap_or_default();
    rows(&history, "revisions").first().map(|newest| text(newest, "actor").to_owned()).unwrap_or_default()
}
