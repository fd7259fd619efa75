//! Collects remarks on modules that a target gets in a changed form. A plan shows each remark once.

use serde_json::{Value, json};

use super::left_out::{NAMED, some};
use crate::targets::Target;

/// A remark on a module that a target gets in a changed form.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub module_id: String,
    pub target: Target,
    /// The text of the remark. It is shown after the module's name.
    pub said: String,
}

impl Remark {
    pub fn json(&self) -> Value {
        json!({ "module_id": self.module_id, "target": self.target.name(), "remark": self.said })
    }
}

/// Returns the remarks for a person: one line for each module, or one line for many modules with the same remark.
pub fn lines(remarks: &[Remark]) -> Vec<String> {
    let mut said: Vec<(&str, Vec<&str>)> = Vec::new();
    for Remark { module_id, said: what, .. } in remarks {
        match said.iter_mut().find(|(known, _)| known == what) {
            Some((_, ids)) if ids.contains(&module_id.as_str()) => {}
            Some((_, ids)) => ids.push(module_id),
            None => said.push((what, vec![module_id])),
        }
    }
    said.into_iter().flat_map(|(what, ids)| lines_for(what, &ids)).collect()
}

/// Returns a line for each module and remark.
pub fn each(remarks: &[Remark]) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for Remark { module_id, said, .. } in remarks {
        let line = format!("module '{module_id}': {said}");
        if !lines.contains(&line) {
            lines.push(line);
        }
    }
    lines
}

fn lines_for(what: &str, ids: &[&str]) -> Vec<String> {
    match ids.len() <= NAMED {
        true => ids.iter().map(|id| format!("module '{id}': {what}")).collect(),
        false => vec![format!("{} modules: {what} ({})", ids.len(), some(ids))],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_remark_on_many_modules_takes_one_line() {
        let of = |target: usize, n: usize| Remark {
            module_id: format!("m{n}"),
            target: Target::all()[target],
            said: "its model is lost".to_owned(),
        };
        let few: Vec<Remark> = (1..=2).flat_map(|n| [of(0, n), of(1, n)]).collect();
        assert_eq!(lines(&few), ["module 'm1': its model is lost", "module 'm2': its model is lost"]);
        let many: Vec<Remark> = (1..=5).map(|n| of(0, n)).collect();
        assert_eq!(lines(&many), ["5 modules: its model is lost ('m1', 'm2', 'm3' and 2 more)"]);
    }
}
