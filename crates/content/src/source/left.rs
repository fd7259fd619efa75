//! Builds hints about the files of a source that were left out, each with the command that adds them.

use std::collections::BTreeSet;

use crate::import::account::Account;
use crate::import::reason::Reason;
use mcpkg_base::plural;
use mcpkg_base::shell::quote;

/// The maximum number of files that a hint names.
const NAMED: usize = 3;

/// Returns the hints. `documents` is the command that takes documents too, and `again` begins a command that adds the same
/// source with another name.
pub fn hints(account: &Account, documents: &str, again: &str) -> Vec<String> {
    let left =
        |reason| account.left_out.iter().filter(move |left| left.reason == reason).map(|left| left.path.as_str());
    let words = |count| if count == 1 { ("was", "it") } else { ("were", "them") };
    let mut hints = Vec::new();
    let unread = left(Reason::Unread).count();
    if unread > 0 {
        let ((was, them), files) = (words(unread), plural::count(unread, "file"));
        hints.push(format!("{files} that no agent reads {was} left out; to take {them} as documents: `{documents}`"));
    }
    let theirs: Vec<&str> = left(Reason::Contributors).collect();
    if !theirs.is_empty() {
        let ((was, them), files) = (words(theirs.len()), plural::count(theirs.len(), "file"));
        let only: String = theirs
            .iter()
            .map(|path| unit(path))
            .collect::<BTreeSet<_>>()
            .iter()
            .fold(String::new(), |only, path| only + " --only " + &quote(path));
        hints.push(format!(
            "{files} for the repository's contributors {was} left out: {}; to take {them}: `{again}{only}`",
            plural::first(theirs, NAMED)
        ));
    }
    hints
}

/// Returns the path that a hint names: the first two parts of `path`. `.claude/hooks/a.sh` -> `.claude/hooks`.
fn unit(path: &str) -> &str {
    path.match_indices('/').nth(1).map_or(path, |(end, _)| &path[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::import::reason::LeftOut;

    #[test]
    fn each_hint_has_a_command() {
        let left_out = vec![
            LeftOut::file(".claude/hooks/a.sh", Reason::Contributors),
            LeftOut::file(".claude/hooks/b.sh", Reason::Contributors),
            LeftOut::file("CLAUDE.md", Reason::Contributors),
            LeftOut::file("README.md", Reason::Unread),
        ];
        let account = Account { left_out, ..Account::default() };
        assert_eq!(
            hints(&account, "mcpkg source update kit --documents", "mcpkg source add kit --name kit-root"),
            [
                "1 file that no agent reads was left out; to take it as documents: `mcpkg source update kit --documents`",
                "3 files for the repository's contributors were left out: .claude/hooks/a.sh, .claude/hooks/b.sh, \
                 CLAUDE.md; to take them: `mcpkg source add kit --name kit-root --only .claude/hooks --only CLAUDE.md`",
            ]
        );
        assert!(hints(&Account::default(), "", "").is_empty());
    }
}
