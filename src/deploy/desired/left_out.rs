//! What a target is not given, since it has no form that says the same.

use serde_json::{Value, json};

use crate::deploy::targets::Target;

/// A module that is meant for a target and is not written for it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The module.
    pub module_id: String,
    /// The target.
    pub target: Target,
    /// Why.
    pub reason: Reason,
}

/// Why a target is not given a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Reason {
    /// It has no place for one of the globs.
    Globs,
    /// It takes instructions for whole folders only.
    NotAFolder,
    /// It knows no instructions that apply by their description.
    ByDescription,
    /// It knows no instructions that apply by hand.
    ByHand,
    /// It needs a description, and there is none.
    NoDescription,
    /// Its form holds text only, and the module's is none.
    NotText,
    /// It reads no such file from the home folder.
    NotForTheUser,
}

impl Reason {
    /// The word for programs.
    pub const fn word(self) -> &'static str {
        match self {
            Reason::Globs => "globs",
            Reason::NotAFolder => "not_a_folder",
            Reason::ByDescription => "by_description",
            Reason::ByHand => "by_hand",
            Reason::NoDescription => "no_description",
            Reason::NotText => "not_text",
            Reason::NotForTheUser => "not_for_the_user",
        }
    }

    /// Why, for a person: what follows "which".
    const fn text(self) -> &'static str {
        match self {
            Reason::Globs => "cannot say these globs",
            Reason::NotAFolder => "takes instructions for whole folders only, such as src/**",
            Reason::ByDescription => "has no instructions that apply by their description",
            Reason::ByHand => "has no instructions that apply by hand",
            Reason::NoDescription => "needs a description",
            Reason::NotText => "takes text only",
            Reason::NotForTheUser => "reads no such file from the home folder",
        }
    }
}

impl LeftOut {
    /// The data of it.
    pub fn json(&self) -> Value {
        json!({ "module_id": self.module_id, "target": self.target.name(), "reason_code": self.reason.word() })
    }
}

/// Returns what was left out, for a person: a line for each module and reason.
pub fn lines(left_out: &[LeftOut]) -> Vec<String> {
    let mut grouped: Vec<(&str, Reason, Vec<&str>)> = Vec::new();
    for LeftOut { module_id, target, reason } in left_out {
        match grouped.iter_mut().find(|(id, known, _)| id == module_id && known == reason) {
            Some((_, _, targets)) => targets.push(target.facts().title),
            None => grouped.push((module_id, *reason, vec![target.facts().title])),
        }
    }
    let line = |(id, reason, targets): (&str, Reason, Vec<&str>)| {
        format!("module '{id}' is not written for {}, which {}", targets.join(" and "), reason.text())
    };
    grouped.into_iter().map(line).collect()
}
