//! What can go wrong: one [`Error`] with a [`Code`], and the one table that says what each code means to each face.

use std::fmt;

use serde_json::Value;

/// The result of everything in this crate that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Whose fault a failure is, which decides how much of it is told and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blame {
    /// The caller's: the message names the thing and says what to do.
    Caller,
    /// The machine's (disk full, file damaged): every face tells it in the same words.
    Machine,
    /// Ours: a bug. Agents see no internals; the shell shows the chain with `-v`.
    Us,
}

macro_rules! codes {
    ($($variant:ident $name:literal $exit:literal $rpc:literal $blame:ident $about:literal;)*) => {
        /// A stable name for a kind of failure. The table in this file is the only place that lists them.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code {
            $(#[doc = $about] $variant,)*
        }

        impl Code {
            /// Every code, in the order of the documentation.
            pub const ALL: &'static [Code] = &[$(Code::$variant,)*];

            /// The name that users and agents see, such as `E_NOT_FOUND`.
            pub const fn name(self) -> &'static str {
                match self { $(Code::$variant => $name,)* }
            }

            /// The exit status of the shell command.
            pub const fn exit(self) -> u8 {
                match self { $(Code::$variant => $exit,)* }
            }

            /// The JSON-RPC code when an MCP method other than `tools/call` fails.
            pub const fn rpc(self) -> i32 {
                match self { $(Code::$variant => $rpc,)* }
            }

            /// Whose fault it is.
            pub const fn blame(self) -> Blame {
                match self { $(Code::$variant => Blame::$blame,)* }
            }

            /// One line for the reference page.
            pub const fn about(self) -> &'static str {
                match self { $(Code::$variant => $about,)* }
            }
        }
    };
}

codes! {
    // variant          name                   exit rpc    blame   about
    InvalidArgument    "E_INVALID_ARGUMENT"    2  -32602  Caller  "An argument is missing, malformed, or does not fit the others.";
    NoProject          "E_NO_PROJECT"          1  -32602  Caller  "No project is selected and the call needs one.";
    NotFound           "E_NOT_FOUND"           1  -32602  Caller  "The project, prompt, resource, revision or file named does not exist.";
    AlreadyExists      "E_ALREADY_EXISTS"      1  -32602  Caller  "The name or URI is taken.";
    ConfirmRequired    "E_CONFIRM_REQUIRED"    1  -32602  Caller  "The operation cannot be undone and was not confirmed.";
    ImportConflict     "E_IMPORT_CONFLICT"     1  -32602  Caller  "An import would overwrite what differs, or two files want one name; nothing was imported.";
    Cancelled          "E_CANCELLED"           1  -32603  Caller  "The user gave up before anything was changed.";
    TooLarge           "E_TOO_LARGE"           1  -32602  Caller  "The content is larger than one answer may be.";
    TemplateFailed     "E_TEMPLATE_FAILED"     1  -32602  Caller  "A prompt template does not parse or does not render with these arguments.";
    EditorFailed       "E_EDITOR_FAILED"       1  -32602  Caller  "The editor could not be started, ended with an error, or what it edited was changed meanwhile; nothing was changed.";
    FileFailed         "E_FILE_FAILED"         1  -32603  Machine "A file of the user's could not be read or written.";
    NotDatabase        "E_DB_CORRUPT"          1  -32603  Machine "The file is not a database, is empty, or is damaged; it was left untouched.";
    ForeignDatabase    "E_DB_FOREIGN"          1  -32603  Machine "The file is another application's SQLite database; it was left untouched.";
    NewerDatabase      "E_DB_NEWER"            1  -32603  Machine "The database was written by a newer mcpkg; it was left untouched.";
    MigrationDiverged  "E_MIGRATION_DIVERGED"  1  -32603  Machine "The database's migration history is not this program's; it was left untouched.";
    Unavailable        "E_DB_UNAVAILABLE"      1  -32603  Machine "The database cannot be opened: its folder is missing, unreadable or not writable.";
    ReadOnly           "E_READ_ONLY"           1  -32603  Machine "The database or its disk is read-only; reads go on, the write was refused.";
    DiskFull           "E_DISK_FULL"           1  -32603  Machine "The disk is full; reads go on, the write was refused and changed nothing.";
    Busy               "E_DB_BUSY"             1  -32603  Machine "Another process held the database for longer than the busy time.";
    Replaced           "E_DB_REPLACED"         1  -32603  Machine "The database file was removed or replaced while it was in use.";
    InUse              "E_DB_IN_USE"           1  -32603  Machine "Servers are connected to the database, and the operation would change it under them.";
    Damaged            "E_DAMAGED"             1  -32603  Machine "Stored content does not match its SHA-256; it was not served.";
    Storage            "E_STORAGE"             1  -32603  Machine "The disk answered with an I/O error; the write is not acknowledged.";
    Internal           "E_INTERNAL"           70  -32603  Us      "A bug in mcpkg.";
}

/// A failure: a code for programs, a message for people, hints that say what to do next.
#[derive(Debug)]
pub struct Error(Box<Inner>);

#[derive(Debug)]
struct Inner {
    code: Code,
    message: String,
    details: Option<Value>,
    hints: Vec<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// Returns an error of `code` whose message names the thing, without a final period.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { code, message: message.into(), details: None, hints: Vec::new(), source: None }))
    }

    /// Returns a bug report: `what` failed although it cannot.
    pub fn internal(what: impl Into<String>) -> Self {
        Self::new(Code::Internal, what)
    }

    /// Returns the failure of reading or writing `path`, a file of the user's.
    pub fn file(verb: &str, path: &std::path::Path, source: std::io::Error) -> Self {
        let code = match source.kind() {
            std::io::ErrorKind::StorageFull => Code::DiskFull,
            std::io::ErrorKind::NotFound => Code::NotFound,
            _ => Code::FileFailed,
        };
        Self::new(code, format!("Cannot {verb} `{}`: {source}", path.display())).with_source(source)
    }

    /// Adds a line that says what to do.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hints.push(hint.into());
        self
    }

    /// Attaches data for programs, such as the name or URI that was not found.
    #[must_use]
    pub fn with_details(mut self, details: Value) -> Self {
        self.0.details = Some(details);
        self
    }

    /// Keeps the cause, which `-v` and the log show.
    #[must_use]
    pub fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// What kind of failure it is.
    pub fn code(&self) -> Code {
        self.0.code
    }

    /// The sentence for people and models.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// What to do next, a line each.
    pub fn hints(&self) -> &[String] {
        &self.0.hints
    }

    /// Data for programs.
    pub fn details(&self) -> Option<&Value> {
        self.0.details.as_ref()
    }

    /// The message that an agent may see: a bug's internals stay in the log.
    pub fn public_message(&self) -> &str {
        match self.code().blame() {
            Blame::Us => "Internal error; see the server's log",
            Blame::Caller | Blame::Machine => self.message(),
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as _)
    }
}

/// Returns the member of `known` that `wanted` was probably meant to be, for "did you mean" hints.
pub fn nearest<'a>(wanted: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    known
        .into_iter()
        .map(|name| (strsim::jaro_winkler(&wanted.to_lowercase(), &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness > 0.85)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_exits_follow_the_design() {
        let mut names: Vec<_> = Code::ALL.iter().map(|code| code.name()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), Code::ALL.len());
        for code in Code::ALL {
            let expected = match code {
                Code::InvalidArgument => 2,
                Code::Internal => 70,
                _ => 1,
            };
            assert_eq!(code.exit(), expected, "{}", code.name());
        }
    }

    #[test]
    fn a_bug_keeps_its_internals_from_agents() {
        let error = Error::internal("row 7 has no blob");
        assert_eq!(error.public_message(), "Internal error; see the server's log");
        assert_eq!(error.to_string(), "row 7 has no blob");
    }

    #[test]
    fn nearest_finds_a_typo_and_nothing_far() {
        assert_eq!(nearest("code-reveiw", ["code-review", "deploy"]), Some("code-review"));
        assert_eq!(nearest("zzz", ["code-review", "deploy"]), None);
    }
}
