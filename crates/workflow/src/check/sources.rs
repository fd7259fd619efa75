//! Finds the inputs, variables and outputs that contain passwords: by their names, and by the arguments that they are passed to.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::templates::{Slot, Use};
use crate::definition::{Definition, InputType};
use crate::expression::Root;
use crate::passwords::{self, Named, Places};
use crate::spec::CommandSpec;
use crate::yaml::places::below;

/// The places of passwords in the inputs, variables and outputs of a workflow.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    passed: HashMap<Root, Places>,
    /// Inputs that take references to secrets. The references may be shown.
    references: HashSet<String>,
}

impl Sources {
    /// Returns the sources of a workflow. `spec` returns the command of a step, if known.
    pub(super) fn of<'s>(
        definition: &Definition,
        uses: &[Use],
        spec: impl Fn(usize) -> Option<&'s CommandSpec>,
    ) -> Self {
        let secrets = definition.inputs.list.iter().filter(|named| named.input.r#type == InputType::Secret);
        let mut sources = Self { references: secrets.map(|named| named.id.clone()).collect(), ..Self::default() };
        for used in uses {
            let Some(places) = used.slot.step().and_then(&spec).and_then(|spec| received(used, spec)) else { continue };
            for path in used.paths() {
                sources.passed.entry(path.root.clone()).or_default().add(places.below(&path.segments));
            }
        }
        sources
    }

    /// Calls `f` with each password inside a source's value, and with its JSON pointer.
    pub fn each(&self, source: &Root, value: &mut Value, f: &mut impl FnMut(&str, &mut Value)) {
        let named = match source {
            Root::Input(name) if self.references.contains(name) => return,
            Root::Input(name) | Root::Env(name) => Named::of(name),
            Root::Step(_) => Named::Plain,
            // A catalog secret is only referred to by its name. Its value is never available here.
            Root::Secret(_) => return,
        };
        passwords::each(value, "", self.passed.get(source).unwrap_or(&Places::default()), named, f);
    }

    /// Returns the value of a source with its passwords masked.
    pub fn hidden(&self, source: &Root, value: &Value) -> Value {
        let mut kept = value.clone();
        self.each(source, &mut kept, &mut |_, value| *value = mcpkg_base::redact::HIDDEN.into());
        kept
    }
}

/// Returns where the value of a template contains passwords. This depends on the argument or the part of the body that gets the
/// value.
fn received(used: &Use, spec: &CommandSpec) -> Option<Places> {
    let (begin, mut places, mut named) = match &used.slot {
        Slot::With(step, argument) => (
            below(&format!("/steps/{step}/with"), argument),
            passwords::places(spec, argument),
            Named::of_argument(spec, argument),
        ),
        Slot::Body(step) => (format!("/steps/{step}/body"), passwords::of_body(spec), Named::Plain),
        _ => return None,
    };
    for part in used.pointer.strip_prefix(&begin)?.split('/').skip(1) {
        let key = part.replace("~1", "/").replace("~0", "~");
        (places, named) = (places.within(&key), named.inside(&key));
    }
    match named {
        Named::Plain => Some(places).filter(|places| !places.is_empty()),
        Named::Texts | Named::All => Some(Places::whole()),
    }
}
