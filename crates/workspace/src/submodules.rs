//! Submodules that are empty in a work tree that was just made: git fills them in only when it is asked to.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::step::Step;
use mcpkg_base::git::{Git, status};
use mcpkg_base::shell;

/// Returns what to say of the work trees that steps made below `root`.
pub fn warnings(root: &Path, steps: &[Step], cancelled: &CancellationToken) -> Vec<String> {
    let made = steps.iter().filter_map(|step| match step {
        Step::AddWorktree { repo, path, .. }
        | Step::RestoreWorktree { repo, path, .. }
        | Step::Place { repo, path, .. } => Some((repo, path)),
        _ => None,
    });
    made.filter_map(|(repo, path)| warning(repo, &root.join(path), cancelled)).collect()
}

/// Returns what to say of a work tree whose submodules are empty.
pub fn warning(repo: &str, folder: &Path, cancelled: &CancellationToken) -> Option<String> {
    let empty = status::empty_submodules(&Git::of(folder, cancelled)).unwrap_or_default();
    let names: Vec<String> = empty.iter().map(|path| format!("`{}`", path.display())).collect();
    (!names.is_empty()).then(|| {
        let (are, them) = if names.len() == 1 { ("the submodule", "is") } else { ("the submodules", "are") };
        let place = shell::quote(&folder.display().to_string());
        format!(
            "{repo}: {are} {} {them} empty; fetch the contents with `git -C {place} submodule update --init`",
            names.join(", ")
        )
    })
}
