//! Finds the spec that a call names, and provides shell completion for names of specs.

use std::path::Path;

use super::opened::Spec;
use super::trees::{SpecPlace, Trees};
use crate::root::{self, Workspace};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::git::{Git, LOCAL};
use mcpkg_base::process::Limits;
use mcpkg_core::op::{Context, Names};

/// Shell completion for the open specs of the workspace around the current folder.
pub(super) const OPEN: Names = Names::Stored(|typed| {
    let Some(root) = root::find(&root::start(typed.selection)) else { return Ok(Vec::new()) };
    Ok(typed.matching(open(&Workspace::read(&root)?)))
});

/// Returns the names of the open specs. A name that several repositories share is prefixed with its repository.
pub(super) fn open(workspace: &Workspace) -> Vec<String> {
    let mut all = Trees::of(workspace).all();
    all.retain(|found| !found.is_archived);
    let is_alone = |found: &SpecPlace| all.iter().filter(|other| other.name == found.name).count() == 1;
    all.iter().map(|found| if is_alone(found) { found.name.clone() } else { found.qualified() }).collect()
}

/// Returns the spec's name from the call. In a shell, the name may be missing and defaults to the spec of the current
/// branch.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if an agent gives no name, or if the current branch has no spec or several.
pub(super) fn name_or_branch(context: &Context, workspace: &Workspace, name: Option<String>) -> Result<String> {
    match name {
        Some(name) => Ok(name),
        None if context.is_shell() => of_branch(context, workspace)?.ok_or_else(|| {
            Error::new(Code::InvalidArgument, "You did not name a spec, and the current branch has none")
                .hint("`mcpkg spec list` lists the specs")
        }),
        None => Err(Error::new(Code::InvalidArgument, "`name` is missing: pass the name of the spec")),
    }
}

/// Returns the name of the open spec whose branch is checked out in the current folder; `None` if there is none.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if there are several.
pub(super) fn of_branch(context: &Context, workspace: &Workspace) -> Result<Option<String>> {
    let Some(branch) = current_branch(context) else { return Ok(None) };
    let mut trees = Trees::of(workspace);
    let mut names = Vec::new();
    for found in trees.all().into_iter().filter(|found| !found.is_archived) {
        let name = found.qualified();
        // Skip specs that cannot be read here; commands that name such a spec report the error.
        if let Ok(spec) = Spec::open(&mut trees, found)
            && spec.branch(&workspace.manifest.flow.feature_prefix) == branch
        {
            names.push(name);
        }
    }
    match names.as_slice() {
        [] => Ok(None),
        [one] => Ok(Some(one.clone())),
        several => Err(Error::new(
            Code::InvalidArgument,
            format!("You did not name a spec, and the current branch '{branch}' has several: {}", several.join(", ")),
        )
        .with_details(serde_json::json!({ "branch": branch, "choices": several }))),
    }
}

/// Returns the branch that is checked out in the folder where the command was started.
fn current_branch(context: &Context) -> Option<String> {
    let folder = Path::new(&context.selection.directory);
    let git = Git::new(folder, Limits::new(LOCAL, &context.cancelled));
    // Outside a repository git fails, and there is no current branch either.
    let printed = git.ask(&["symbolic-ref", "--quiet", "--short", "HEAD"]).ok().flatten()?;
    Some(String::from_utf8(printed).ok()?.trim_end().to_owned())
}
