//! Defines and reads the global flags, which every command accepts.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, ColorChoice, Command, value_parser};

use super::hints::Flags;
use mcpkg_base::error::{Code, Error, Result};
pub(super) use mcpkg_core::database::address::resolved;
use mcpkg_core::op::Names;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;

/// The values of the global flags.
pub(super) struct Globals {
    pub(super) db: Option<PathBuf>,
    pub(super) project: Option<String>,
    pub(super) project_by: &'static str,
    /// The `--db` and `--project` flags that were given on the command line, for hints to repeat.
    pub(super) flags: Flags,
    pub(super) workspace: Option<PathBuf>,
    pub(super) json: bool,
    pub(super) quiet: bool,
    pub(super) verbose: u8,
    pub(super) color: ColorChoice,
    pub(super) yes: bool,
    pub(super) no_pager: bool,
    pub(super) no_execute: bool,
}

impl Globals {
    /// Reads `--db`, `--project` and `--workspace` from a command line that is still being typed. For a missing flag,
    /// reads the environment.
    pub(super) fn of_unfinished(words: &[OsString]) -> Self {
        let matches = Command::new("mcpkg")
            .args(args().map(|arg| arg.global(false)))
            .disable_help_flag(true)
            .args_override_self(true)
            .ignore_errors(true)
            .get_matches_from(globals_among(words));
        Self::from(&matches)
    }

    /// Reads the flags. If no flag names a database, project or workspace, reads the environment.
    pub(super) fn from(matches: &ArgMatches) -> Self {
        // clap stores a global flag at the level where it was written; the innermost level sees all of them.
        let mut innermost = matches;
        while let Some((_, inner)) = innermost.subcommand() {
            innermost = inner;
        }
        let (project, project_by) = match innermost.get_one::<String>("project") {
            Some(name) => (Some(name.clone()), "--project"),
            None => (std::env::var("MCPKG_PROJECT").ok(), "MCPKG_PROJECT"),
        };
        let db = innermost.get_one::<PathBuf>("db").map(|db| db.to_string_lossy().into_owned());
        let flags = Flags::new(db.as_deref(), innermost.get_one::<String>("project").map(String::as_str));
        Self {
            db: innermost.get_one("db").cloned().or_else(|| std::env::var_os("MCPKG_DB").map(PathBuf::from)),
            project: project.filter(|name| !name.is_empty()),
            project_by,
            flags,
            workspace: innermost.get_one("workspace").cloned().or_else(workspace_of_environment),
            json: innermost.get_flag("json"),
            quiet: innermost.get_flag("quiet"),
            verbose: innermost.get_count("verbose"),
            color: innermost.get_one::<ColorChoice>("color").copied().unwrap_or(ColorChoice::Auto),
            yes: innermost.get_flag("yes"),
            no_pager: innermost.get_flag("no-pager"),
            no_execute: std::env::var_os("MCPKG_NO_EXECUTE").is_some_and(|said| !said.is_empty() && said != "0"),
        }
    }

    /// Opens the database at [`Globals::database`].
    pub(super) fn open(&self) -> Result<Store> {
        Store::open(&resolved(&self.database()?)?)
    }

    /// Opens the database at [`Globals::database`], without upgrading it.
    pub(super) fn open_as_it_is(&self) -> Result<Store> {
        Store::open_as_it_is(&resolved(&self.database()?)?)
    }

    /// Returns the path of the database: the one that a flag or the environment names, else the one in the user's data
    /// directory.
    ///
    /// # Errors
    /// `E_DB_UNAVAILABLE` if neither names a database and HOME is not set.
    pub(super) fn database(&self) -> Result<PathBuf> {
        self.named().cloned().or_else(mcpkg_core::database::default_path).ok_or_else(|| {
            Error::new(Code::Unavailable, "Cannot find your data directory: HOME is not set")
                .hint("choose the database with --db PATH or MCPKG_DB")
        })
    }

    /// Returns whether a flag or the environment names the database.
    pub(super) fn names_database(&self) -> bool {
        self.named().is_some()
    }

    fn named(&self) -> Option<&PathBuf> {
        self.db.as_ref().filter(|path| !path.as_os_str().is_empty())
    }

    /// Returns the project selection that follows from the flags, the environment and the working directory.
    pub(super) fn selection(&self) -> Selection {
        Selection {
            named: self.project.clone(),
            named_by: self.project_by,
            directory: working_directory().unwrap_or_default(),
            workspace: self
                .workspace
                .as_deref()
                .and_then(|folder| Selection::folder(&std::path::absolute(folder).ok()?)),
        }
    }
}

/// Returns the workspace that the environment names. smctl (contract 003) reads `SMCTL_WORKSPACE`.
fn workspace_of_environment() -> Option<PathBuf> {
    let named = ["MCPKG_WORKSPACE", "SMCTL_WORKSPACE"].into_iter().find_map(std::env::var_os);
    named.filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Returns the working directory in the form that the database stores, with links resolved.
fn working_directory() -> Option<String> {
    Selection::folder(&mcpkg_base::platform::real(&std::env::current_dir().ok()?).ok()?)
}

/// Returns the definitions of the global flags for clap. clap's own help leaves them out, because [`super::help`] lists
/// them.
///
/// [`Globals::from`] reads the environment instead of clap, because clap would show set variables in the usage text of
/// every failure.
pub(super) fn args() -> [Arg; 9] {
    let global = |name: &'static str| {
        let flag = Arg::new(name).long(name).global(true).help_heading("Global options");
        flag.hide_short_help(true).hide_long_help(true)
    };
    [
        global("db")
            .value_name("PATH")
            .value_parser(value_parser!(PathBuf))
            .help("Database file, or postgres://... [default: mcpkg.db in the user's data directory]"),
        global("project")
            .short('p')
            .value_name("NAME")
            .value_parser(clap::builder::NonEmptyStringValueParser::new())
            .add(Names::PROJECTS)
            .help("Project to use"),
        global("workspace")
            .short('w')
            .value_name("FOLDER")
            .value_parser(value_parser!(PathBuf))
            .value_hint(clap::ValueHint::DirPath)
            .help("Workspace to use [default: the workspace that contains the current folder]"),
        global("json").action(ArgAction::SetTrue).help("Print data and errors as JSON"),
        global("quiet").short('q').action(ArgAction::SetTrue).help("Do not print hints or progress"),
        global("verbose").short('v').action(ArgAction::Count).help("Log more to stderr, and show the causes of errors"),
        global("color")
            .value_name("WHEN")
            .value_parser(value_parser!(ColorChoice))
            .help("When to use colour [default: auto]")
            .hide_possible_values(false),
        global("no-pager")
            .action(ArgAction::SetTrue)
            .help("Do not send long output through a pager ($MCPKG_PAGER, $PAGER or less)"),
        global("yes").action(ArgAction::SetTrue).help("Skip the confirmation prompt for actions that cannot be undone"),
    ]
    .map(|flag| match flag.get_action() {
        ArgAction::Count => flag,
        // If a flag is repeated, the last one counts, so that the user can override a flag in a shell alias.
        _ => {
            let id = flag.get_id().clone();
            flag.overrides_with(id)
        }
    })
}

/// Returns the index of the first word on a command line that is neither a flag nor the value of a global flag.
pub(super) fn first_word(arguments: &[OsString]) -> Option<usize> {
    let known = args();
    let takes_value = |word: &str| {
        let is = |arg: &&Arg| match word.strip_prefix("--") {
            Some(long) => arg.get_long() == Some(long),
            None => word.len() == 2 && arg.get_short() == word.chars().nth(1),
        };
        known.iter().find(is).is_some_and(|arg| arg.get_action().takes_values())
    };
    let mut words = arguments.iter().enumerate().skip(1);
    while let Some((place, word)) = words.next() {
        match word.to_str() {
            Some(flag) if flag.starts_with('-') => {
                if takes_value(flag) {
                    words.next();
                }
            }
            _ => return Some(place),
        }
    }
    None
}

/// Returns the value of `--color` on a command line that could not be parsed.
pub(super) fn color_of(arguments: &[OsString]) -> ColorChoice {
    let mut words = arguments.iter().filter_map(|word| word.to_str());
    while let Some(word) = words.next() {
        let value = match word.strip_prefix("--color") {
            Some("") => words.next(),
            Some(rest) => rest.strip_prefix('='),
            None => continue,
        };
        match value {
            Some("always") => return ColorChoice::Always,
            Some("never") => return ColorChoice::Never,
            _ => {}
        }
    }
    ColorChoice::Auto
}

/// Returns the flags among `words` that select the database, project and workspace, each with its value.
fn globals_among(words: &[OsString]) -> Vec<OsString> {
    const FLAGS: [&str; 5] = ["--db", "--project", "-p", "--workspace", "-w"];
    let mut among = vec![OsString::from("mcpkg")];
    let mut words = words.iter();
    while let Some(word) = words.next() {
        let text = word.to_string_lossy();
        if FLAGS.contains(&&*text) {
            among.extend([word.clone()].into_iter().chain(words.next().cloned()));
        } else if FLAGS.iter().any(|flag| text.strip_prefix(flag).is_some_and(|rest| rest.starts_with('='))) {
            among.push(word.clone());
        }
    }
    among
}
