//! Decides whether a plugin may run: only if this user allowed it on this machine in its current form. Otherwise mcpkg does not
//! start it, call it or send it secrets, because the plugin may have arrived with somebody else's database.

use serde_json::{Value, json};

use super::connection;
use super::model::Plugin;
use mcpkg_base::approved::Kind;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_content::servers::{runs, shown};
use mcpkg_core::consent::approvable::{Approvable, Askable};
use mcpkg_store::servers::{Definition, Text};

impl Approvable for Plugin {
    const KIND: Kind = Kind::Plugin;

    fn covers(&self) -> Vec<u8> {
        let Definition { transport, command, args, env, cwd, url, headers, .. } = &self.server.definition;
        let runs: Value = json!([transport, command, args, env, cwd, url, headers]);
        let believed = json!([self.private, self.trusted, self.providers]);
        json!([runs, believed]).to_string().into_bytes()
    }

    fn note(&self) -> Value {
        json!({ "name": self.name(), "runs": runs(&self.server), "trusted": self.trusted })
    }
}

impl Askable for Plugin {
    fn question(&self) -> String {
        format!("Allow mcpkg to run '{}': `{}`?", self.name(), runs(&self.server))
    }

    /// Describes, in several lines, what would run and with which permissions.
    fn details(&self) -> Vec<String> {
        let Definition { command, cwd, env, headers, .. } = &self.server.definition;
        let mut lines = match command {
            Some(_) => {
                let folder = cwd.as_ref().map_or_else(|| "the home folder".to_owned(), shown);
                vec![format!("Starts `{}` in {folder}", runs(&self.server)), "without a sandbox".to_owned()]
            }
            None => vec![format!("Connects to {}", runs(&self.server))],
        };
        let named = |what: &str, named: &[(String, Text)]| -> Vec<String> {
            named.iter().map(|(name, text)| format!("with the {what} {name}: {}", shown(text))).collect()
        };
        lines.extend(named("variable", env));
        lines.extend(named("header", headers));
        if self.private {
            lines.push("also allows addresses that are not public".to_owned());
        }
        if self.trusted {
            lines.push("trusts what the plugin says about its tools, such as which tools are read-only".to_owned());
        }
        for name in self.providers.keys() {
            lines.push(format!("treats the plugin's tool {name} as read-only"));
        }
        lines
    }

    fn refusal(&self) -> Error {
        let name = self.name();
        let why = format!(
            "The plugin '{name}' is not approved on this machine in its current form: `{}`",
            runs(&self.server)
        );
        Error::new(Code::Unapproved, why)
            .hint(format!("approve the plugin with `mcpkg plugin check {name}` at a terminal"))
    }

    fn is_usable(&self) -> Result<()> {
        connection::check(self.name(), &self.server.definition)
    }
}
