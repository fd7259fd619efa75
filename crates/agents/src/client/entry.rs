//! Builds the entry that makes an agent start mcpkg or connect to its URL, in the agent's own format.

use crate::client::fields;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::address::Address;
use super::binary::{running, utf8};
use super::config_file::Scope;
use crate::agents::agent::{Agent, Key, Url};
use crate::servers::document::Change;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::secret;
use mcpkg_core::op::{Context, Identity};
use mcpkg_store::projects;

/// The default name of the variable that holds the bearer key.
pub const KEY: &str = "MCPKG_KEY";

/// The entry to write.
#[derive(Clone, Debug)]
pub enum Wanted {
    Start {
        program: String,
        args: Vec<String>,
    },
    /// Connects to a URL.
    Url {
        url: String,
        /// The name of the variable that holds the bearer key.
        key: Option<String>,
    },
}

impl Wanted {
    /// Returns the entry that starts this binary on this database as `identity`. The entry of a workspace server
    /// ([`Identity::Smctl`]) names a workspace instead of a project.
    ///
    /// # Errors
    /// `E_NO_PROJECT` and `E_NOT_FOUND` if the project that the entry must name is not selected or does not exist;
    /// `E_INVALID_ARGUMENT` if the address of the database contains a password, which is never written;
    /// `E_FILE_FAILED` or `E_IO_INVALID_PATH` if the path of this binary or of the database cannot be written.
    pub fn start(context: &Context, scope: Scope, identity: Identity) -> Result<Self> {
        if context.store.location().has_password() {
            let why = "The database address contains a password, which mcpkg never writes to an agent's configuration";
            return Err(Error::new(Code::InvalidArgument, why)
                .hint("move the password from the address to ~/.pgpass")
                .hint(
                    "or refer to the password: `password=env:NAME`, `password=file:PATH` or `password=command:ARGV`",
                ));
        }
        let program = running()?;
        let mut args = vec!["serve".to_owned()];
        if identity != Identity::default() {
            args.extend(["--as".to_owned(), identity.name().to_owned()]);
        }
        if let Some(database) = named_database(context.database()) {
            args.extend(["--db".to_owned(), utf8(database)?]);
        }
        if identity == Identity::Smctl {
            let workspace = context.selection.workspace.clone();
            args.extend(workspace.into_iter().flat_map(|folder| ["--workspace".to_owned(), folder]));
        } else if scope == Scope::Project || is_named(context) {
            let project = context.store.read(|db| projects::require(db, &context.selection)).map_err(unnamed)?;
            args.extend(["--project".to_owned(), project.name]);
        }
        Ok(Self::Start { program, args })
    }

    /// Returns the entry that connects to a URL. The URL names the project if the entry needs one. The entry has a
    /// key if `key` names a variable, or if the URL is on another machine.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the URL, the variable or the project's name is invalid, if the URL names another
    /// project, or if it must name the project and its path is not `/mcp`; `E_NO_PROJECT` and `E_NOT_FOUND` if the
    /// project that the URL must name is not selected or does not exist.
    pub fn url(context: &Context, scope: Scope, url: &str, key: Option<&str>) -> Result<Self> {
        let address = Address::parse(url)?;
        let url = if is_named(context) {
            // The URL's server may be on another machine and know other projects, so check only that the name is valid.
            let name = context.selection.named.as_deref().unwrap_or_default();
            mcpkg_core::names::check("Project", name)?;
            pinned(url, &address, name)?
        } else if scope == Scope::Project && project_of(&address).is_none() {
            let project = context.store.read(|db| projects::require(db, &context.selection)).map_err(unnamed)?;
            pinned(url, &address, &project.name)?
        } else {
            url.to_owned()
        };
        let key = key.map(variable).transpose()?;
        let key = key.map(str::to_owned).or_else(|| (!address.is_loopback()).then(|| KEY.to_owned()));
        Ok(Self::Url { url, key })
    }

    /// Returns the fields of the entry in the agent's format.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the agent's file supports no URLs, or if the entry has a key and the file cannot refer
    /// to variables.
    pub fn entry(&self, agent: &Agent) -> Result<Vec<(String, Value)>> {
        let fields = match self {
            Wanted::Start { program, args } => (agent.client.start)(program, args),
            Wanted::Url { url, key } => match agent.client.url {
                Url::Refused { why, hints } => {
                    return Err(hints
                        .iter()
                        .fold(Error::new(Code::InvalidArgument, why), |error, hint| error.hint(*hint)));
                }
                Url::Entry { fields, key: form, .. } => {
                    let mut fields = fields(url);
                    match (key, form) {
                        (Some(key), Key::Header(form)) => {
                            let bearer = form.replace("NAME", key);
                            fields[fields::HEADERS] = json!({ "Authorization": format!("Bearer {bearer}") });
                        }
                        (Some(key), Key::Field(field)) => fields[field] = json!(key),
                        (Some(_), Key::Unsupported) => {
                            let why = format!(
                                "{} does not fill in environment variables, so its entry cannot name the one with the access key",
                                agent.title
                            );
                            return Err(Error::new(Code::InvalidArgument, why)
                                .hint(format!("leave out --http: {} then starts mcpkg itself", agent.title)));
                        }
                        (None, _) => {}
                    }
                    fields
                }
            },
        };
        let Value::Object(fields) = fields else { return Err(Error::internal("an entry must be an object")) };
        Ok(fields.into_iter().collect())
    }
}

/// Returns whether the project was named on the command line.
fn is_named(context: &Context) -> bool {
    context.selection.named.is_some() && context.selection.named_by == "--project"
}

fn unnamed(error: Error) -> Error {
    if error.code() != Code::NoProject {
        return error;
    }
    Error::new(Code::NoProject, "An entry for a project needs a project to serve, but no project is selected")
        .hint("choose a project with --project NAME, or create one with `mcpkg project create NAME`")
}

/// Returns the project that a URL names.
fn project_of(address: &Address) -> Option<&str> {
    let (_, name) = address.path.strip_suffix("/mcp")?.rsplit_once("/projects/")?;
    (!name.is_empty() && !name.contains('/')).then_some(name)
}

/// Returns the URL that serves only this project.
fn pinned(url: &str, address: &Address, project: &str) -> Result<String> {
    let shown = mcpkg_base::redact::redact(url);
    let refused = |why: String| Error::new(Code::InvalidArgument, why);
    match project_of(address) {
        Some(name) if name == project => return Ok(url.to_owned()),
        Some(name) => {
            return Err(refused(format!("'{shown}' is the URL of the project '{name}', not of '{project}'"))
                .hint(format!("leave out --project, or give the URL that ends in /projects/{project}/mcp")));
        }
        None => {}
    }
    let base = url.strip_suffix("/mcp").filter(|_| address.path == "/mcp");
    base.map(|base| format!("{base}/projects/{project}/mcp")).ok_or_else(|| {
        refused(format!("Cannot add the project '{project}' to '{shown}': the URL's path is not /mcp"))
            .hint(format!("give the complete URL, which ends in /projects/{project}/mcp"))
    })
}

/// Checks the name of an environment variable. The error for an access key shows nothing of the key.
fn variable(name: &str) -> Result<&str> {
    let rest = name.strip_prefix("mcpkg_").unwrap_or_default();
    let error = if rest.len() >= 12 && rest.bytes().all(|b| b.is_ascii_hexdigit() || b == b'_') {
        let what = "--key-env takes the name of a variable, but was given an access key";
        Error::new(Code::InvalidArgument, what)
    } else if !secret::is_variable(name) {
        secret::not_a_variable(name)
    } else {
        return Ok(name);
    };
    Err(error.hint("give the variable's name, such as MCPKG_KEY; the key itself is never written to a file"))
}

/// Returns the change that turns `old` into the wanted entry; `None` if nothing needs to change.
pub fn change(fields: Vec<(String, Value)>, old: Option<&Value>, replaces: bool) -> Option<Change> {
    let old = old.and_then(Value::as_object);
    let kept = |(name, value): (String, Value)| {
        // `tools` selects which of the server's tools the agent may use. The user may have changed that choice, so keep it.
        let value = if name == "tools" && !replaces { old.and_then(|old| old.get("tools")).cloned() } else { None }
            .unwrap_or(value);
        (name, value)
    };
    let fields = fields.into_iter().map(kept).collect();
    let change = Change { fields, replaces, decided: fields::written_fields() };
    let is_there = |old: &Map<String, Value>| {
        let same = change.fields.iter().all(|(name, value)| old.get(name) == Some(value));
        same && change.unwanted().all(|name| name == "cwd" || !old.contains_key(name))
    };
    (!old.is_some_and(is_there)).then_some(change)
}

/// Returns the database if the entry has to name it. The entry can leave out the default database, unless a variable moves that
/// database: agents start servers without most of the user's environment.
fn named_database(path: &Path) -> Option<&Path> {
    let default = mcpkg_core::database::default_path();
    let moved = std::env::var_os("XDG_DATA_HOME").is_some_and(|folder| !folder.is_empty());
    let real = |path: &Path| mcpkg_base::platform::real(path).unwrap_or_else(|_| path.to_owned());
    let is_default = !moved && default.is_some_and(|default| real(&default) == real(path));
    (!is_default).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(url: &str, key: Option<&str>) -> Result<Wanted> {
        let folder = tempfile::tempdir().expect("a folder");
        let store = mcpkg_store::Store::open(&folder.path().join("a.db")).expect("a database");
        let context = Context::shell(mcpkg_core::op::Domains::NONE, store, projects::Selection::default());
        Wanted::url(&context, Scope::User, url, key)
    }

    fn url(name: &str) -> Value {
        let agent = crate::agents::named(name).expect("an agent");
        let wanted = wanted("https://tools.example/mcp", None).expect("a URL");
        Value::Object(wanted.entry(agent).expect("an entry").into_iter().collect())
    }

    #[test]
    fn each_agents_entry_takes_the_key_from_a_variable() {
        let takes_key =
            |agent: &&&Agent| matches!(agent.client.url, Url::Entry { key: Key::Header(_) | Key::Field(_), .. });
        for agent in crate::agents::ALL.iter().filter(takes_key) {
            let entry = url(agent.name).to_string();
            assert!(entry.contains("MCPKG_KEY"), "{entry}");
        }
        assert_eq!(url("codex")["bearer_token_env_var"], "MCPKG_KEY");
        assert_eq!(url("gemini")["headers"]["Authorization"], "Bearer $MCPKG_KEY");
        assert_eq!(url("opencode")["headers"]["Authorization"], "Bearer {env:MCPKG_KEY}");
        assert_eq!(url("vscode")["headers"]["Authorization"], "Bearer ${env:MCPKG_KEY}");
        assert_eq!(url("claude-code")["headers"]["Authorization"], "Bearer ${MCPKG_KEY}");
    }

    #[test]
    fn a_server_on_this_machine_needs_no_key() {
        for local in ["http://127.0.0.1:3000/mcp", "http://localhost/mcp", "http://[::1]:3000/mcp"] {
            assert!(matches!(wanted(local, None), Ok(Wanted::Url { key: None, .. })), "{local}");
        }
        assert!(matches!(wanted("http://10.0.0.1/mcp", None), Ok(Wanted::Url { key: Some(_), .. })));
        assert!(matches!(wanted("http://localhost/mcp", Some("K")), Ok(Wanted::Url { key: Some(_), .. })));
    }

    #[test]
    fn a_project_is_put_into_urls_that_end_with_mcp() {
        let to_p = |url: &str| pinned(url, &Address::parse(url).expect("a URL"), "p");
        assert_eq!(to_p("http://a:1/mcp").ok().as_deref(), Some("http://a:1/projects/p/mcp"));
        for same in ["http://a/projects/p/mcp", "https://a/tools/projects/p/mcp"] {
            assert_eq!(to_p(same).ok().as_deref(), Some(same));
        }
        for bad in ["http://a", "http://a/", "http://a/sse", "http://a/mcp?x=1", "http://a/mcp#x", "http://a/x/mcp"] {
            assert!(to_p(bad).is_err(), "{bad}");
        }
        assert!(to_p("http://a/projects/q/mcp").is_err_and(|error| error.message().contains("'q', not of 'p'")));
    }

    #[test]
    fn an_access_key_is_not_a_variable_name() {
        let key = format!("mcpkg_0123456789ab_{}", "0f".repeat(32));
        for bad in [
            key.as_str(),
            &key[..60],
            "mcpkg_0123456789ab",
            "",
            "1A",
            "A B",
            "A=B",
            "sk-live-0123456789",
            "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        ] {
            let error = variable(bad).expect_err(bad);
            assert!(bad.len() < 13 || !error.message().contains(bad), "{}", error.message());
        }
        for good in ["MCPKG_KEY", "_a1", "mcpkg_key"] {
            assert_eq!(variable(good).ok(), Some(good));
        }
    }

    #[test]
    fn fields_that_the_user_added_are_kept() {
        let fields = vec![("command".to_owned(), json!("/m")), ("tools".to_owned(), json!(["*"]))];
        let old = json!({ "command": "/m", "tools": ["get_prompt"], "timeout": 3 });
        assert!(change(fields.clone(), Some(&old), false).is_none());
        assert!(change(fields.clone(), Some(&json!({ "command": "/m", "url": "x" })), false).is_some());
        assert!(change(fields, None, false).is_some());
    }
}
