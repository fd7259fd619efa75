//! Adds the flags of the command line to the commands in hints and warnings, so that a copied command reaches the same
//! project and database.

use mcpkg_base::error::Error;
use mcpkg_base::redact::redact;
use mcpkg_base::shell;
use mcpkg_core::op::Reply;

/// Commands that do not depend on a project, so `--project` is not added to them.
const OF_NO_PROJECT: [&str; 12] = [
    "access",
    "backup",
    "check",
    "client",
    "compact",
    "completions",
    "demo",
    "init",
    "man",
    "move",
    "project",
    "restore",
];

/// The flags of the command line that commands in hints repeat.
#[derive(Clone, Default)]
pub(super) struct Flags {
    db: Option<String>,
    project: Option<String>,
}

impl Flags {
    /// Returns the flags for this `--db` and `--project`. A database URL with a password is left out.
    pub(super) fn new(db: Option<&str>, project: Option<&str>) -> Self {
        let db = db.filter(|db| redact(db) == *db).map(|db| format!(" --db {}", shell::quote(db)));
        Self { db, project: project.map(|project| format!(" --project {}", shell::quote(project))) }
    }

    fn are_none(&self) -> bool {
        self.db.is_none() && self.project.is_none()
    }

    /// Adds the flags to the commands in a reply's hints and warnings.
    pub(super) fn in_reply(&self, mut reply: Reply) -> Reply {
        if !self.are_none() {
            reply.hints.iter_mut().chain(&mut reply.warnings).for_each(|text| *text = self.said_in(text));
        }
        reply
    }

    /// Adds the flags to the commands in an error's hints.
    pub(super) fn in_error(&self, error: Error) -> Error {
        if self.are_none() { error } else { error.with_hints(|hint| self.said_in(hint)) }
    }

    /// Adds the flags to each mcpkg command in backticks that does not have them yet.
    fn said_in(&self, text: &str) -> String {
        const START: &str = "`mcpkg ";
        let mut said = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(at) = rest.find(START) {
            let (before, command) = rest.split_at(at + START.len() - 1);
            let end = command.find('`').unwrap_or(command.len());
            said.push_str(before);
            let words = &command[..end];
            let names = |flags: &[&str]| words.split(' ').any(|word| flags.contains(&word));
            let of_project = command_of(words).is_some_and(|word| !OF_NO_PROJECT.contains(&word));
            said.extend(self.db.as_deref().filter(|_| !names(&["--db"])));
            said.extend(self.project.as_deref().filter(|_| of_project && !names(&["--project", "-p"])));
            rest = command;
        }
        said + rest
    }
}

/// Returns the first word of a command line, not counting the flags `--db`, `--project` and `-p` and their values.
fn command_of(line: &str) -> Option<&str> {
    let mut words = line.split(' ').filter(|word| !word.is_empty());
    loop {
        match words.next()? {
            "--db" | "--project" | "-p" => {
                words.next();
            }
            word => return Some(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_in_hints_repeat_the_flags_of_the_line() {
        let flags = Flags::new(Some("my db"), Some("b"));
        for (hint, said) in [
            (
                "`mcpkg prompt restore x 1` restores the prompt",
                "`mcpkg --db 'my db' --project b prompt restore x 1` restores the prompt",
            ),
            (
                "`mcpkg evolve list`, then `mcpkg sync`",
                "`mcpkg --db 'my db' --project b evolve list`, then `mcpkg --db 'my db' --project b sync`",
            ),
            ("`mcpkg deploy --project b`", "`mcpkg --db 'my db' deploy --project b`"),
            ("`mcpkg project list` shows them", "`mcpkg --db 'my db' project list` shows them"),
            ("`mcpkg --db x check`", "`mcpkg --db x check`"),
            ("name the folder of `mcpkg`", "name the folder of `mcpkg`"),
        ] {
            assert_eq!(flags.said_in(hint), said);
        }
        assert_eq!(Flags::default().said_in("`mcpkg sync`"), "`mcpkg sync`");
        assert_eq!(Flags::new(Some("postgres://me:secret@host/db"), None).said_in("`mcpkg sync`"), "`mcpkg sync`");
    }
}
