//! Warns about empty submodules in new work trees. git fills submodules only on request.

use std::path::Path;

use tokio_util::sync::CancellationToken;

use super::step::Step;
use mcpkg_base::git::{Git, status};
use mcpkg_base::shell;

/// Returns warnings about the work trees that these steps created below `root`.
pub fn warnings(root: &Path, steps: &[Step], cancelled: &CancellationToken) -> Vec<String> {
    let made = steps.iter().filter_map(|step| match step {
        Step::AddWorktree { repo, path, .. }
        | Step::RestoreWorktree { repo, path, .. }
        | Step::Place { repo, path, .. } => Some((repo, path)),
        _ => None,
    });
    made.filter_map(|(repo, path)| warning(repo, &root.join(path), cancelled)).collect()
}

/// Returns a warning if the work tree has empty submodules.
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
