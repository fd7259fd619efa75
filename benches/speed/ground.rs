//! Makes a home folder with tools: packages, a trusted key that signs them, and databases in which they are installed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use mcpkg_base::approved::Approved;
use mcpkg_core::op::Context;
use mcpkg_registry::package::archive::{self, Opened};
use mcpkg_registry::trust::records::Record;
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::installs::{self, Scope};
use mcpkg_store::tools::names;
use mcpkg_store::tools::packages::{self, Manifest, Release, Visibility};
use mcpkg_store::tools::trust::{self, TrustedPart, TrustedRow};
use mcpkg_store::{Db, Store, blobs};
use serde_json::Value as Json;

use crate::data::Data;
use crate::peer::mcpkg;

/// A home folder.
pub struct Ground {
    home: PathBuf,
    /// The identity of the signing key.
    identity: String,
}

impl Ground {
    /// Makes the home folder and a key.
    pub fn make(data: &Data) -> Self {
        let home = data.path("home");
        fs::create_dir(&home).expect("a home folder");
        let mut ground = Self { home, identity: String::new() };
        let made = ground.run(&ground.database("author.db"), &["tool", "key", "new"]);
        made["identity"].as_str().expect("an identity").clone_into(&mut ground.identity);
        ground
    }

    /// Returns the path of a database.
    pub fn database(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Returns the path of a folder or a file.
    pub fn path(&self, name: &str) -> PathBuf {
        self.home.join(name)
    }

    /// Returns an mcpkg command on a database, with this home folder.
    pub fn command(&self, database: &Path) -> Command {
        self.at_home(mcpkg(database))
    }

    /// Sets this home folder for a command.
    pub fn at_home(&self, mut command: Command) -> Command {
        for name in ["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME"] {
            command.env_remove(name);
        }
        command.env("HOME", &self.home).current_dir(&self.home);
        command
    }

    /// Runs a command, which must succeed, and returns its data.
    pub fn run(&self, database: &Path, arguments: &[&str]) -> Json {
        let output = self.command(database).arg("--json").args(arguments).output().expect("mcpkg starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}{}", String::from_utf8_lossy(&output.stdout));
        serde_json::from_slice(&output.stdout).expect("JSON")
    }

    /// Returns a context in which operations run on a database.
    pub fn context(&self, database: &Path) -> Context {
        let store = Store::open(database).expect("the database opens");
        let approved = Approved::below(self.home.join(".local/state/mcpkg/approved"));
        Context { approved, ..Context::shell(mcpkg::DOMAINS, store, Selection::default()) }
    }

    /// Makes the user trust the key in a database, as if the user had agreed at a terminal.
    pub fn trust(&self, database: &Path) {
        let context = self.context(database);
        let row = TrustedRow {
            identity: self.identity.clone(),
            label: None,
            pattern: "*".to_owned(),
            part: TrustedPart::Both,
            added_at: 0,
        };
        Record::Identity(&row).keep(&context).expect("a record");
        context.store.write(|db| trust::add(db, &row)).expect("a row");
    }

    /// Makes the folder of a package whose manifest has these lines, and returns the folder.
    pub fn package(&self, name: &str, lines: &str) -> PathBuf {
        let folder = self.home.join("packages").join(name);
        fs::create_dir_all(&folder).expect("a folder");
        let front = format!("---\nname: {name}\nversion: 1.0.0\ndescription: A tool\n{lines}\n---\n");
        fs::write(folder.join("SKILL.md"), front).expect("a manifest");
        folder
    }

    /// Signs a package and publishes it in `to`, one of the author's registries.
    pub fn publish(&self, folder: &Path, to: &str) {
        let (author, folder) = (self.database("author.db"), folder.to_str().expect("a readable name"));
        self.run(&author, &["tool", "sign", folder]);
        self.run(&author, &["tool", "publish", folder, "--to", to]);
    }

    /// Signs a tool, publishes it in a database, trusts its key there, and installs it.
    pub fn install(&self, database: &Path, folder: &Path, name: &str) {
        let path = folder.to_str().expect("a readable name");
        self.run(database, &["tool", "sign", path]);
        self.run(database, &["tool", "publish", path]);
        self.trust(database);
        self.run(database, &["tool", "install", name]);
    }

    /// Returns the path of the unpacked copy from which an installed tool runs.
    pub fn copy(&self, sha256: &str) -> PathBuf {
        self.home.join(".cache/mcpkg/tools").join(sha256)
    }
}

/// A package that is inserted into a database directly, as if it had been published there.
pub struct Packed {
    name: String,
    opened: Opened,
}

impl Packed {
    /// Packs a folder.
    pub fn of(folder: &Path) -> Self {
        let opened = archive::pack(folder).expect("an archive").opened;
        Self { name: opened.manifest.name.to_string(), opened }
    }

    /// Inserts the package into a database, and returns its row id.
    pub fn put(&self, db: &Db<'_>) -> mcpkg_base::error::Result<i64> {
        let release = Release {
            registry: "local".to_owned(),
            name: self.name.clone(),
            version: "1.0.0".to_owned(),
            sha256: self.opened.sha256,
            size: self.opened.content.size(),
            publisher: None,
            visibility: Visibility::Public,
            published_at: 0,
            yank: None,
        };
        let json = Json::Object(self.opened.manifest.json.clone()).to_string();
        let blob = blobs::put(db, &self.opened.content.bytes().expect("its bytes"))?;
        packages::insert(db, &release, blob, Manifest { json: &json, raw: &self.opened.raw_manifest }, 0)
    }

    /// Inserts the package into a database and installs it for everybody.
    pub fn install(&self, db: &Db<'_>) -> mcpkg_base::error::Result<()> {
        let package = self.put(db)?;
        installs::install(db, &Scope::Global, (package, &self.name, "1.0.0"), None, ("bench", 0))?;
        names::give(db, &self.name, "", &[self.name.replace('/', "__")]).map(drop)
    }
}
