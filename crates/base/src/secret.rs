//! Reads secrets through references: a reference is stored and shown, and its value is read only when it is needed.
//!
//! `env:NAME` is an environment variable, `file:PATH` a file that only this user may read, `command:ARGV...` the output
//! of a program. The value never appears in a row, log, error or argument. [`Secret`] prints as `***`, and only
//! [`Secret::expose`] returns the value, for a request's header, a program's variable or its standard input. Once a
//! value has been read, [`crate::redact`] removes it from mcpkg's output.

use std::fmt;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use crate::disk;
use crate::error::{Code, Error, Result};
use crate::file;
use crate::process::{Capture, Environment, Failure, Limits, Program, is_passed_on};
use crate::redact;
use crate::shell;

/// The longest secret, in bytes.
const LONGEST: usize = 64 << 10;

/// How long the program of a `command:` reference may take. Its standard input is empty, so it cannot ask for anything
/// there.
const COMMAND: Duration = Duration::from_secs(30);

#[derive(Clone)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Creates a secret. Trailing line ends are removed, because files and programs usually add one.
    ///
    /// # Errors
    /// `E_SECRET_MISSING` if the value is empty, is longer than 64 KiB or contains a NUL. The message names `from`.
    pub fn new(value: String, from: &Reference) -> Result<Self> {
        let value = Zeroizing::new(value);
        let trimmed = value.trim_end_matches(['\r', '\n']);
        match trimmed {
            "" => Err(from.missing("it is empty")),
            _ if trimmed.len() > LONGEST => Err(from.missing("it is longer than 64 KiB")),
            _ if trimmed.contains('\0') => Err(from.missing("it contains a NUL character")),
            _ => {
                // Variables that every program gets are not secret. Redacting their values would make ordinary texts
                // unreadable.
                if !matches!(from, Reference::Environment(name) if is_passed_on(name)) {
                    redact::learn(trimmed);
                }
                Ok(Self(Zeroizing::new(trimmed.to_owned())))
            }
        }
    }

    /// Returns the value. Only call this where the value is sent.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(***)")
    }
}

/// The place where a secret is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reference {
    /// An environment variable of this process.
    Environment(String),
    /// A file; `~/` is the home folder.
    File(PathBuf),
    /// The output of a program. If the reference comes from a database, callers must first ask the user for approval.
    Command(Vec<String>),
}

impl FromStr for Reference {
    type Err = Error;

    /// Parses `env:NAME`, `file:PATH` or `command:ARGV...`. The words of a command are split as in a shell.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` for any other text. The message does not repeat the text, because it could be the secret
    /// itself.
    fn from_str(text: &str) -> Result<Self> {
        let wrong = |why: &str| Err(Error::new(Code::InvalidArgument, why).hint(FORMS));
        match text.split_once(':') {
            Some(("env", name)) if is_variable(name) => Ok(Self::Environment(name.to_owned())),
            Some(("env", _)) => wrong("`env:` must be followed by the name of a variable"),
            Some(("file", path)) if path.starts_with("~/") || Path::new(path).is_absolute() => {
                Ok(Self::File(PathBuf::from(path)))
            }
            Some(("file", _)) => wrong("`file:` must be followed by an absolute path, or one that begins with `~/`"),
            Some(("command", words)) => match shlex::split(words) {
                Some(words) if words.first().is_some_and(|program| !program.is_empty()) => Ok(Self::Command(words)),
                _ => wrong("`command:` must be followed by a program and its arguments, with every quote closed"),
            },
            _ => wrong("Say where the secret is stored; do not give the secret itself"),
        }
    }
}

const FORMS: &str = "for example env:API_TOKEN, file:~/.config/token or command:pass show token";

impl fmt::Display for Reference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Environment(name) => write!(f, "env:{name}"),
            Self::File(path) => write!(f, "file:{}", path.display()),
            Self::Command(words) => {
                let words: Vec<String> = words.iter().map(|word| shell::quote(word)).collect();
                write!(f, "command:{}", words.join(" "))
            }
        }
    }
}

impl Reference {
    /// Reads the secret.
    ///
    /// # Errors
    /// `E_SECRET_MISSING` if the secret does not exist or is invalid, if others may read its file, or if its program
    /// fails; `E_CANCELLED`; `E_ROOT_REQUIRED` if the path begins with `~/` and HOME is not set.
    pub fn resolve(&self, cancelled: &CancellationToken) -> Result<Secret> {
        let value = match self {
            Self::Environment(name) => std::env::var(name).map_err(|error| match error {
                std::env::VarError::NotPresent => self.missing("it is not set"),
                std::env::VarError::NotUnicode(_) => self.missing("it is not valid UTF-8"),
            })?,
            Self::File(path) => self.read(path)?,
            Self::Command(words) => self.printed(words, cancelled)?,
        };
        Secret::new(value, self)
    }

    fn read(&self, path: &Path) -> Result<String> {
        let path = match path.strip_prefix("~") {
            Ok(rest) => disk::home()?.join(rest),
            Err(_) => path.to_owned(),
        };
        file::read_private(&path, LONGEST as u64 + 2).map_err(|error| match error.kind() {
            ErrorKind::FileTooLarge => self.missing("it is longer than 64 KiB"),
            _ => self.missing(&error.to_string()),
        })
    }

    fn printed(&self, words: &[String], cancelled: &CancellationToken) -> Result<String> {
        let Some((program, args)) = words.split_first() else { return Err(self.missing("it does not name a program")) };
        // Password managers are configured through variables, such as GNUPGHOME.
        let program = Program::new(program).args(args).environment(Environment::Inherited);
        let program = program.capture(Capture { head: LONGEST, tail: 0 });
        let output = program.run(&[], &Limits::new(COMMAND, cancelled)).map_err(|failure| match failure {
            Failure::NotStarted(error) => self.missing(&format!("the program cannot be started: {error}")),
            Failure::Lost(error) => self.missing(&format!("cannot wait for the program: {error}")),
            Failure::TimedOut => self.missing("the program did not finish within 30 seconds"),
            Failure::Cancelled => Error::new(Code::Cancelled, "The call was cancelled while a secret was being read"),
        })?;
        if !output.status.success() {
            // Do not show the output, because it may contain the secret.
            return Err(self
                .missing(&format!("the program ended with {}", output.status))
                .hint("run the program by hand to see why"));
        }
        let printed = output.stdout.whole().ok_or_else(|| self.missing("it is longer than 64 KiB"))?;
        String::from_utf8(printed).map_err(|_| self.missing("it is not valid UTF-8"))
    }

    fn missing(&self, why: &str) -> Error {
        let error = Error::new(Code::SecretMissing, format!("Cannot read the secret `{self}`: {why}"));
        error.with_details(serde_json::json!({ "reference": self.to_string() }))
    }
}

/// Whether `name` is a valid name of an environment variable. Many services' keys consist of the same characters, such
/// as `ghp_...`. They do not count, so that a key that somebody pastes as a name is never stored.
pub fn is_variable(name: &str) -> bool {
    let begins = name.bytes().next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_');
    let is_name = begins && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name && redact::redacted(name) == name
}

/// Returns the error for a name that [`is_variable`] refuses. It shows at most the start, because the text may be a
/// secret.
pub fn not_a_variable(name: &str) -> Error {
    let shown: String = redact::redact(name).escape_debug().take(12).collect();
    let more = if name.chars().count() > 12 { "..." } else { "" };
    let why = format!("'{shown}{more}' is not a valid environment variable name");
    Error::new(Code::InvalidArgument, why)
        .hint("use letters, digits and underscores, without a digit at the start; a key is not a name")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(reference: &str) -> Result<Secret> {
        reference.parse::<Reference>()?.resolve(&CancellationToken::new())
    }

    fn refused(reference: &str) -> String {
        let error = resolve(reference).expect_err(reference);
        assert_eq!(error.code(), Code::SecretMissing, "{error}");
        error.message().to_owned()
    }

    #[test]
    fn a_key_is_not_a_variable_name() {
        for key in [
            "ghp_0123456789abcdefghijABCDEFGHIJ012345",
            "github_pat_11ABCDEFG0abcdefghijkl_MNOPqrstuvwxyz0123456789",
            "sk_live_0123456789abcdefABCDEF",
            "AKIAIOSFODNN7EXAMPLE",
        ] {
            assert!(!is_variable(key), "{key}");
            let (error, reference) = (not_a_variable(key), format!("env:{key}").parse::<Reference>());
            assert!(!error.to_string().contains(&key[..20]), "{error}");
            assert!(reference.is_err_and(|error| !error.to_string().contains(key)), "{key}");
        }
        for name in ["API_TOKEN", "_a1", "npm_config_registry", "SECRET_KEY_BASE", "secret_key_base", "hf_home"] {
            assert!(is_variable(name), "{name}");
        }
    }

    #[test]
    fn references_are_parsed_and_shown_the_same() {
        for text in ["env:API_TOKEN", "file:/run/token", "file:~/.token", "command:pass show 'my token'"] {
            assert_eq!(text.parse::<Reference>().map(|reference| reference.to_string()).ok().as_deref(), Some(text));
        }
        let value = "sk-live-0123456789";
        for bad in [value, "", "env:", "env:1A", "env:A B", "file:token", "file:", "command:", "command:a 'b", "x:y"] {
            let error = bad.parse::<Reference>().expect_err(bad);
            assert_eq!(error.code(), Code::InvalidArgument);
            assert!(!format!("{error:?}").contains(value), "{error:?}");
        }
    }

    #[test]
    fn a_value_is_not_printed() {
        let secret = Secret::new("hunter2\r\n".to_owned(), &Reference::Environment("A".to_owned())).expect("a secret");
        assert_eq!(secret.expose(), "hunter2");
        assert_eq!(format!("{secret:?} {:?}", Some(&secret)), "Secret(***) Some(Secret(***))");
        assert_eq!(redact::redact("no hunter2, hunter2!"), "no ***, ***!");
    }

    #[test]
    fn a_variable_is_read() {
        let path = std::env::var("PATH").expect("PATH");
        assert_eq!(resolve("env:PATH").expect("a value").expose(), path);
        assert_eq!(
            refused("env:MCPKG_NO_SUCH_SECRET"),
            "Cannot read the secret `env:MCPKG_NO_SUCH_SECRET`: it is not set"
        );
    }

    #[cfg(unix)]
    #[test]
    fn a_file_is_read_that_nobody_else_may_read() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("token");
        let reference = format!("file:{}", path.display());
        assert!(refused(&reference).contains("No such file"));
        std::fs::write(&path, "hunter2\n").expect("a file");
        let mode = |mode| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
        mode(0o640);
        let why = refused(&reference);
        assert!(why.contains("0640") && why.contains("chmod 600") && !why.contains("hunter2"), "{why}");
        mode(0o600);
        assert_eq!(resolve(&reference).expect("a secret").expose(), "hunter2");
        for (bytes, why) in
            [(&b"\n"[..], "it is empty"), (b"a\0b", "NUL"), (b"\xff", "UTF-8"), (&[b'x'; 65537], "64 KiB")]
        {
            std::fs::write(&path, bytes).expect("a file");
            assert!(refused(&reference).contains(why), "{why}: {}", refused(&reference));
        }
        assert!(refused(&format!("file:{}", folder.path().display())).contains("a folder"));
    }

    #[cfg(unix)]
    #[test]
    fn a_program_gets_a_secret_as_a_variable() {
        let secret = Secret::new("hunter2".to_owned(), &Reference::Environment("A".to_owned())).expect("a secret");
        let program = Program::new("sh").args(["-c", "printf %s \"$TOKEN\"; tr '\\0' ' ' < /proc/$$/cmdline"]);
        let never = CancellationToken::new();
        let output = program.variable("TOKEN", secret.expose()).run(&[], &Limits::new(COMMAND, &never));
        let text = output.expect("an output").stdout.text();
        assert!(text.starts_with("hunter2sh -c") && text.matches("hunter2").count() == 1, "{text}");
    }

    #[cfg(unix)]
    #[test]
    fn a_program_prints_a_secret() {
        assert_eq!(resolve("command:printf '%s\\n' 'a b'").expect("a secret").expose(), "a b");
        assert!(refused("command:/none/program x").contains("cannot be started"));
        let why = refused("command:sh -c 'echo hunter2; echo hunter2 >&2; exit 3'");
        let (_, why) = why.rsplit_once("`: ").expect("a reason");
        assert_eq!(why, "the program ended with exit status: 3");
        assert!(refused("command:sh -c 'yes | head -c 70000'").contains("longer than 64 KiB"));
        let cancelled = CancellationToken::new();
        cancelled.cancel();
        let sleeping = "command:sleep 1000".parse::<Reference>().expect("a reference");
        assert_eq!(sleeping.resolve(&cancelled).expect_err("cancelled").code(), Code::Cancelled);
    }
}
