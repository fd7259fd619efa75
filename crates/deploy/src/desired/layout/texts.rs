//! Keeps `@path` in instructions as plain text. Some agents treat it as an import of a file, so text that was written
//! for other agents is rewritten for them.

use std::collections::HashMap;

use super::importing::AGENTS_MD;
use crate::desired::builder::Builder;
use crate::module::{Kind, Module};
use crate::targets::Target;
use mcpkg_agents::agents;
use mcpkg_agents::commands::inert::{self, Acts};

/// The instructions that are rewritten for agents that follow imports, by id.
pub(super) struct Texts(HashMap<String, Module>);

impl Texts {
    pub(super) fn of(modules: &[Module]) -> Self {
        let instructions = modules.iter().filter(|module| module.kind == Kind::Instructions);
        Self(instructions.filter_map(|module| Some((module.id.clone(), rewritten(module)?))).collect())
    }

    /// Returns the version of the module for agents that follow imports.
    pub(super) fn inert<'m>(&'m self, module: &'m Module) -> &'m Module {
        self.0.get(&module.id).unwrap_or(module)
    }

    /// Returns the module as this target gets it, and remarks on it if it was rewritten.
    pub(super) fn for_target<'m>(&'m self, builder: &mut Builder, module: &'m Module, target: Target) -> &'m Module {
        self.for_targets(builder, module, &[target])
    }

    /// Returns the module for a file that these targets read, and remarks on it if it was rewritten.
    pub(super) fn for_targets<'m>(
        &'m self,
        builder: &mut Builder,
        module: &'m Module,
        targets: &[Target],
    ) -> &'m Module {
        if !targets.iter().any(|target| follows_imports(target.facts())) {
            return module;
        }
        self.remark(builder, module, targets);
        self.inert(module)
    }

    /// Returns the module for a block in a file. In AGENTS.md, the text does not depend on the targets.
    pub(super) fn for_file<'m>(
        &'m self,
        builder: &mut Builder,
        module: &'m Module,
        file: &str,
        targets: &[Target],
    ) -> &'m Module {
        if file != AGENTS_MD {
            return self.for_targets(builder, module, targets);
        }
        self.remark(builder, module, targets);
        self.inert(module)
    }

    /// Adds a remark to a module that was rewritten for one of the targets.
    pub(super) fn remark(&self, builder: &mut Builder, module: &Module, targets: &[Target]) {
        let reader = targets.iter().find(|target| follows_imports(target.facts()));
        if let Some(reader) = reader.filter(|_| self.0.contains_key(&module.id)) {
            let said = "names such as @path import no file in the agent that it was written for, so they are written as \
                        code, which no agent follows";
            builder.remark(module, *reader, said.to_owned());
        }
    }
}

const fn follows_imports(agent: &agents::Agent) -> bool {
    agent.reading.import_hops > 0
}

/// Returns the module with `@path` written as code. `None` if the text contains no `@path`, or if the agent that it was
/// written for follows imports or is not recorded.
fn rewritten(module: &Module) -> Option<Module> {
    let agent = module.about.agent.as_deref()?;
    if agents::with_id(agent).is_some_and(follows_imports) {
        return None;
    }
    let file = module.files.first()?;
    let text = std::str::from_utf8(&file.bytes).ok()?;
    let bytes = inert::file(text, Acts { attaches: false, ..Acts::LIKE_CLAUDE_CODE })?.into_bytes().into();
    let mut rewritten = module.clone();
    rewritten.files.first_mut()?.bytes = bytes;
    Some(rewritten)
}
