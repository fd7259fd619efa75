//! `mcpkg tool key`: creates, lists, shows and removes signing keys.

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::GROUP;
use crate::trust::keys::{self, Key};
use mcpkg_base::error::Result;
use mcpkg_core::op::{
    Body, Changes, Context, Effect, Faces, MissingDatabase, Names, NoOutput, Operation, Reply, Table,
};

/// The user's keys, for shell completion.
pub(super) const KEYS: Names = Names::Known(|_| keys::names().unwrap_or_default());

/// Returns the default name of a new key. If a user has several keys, the key with this name signs by default.
fn usual() -> String {
    "default".to_owned()
}

/// Make a key
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct New {
    /// Name of the key (letters, digits, hyphens, underscores)
    #[arg(default_value_t = usual())]
    #[serde(default = "usual")]
    name: String,
}

impl Operation for New {
    const TOOL: &'static str = "new_tool_key";
    const CLI: &'static [&'static str] = &["tool", "key", "new"];
    const TITLE: &'static str = "Make a key for signing tools";
    const ABOUT: &'static str = "Make an ed25519 key for signing tools and audits";
    const HELP: &'static str = "mcpkg stores the key as an OpenSSH file in your data folder, never in a database. Only you can read the \
        file. To add a passphrase to the key, run `ssh-keygen -p -f FILE`.";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool key new", "mcpkg tool key new work"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, _context: &Context) -> Result<Reply> {
        let key = keys::make(&self.name)?;
        let sentence = format!("Made the key '{}': {}", self.name, key.identity);
        Ok(Reply::sentence(sentence, data(&key)).hint(format!(
            "give others the line that `mcpkg tool key show {}` prints, so that they can trust the key; keep a copy of `{}` in a safe \
            place",
            self.name,
            key.path.display()
        )))
    }
}

/// List the keys
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct List {}

impl Operation for List {
    const TOOL: &'static str = "list_tool_keys";
    const CLI: &'static [&'static str] = &["tool", "key", "list"];
    const TITLE: &'static str = "List keys for signing tools";
    const ABOUT: &'static str = "List your keys for signing tools";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool key list"];
    const ALIASES: &'static [&'static str] = &["ls"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    const LISTS: Option<&'static str> = Some("keys");
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, _context: &Context) -> Result<Reply> {
        let (mut rows, mut all, mut warnings) = (Vec::new(), Vec::new(), Vec::new());
        for name in keys::names()? {
            // A damaged key must not hide the others.
            match keys::of_user(&name) {
                Ok(key) => {
                    rows.push(vec![name, key.identity.to_string(), key.protection().to_owned()]);
                    all.push(data(&key));
                }
                Err(error) => warnings.push(error.message().to_owned()),
            }
        }
        let empty = "There are no keys".to_owned();
        let table = Table { columns: &["NAME", "IDENTITY", "PROTECTION"], rows, empty };
        Ok(Reply::new(Body::Table(table), json!({ "keys": all })).warn(warnings))
    }
}

/// Show a key's public half
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Show {
    /// Name of the key, or a key file
    #[arg(add = KEYS, default_value_t = usual())]
    #[serde(default = "usual")]
    key: String,
}

impl Operation for Show {
    const TOOL: &'static str = "show_tool_key";
    const CLI: &'static [&'static str] = &["tool", "key", "show"];
    const TITLE: &'static str = "Show a key for signing tools";
    const ABOUT: &'static str = "Show a public key, so that others can trust it";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool key show", "mcpkg tool key show work > work.pub", "mcpkg tool key show ~/.ssh/id_ed25519.pub"];
    const EFFECT: Effect = Effect::Read;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, _context: &Context) -> Result<Reply> {
        let key = keys::choose(Some(&self.key))?;
        Ok(Reply::new(Body::Text(format!("{}\n", key.line)), data(&key)).hint(format!(
            "the key's identity is {}; to trust the key, others save this line in a file and run `mcpkg tool trust add FILE`",
            key.identity
        )))
    }
}

/// Delete a key
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Remove {
    /// Name of the key
    #[arg(add = KEYS)]
    name: String,
}

impl Operation for Remove {
    const TOOL: &'static str = "remove_tool_key";
    const CLI: &'static [&'static str] = &["tool", "key", "remove"];
    const TITLE: &'static str = "Delete a key for signing tools";
    const ABOUT: &'static str = "Delete a key permanently; signatures made with the key stay valid";
    const EXAMPLES: &'static [&'static str] = &["mcpkg tool key remove work"];
    const ALIASES: &'static [&'static str] = &["rm"];
    const EFFECT: Effect = Effect::Destroy;
    const CHANGES: Changes = Changes::NO_LIST;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn question(&self) -> String {
        format!("Delete the key '{}' for good?", self.name)
    }

    fn look(&self, _context: &Context) -> Result<()> {
        keys::exists(&self.name)
    }

    fn missing_database(&self) -> MissingDatabase {
        MissingDatabase::StandIn
    }

    fn run(self, _context: &Context) -> Result<Reply> {
        keys::remove(&self.name)?;
        Ok(Reply::sentence(format!("Deleted the key '{}'", self.name), json!({ "name": self.name })))
    }
}

/// Returns a key as JSON.
fn data(key: &Key) -> Value {
    json!({
        "name": key.name,
        "path": key.path.display().to_string(),
        "identity": key.identity.as_str(),
        "public_key": key.line,
        "protection": key.protection(),
    })
}
