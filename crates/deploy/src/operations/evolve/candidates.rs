//! Splits drifted files into changes that can be proposed and changes that cannot, with the reasons.

use std::collections::BTreeSet;
use std::path::Path;

use serde_json::{Value, json};

use crate::desired::unmap::{self, Edit};
use crate::module::Kind;
use crate::plan::prepare::Prepared;
use crate::plan::{Change, Drift};
use crate::source::Site;
use mcpkg_base::{disk, plural, shell};
use mcpkg_core::op::{Body, Table};

/// A change that can be proposed.
pub(super) struct Candidate {
    pub(super) edit: Edit,
    pub(super) target: String,
    pub(super) path: String,
    pub(super) executable: bool,
    pub(super) base: Vec<u8>,
    /// Whether the change belongs to a skill that the project does not have yet.
    pub(super) is_new: bool,
}

impl Candidate {
    pub(super) fn json(&self) -> Value {
        let mut data = json!({
            "module_id": self.edit.module_id,
            "target": self.target,
            "path": self.path,
            "path_posix": disk::posix(Path::new(&self.path)),
        });
        if self.is_new {
            data["new"] = json!(true);
        }
        data
    }
}

/// A drifted file that cannot be proposed.
pub(super) struct Skipped {
    target: String,
    path: String,
    module_ids: Vec<String>,
    code: &'static str,
    why: String,
    next_actions: Vec<String>,
}

#[derive(Default)]
pub(super) struct Candidates {
    pub(super) candidates: Vec<Candidate>,
    pub(super) skipped: Vec<Skipped>,
    pub(super) warnings: Vec<String>,
}

impl Candidates {
    pub(super) fn find(prepared: &Prepared, module: Option<&str>) -> Self {
        let mut found = Self::default();
        let is_wanted = |change: &&Change| module.is_none_or(|id| change.module_ids.iter().any(|known| known == id));
        for change in prepared.plan.changes.iter().filter(is_wanted) {
            match change.drift {
                Drift::UserModified => found.take(prepared, change, module),
                Drift::Missing => found.skip(prepared, change, "missing", "it was deleted on disk".to_owned()),
                Drift::Both => {
                    found.skip(prepared, change, "upstream_changed", "its source changed too".to_owned());
                }
                // The user did not change these files: their source changed, no module produces them any more, or this
                // source never deployed them.
                Drift::UpstreamPending | Drift::Extra | Drift::Unmanaged => {}
            }
        }
        found
    }

    fn take(&mut self, prepared: &Prepared, change: &Change, module: Option<&str>) {
        let output = prepared.plan.desired.output(&change.path);
        let (Some(output), Some(bytes)) = (output, change.before.bytes()) else {
            return self.skip(prepared, change, "read_error", "it is not a file".to_owned());
        };
        let unmapped = match unmap::unmap(output, bytes) {
            Ok(unmapped) => unmapped,
            Err(why) => return self.skip(prepared, change, "multi_module_output", why),
        };
        let path = change.path.display().to_string();
        for lost in &unmapped.lost {
            self.warnings.push(format!("`{path}`: {lost} is not proposed"));
        }
        if unmapped.edits.is_empty() {
            let why = if unmapped.lost.is_empty() {
                "only its mode changed"
            } else {
                "the changed part does not belong to any module"
            };
            return self.skip(prepared, change, "outside_modules", why.to_owned());
        }
        for edit in unmapped.edits.into_iter().filter(|edit| module.is_none_or(|id| edit.module_id == id)) {
            let same = |known: &&Candidate| known.edit.module_id == edit.module_id && known.edit.file == edit.file;
            if let Some(known) = self.candidates.iter().find(same) {
                if known.edit != edit {
                    let first = &known.path;
                    self.warnings.push(format!(
                        "{} has different changes in `{first}` and `{path}`; only the change in the first file is \
                            proposed",
                        edit.module_id
                    ));
                }
                continue;
            }
            let is_text = matches!(prepared.kinds.get(&edit.module_id), Some(Kind::Command | Kind::Prompt));
            if is_text && std::str::from_utf8(&edit.bytes).is_err() {
                self.skip(prepared, change, "read_error", "it is no longer UTF-8 text".to_owned());
                continue;
            }
            let base = output.parts.iter().find(|part| part.module_id == edit.module_id && part.file == edit.file);
            self.candidates.push(Candidate {
                target: change.targets.first().cloned().unwrap_or_default(),
                path: path.clone(),
                executable: output.executable,
                base: base.map(|part| part.bytes.to_vec()).unwrap_or_default(),
                is_new: false,
                edit,
            });
        }
    }

    fn skip(&mut self, prepared: &Prepared, change: &Change, code: &'static str, why: String) {
        let arguments = prepared.site.arguments();
        let next_actions = match code {
            "missing" => vec![
                format!("mcpkg evolve restore{arguments} --yes --json"),
                format!("mcpkg deploy --apply{arguments} --yes --json"),
            ],
            "upstream_changed" => vec![format!("mcpkg preview --diff{arguments} --json")],
            _ => Vec::new(),
        };
        self.skipped.push(Skipped {
            target: change.targets.first().cloned().unwrap_or_default(),
            path: change.path.display().to_string(),
            module_ids: change.module_ids.clone(),
            code,
            why,
            next_actions,
        });
    }

    /// Returns the sentence for a call that could not propose any of the changed files.
    pub(super) fn nothing_recorded(&self) -> String {
        let whys: BTreeSet<&str> = self.skipped.iter().map(|skipped| skipped.why.as_str()).collect();
        let whys: Vec<&str> = whys.into_iter().collect();
        let files = plural::count(self.skipped.len(), "changed file");
        format!("Nothing was recorded: skipped {files} ({})", whys.join("; "))
    }

    /// Returns what a person can do about files that changed both on disk and in the source, if there are any.
    pub(super) fn next_steps(&self, site: &Site) -> Option<String> {
        let changed = self.skipped.iter().find(|skipped| skipped.code == "upstream_changed")?;
        let (path, arguments) = (shell::quote(&changed.path), site.arguments());
        Some(format!(
            "To replace a file that changed on both sides, run `mcpkg deploy --apply --only {path} --adopt {path}{arguments}`; its \
             text is kept for a rollback. To keep its text, copy the text into the source first, and then do the same"
        ))
    }

    pub(super) fn summary(&self) -> Value {
        let count = |code: &str| self.skipped.iter().filter(|skipped| skipped.code == code).count();
        json!({
            "drifted_proposeable": self.candidates.len(),
            "drifted_skipped": self.skipped.len(),
            "skipped_missing": count("missing"),
            "skipped_multi_module": count("multi_module_output"),
            "skipped_read_error": count("read_error"),
        })
    }

    /// Replaces shell commands in the suggestions for skipped files with an agent's tools.
    pub(super) fn for_agent(&mut self) {
        for skipped in &mut self.skipped {
            let actions: &[&str] = match skipped.code {
                "missing" => &[
                    "evolve_restore with yes=true",
                    "deploy, then deploy_apply with yes=true and the confirm_token from deploy",
                ],
                "upstream_changed" => &["preview with diff=true"],
                _ => &[],
            };
            skipped.next_actions = actions.iter().map(|action| (*action).to_owned()).collect();
        }
    }

    pub(super) fn skipped_json(&self) -> Vec<Value> {
        let json = |skipped: &Skipped| {
            json!({
                "target": skipped.target,
                "path": skipped.path,
                "path_posix": disk::posix(Path::new(&skipped.path)),
                "reason": skipped.code,
                "reason_code": skipped.code,
                "reason_message": skipped.why,
                "next_actions": skipped.next_actions,
                "module_ids": skipped.module_ids,
            })
        };
        self.skipped.iter().map(json).collect()
    }

    /// Lists what would be proposed and what would not. Paths are relative to the deploy root.
    pub(super) fn table(&self, root: &str) -> Body {
        let proposed = self.candidates.iter().map(|candidate| {
            let word = if candidate.is_new { "propose new" } else { "propose" };
            vec![word.to_owned(), candidate.edit.module_id.clone(), candidate.path.clone(), String::new()]
        });
        let skipped = self.skipped.iter().map(|skipped| {
            vec!["skip".to_owned(), skipped.module_ids.join(", "), skipped.path.clone(), skipped.why.clone()]
        });
        let empty = "No deployed file was changed".to_owned();
        let columns = &["what", "module", "path", "what happened"];
        let table = Table { columns, rows: proposed.chain(skipped).collect(), empty };
        Body::Below(root.to_owned(), Box::new(Body::Table(table)))
    }
}
