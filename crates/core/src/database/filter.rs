//! The filters that `mcpkg events` and `mcpkg undo` share.

use crate::op::Context;
use mcpkg_base::clock::{self, Millis};
use mcpkg_base::error::{Code, Error, Result};

/// Parses the time of `--since`.
pub(super) fn since(context: &Context, text: &str) -> Result<Millis> {
    clock::since::parse(text, context.clock.now()).map_err(|why| {
        Error::new(Code::InvalidArgument, format!("--since '{}' {why}", text.escape_debug())).hint(clock::since::HINT)
    })
}

/// Returns the project of `--project`. A project selected in any other way, such as by the current folder, does not
/// filter the audit trail.
pub(super) fn project(context: &Context) -> Option<&str> {
    context.selection.named.as_deref().filter(|_| context.selection.named_by == "--project")
}

#[cfg(test)]
mod tests {
    use mcpkg_store::Store;
    use mcpkg_store::projects::Selection;

    use super::*;
    use crate::op::Domains;

    #[test]
    fn only_the_option_filters_by_project() {
        let folder = tempfile::tempdir().expect("a folder");
        let store = Store::open(&folder.path().join("mcpkg.db")).expect("a database");
        let by = |named_by| {
            let selection = Selection { named: Some("p".to_owned()), named_by, ..Selection::default() };
            let context = Context::shell(Domains::NONE, store.clone(), selection);
            project(&context).map(str::to_owned)
        };
        assert_eq!((by("--project").as_deref(), by("MCPKG_PROJECT")), (Some("p"), None));
    }
}
