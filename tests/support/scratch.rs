//! Makes a scratch folder with a database, and runs the mcpkg binary on that database.

use std::fmt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{LazyLock, OnceLock};

use mcpkg_base::approved::Approved;
use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use tempfile::TempDir;

use super::folder;
use super::postgres::Database;

/// The path of the mcpkg binary.
pub const BINARY: &str = env!("CARGO_BIN_EXE_mcpkg");

/// A scratch folder. Dropping it removes the folder.
pub struct Scratch {
    folder: TempDir,
    /// The database on PostgreSQL: the one at `address`, or else the test's own if the tests run on PostgreSQL.
    database: OnceLock<Option<Database>>,
    /// The address of the database, if the test has its own server.
    address: Option<PathBuf>,
}

impl Scratch {
    fn of(folder: TempDir) -> Self {
        Self { folder, database: OnceLock::new(), address: None }
    }

    /// Returns an empty folder that uses the database at `address`.
    pub fn at(address: &str) -> Self {
        Self { address: Some(address.into()), ..Self::new() }
    }

    /// Returns an empty folder. The database is created when it is first used.
    pub fn new() -> Self {
        Self::of(folder())
    }

    /// Returns a folder whose database exists and is empty.
    pub fn with_database() -> Self {
        Self::new().and_database()
    }

    /// Copies an empty database into the folder, because creating the tables takes longer than most tests.
    fn and_database(self) -> Self {
        static EMPTY: LazyLock<(Vec<u8>, String)> = LazyLock::new(|| {
            let scratch = Scratch::of(folder());
            let file = scratch.path().join("test.db");
            drop(Store::open(&file).expect("the tables are made"));
            let connection = rusqlite::Connection::open(&file).expect("the database opens");
            let generation = "SELECT value FROM setting WHERE key = 'generation'";
            let generation = connection.query_row(generation, [], |row| row.get(0)).expect("its generation");
            connection.close().expect("it is all in one file");
            (std::fs::read(&file).expect("the database"), generation)
        });
        if !self.db().starts_with(self.path()) {
            return self;
        }
        let (mut bytes, generation) = EMPTY.clone();
        let at = memchr::memmem::find(&bytes, generation.as_bytes());
        // Each database must have its own generation id.
        let own = uuid::Uuid::new_v4().simple().to_string();
        bytes[at.expect("its generation")..][..own.len()].copy_from_slice(own.as_bytes());
        for (file, bytes) in [("test.db", &bytes[..]), ("test.db.lock", b"")] {
            super::set_mode(&self.file(file, bytes), 0o600);
        }
        self
    }

    /// Returns a folder whose database has the selected project `p`.
    pub fn with_project() -> Self {
        let scratch = Self::with_database();
        scratch.ok(&["project", "create", "p"]);
        scratch
    }

    /// Like [`Scratch::with_project`], but in the system's folder of temporary files, so that its path has the same
    /// length on every machine.
    pub fn with_project_in_tmp() -> Self {
        let folder = tempfile::Builder::new().prefix("mcpkg-test-").tempdir().expect("a scratch folder");
        let scratch = Self::of(folder).and_database();
        scratch.ok(&["project", "create", "p"]);
        scratch
    }

    /// Like [`Scratch::with_project`], but without starting the binary.
    pub fn with_project_here() -> Self {
        let scratch = Self::with_database();
        let context = scratch.context();
        let create =
            mcpkg::DOMAINS.operations().find(|entry| entry.cli == ["project", "create"]).expect("an operation");
        let call = create.from_agent(serde_json::json!({ "name": "p" })).expect("a call");
        call.run(&context).expect("the project is made");
        scratch
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Returns the value of `--db`: the address that [`Scratch::at`] got, or this test's own database if
    /// `MCPKG_TEST_POSTGRES` names a server, or else a file in the folder.
    pub fn db(&self) -> PathBuf {
        if let Some(address) = &self.address {
            return address.clone();
        }
        match self.on_server() {
            Some(database) => database.address(),
            None => self.path().join("test.db"),
        }
    }

    /// Returns the database, unless it is a file.
    fn on_server(&self) -> Option<&Database> {
        let find = || match &self.address {
            Some(address) => Database::at(address),
            None => Database::create(),
        };
        self.database.get_or_init(find).as_ref()
    }

    /// Returns whether the database is a file. If not, reports that the test is skipped, because it is about the file.
    pub fn is_file(&self) -> bool {
        let is_file = self.db().starts_with(self.path());
        if !is_file {
            super::skipped("it is about SQLite's file");
        }
        is_file
    }

    /// Returns the size of the database in bytes, if it is a file.
    pub fn size(&self) -> Option<u64> {
        let file = self.db().starts_with(self.path()).then(|| self.db());
        file.map(|file| std::fs::metadata(file).expect("the database").len())
    }

    /// Runs a statement directly in the database, without mcpkg. Returns the number of changed rows.
    pub fn change(&self, sql: &str) -> u64 {
        match self.on_server() {
            Some(database) => database.change(sql),
            None => {
                let connection = rusqlite::Connection::open(self.db()).expect("the database opens");
                connection.execute(sql, []).expect("it is changed") as u64
            }
        }
    }

    /// Returns the first column of the rows of a query in the database, as text.
    pub fn column(&self, sql: &str) -> Vec<String> {
        match self.on_server() {
            Some(database) => database.column(sql),
            None => {
                use rusqlite::types::Value::{Integer, Text};
                let connection = rusqlite::Connection::open(self.db()).expect("the database opens");
                let mut statement = connection.prepare(sql).expect("a query");
                let texts = statement.query_map([], |row| {
                    Ok(match row.get(0)? {
                        Integer(number) => number.to_string(),
                        Text(text) => text,
                        other => panic!("{other:?} is not text"),
                    })
                });
                texts.expect("rows").collect::<rusqlite::Result<_>>().expect("rows")
            }
        }
    }

    /// Returns bytes as a literal in a statement for [`Scratch::change`].
    pub fn in_sql(&self, bytes: &[u8]) -> String {
        let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        match self.on_server() {
            Some(_) => format!("'\\x{hex}'::bytea"),
            None => format!("x'{hex}'"),
        }
    }

    /// Returns the name of each table, with the values of all its rows as text.
    pub fn tables(&self) -> Vec<(String, String)> {
        let copy = folder();
        let file = copy.path().join("tables.db");
        self.ok(&["backup", &file.display().to_string()]);
        let connection = rusqlite::Connection::open(file).expect("the backup opens");
        let tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND rootpage > 0";
        let mut statement = connection.prepare(tables).expect("a statement");
        let names = statement.query_map([], |row| row.get::<_, String>(0)).expect("the tables");
        let of_table = |name: String| {
            let mut statement = connection.prepare(&format!("SELECT * FROM \"{name}\"")).expect("a statement");
            let columns = statement.column_count();
            let (mut text, mut rows) = (String::new(), statement.query([]).expect("rows"));
            while let Some(row) = rows.next().expect("a row") {
                for at in 0..columns {
                    use rusqlite::types::ValueRef::{Blob, Text};
                    match row.get_ref(at).expect("a value") {
                        Text(bytes) | Blob(bytes) => text.push_str(&String::from_utf8_lossy(bytes)),
                        other => text.push_str(&format!("{other:?}")),
                    }
                    text.push('|');
                }
            }
            (name, text)
        };
        names.map(|name| of_table(name.expect("a name"))).collect()
    }

    /// Returns all bytes of the database: its file, or a backup if it is not a file.
    pub fn bytes(&self) -> Vec<u8> {
        let file = match self.on_server() {
            Some(_) => {
                let copy = folder();
                let file = copy.path().join("all.db");
                self.ok(&["backup", &file.display().to_string()]);
                return std::fs::read(file).expect("the backup");
            }
            None => self.db(),
        };
        std::fs::read(file).expect("the database")
    }

    /// Returns the user's state directory.
    pub fn state(&self) -> PathBuf {
        self.path().join("state")
    }

    /// Returns the user's approvals, for a context in this process.
    pub fn approved(&self) -> Approved {
        Approved::below(self.state().join("mcpkg/approved"))
    }

    /// Writes a file below the folder and returns its path.
    pub fn file(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path().join(name);
        std::fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        std::fs::write(&path, content).expect("a file");
        path
    }

    /// Returns a command that runs the binary on this database. From the machine's environment, it gets only PATH.
    pub fn command(&self) -> Command {
        self.command_under(&[])
    }

    /// Like [`Scratch::command`], but `wrapper` starts the binary: another program such as `strace`, and that program's
    /// arguments.
    pub fn command_under(&self, wrapper: &[&str]) -> Command {
        let words = [wrapper, &[BINARY]].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.path())
            .env("MCPKG_DB", self.db())
            .env("XDG_STATE_HOME", self.state())
            // At a terminal, a pager would wait for a person. Tests of the pager set another one.
            .env("PAGER", "cat")
            .current_dir(self.path())
            .stdin(Stdio::null());
        command
    }

    /// Runs the binary and returns its output and exit status.
    pub fn run(&self, arguments: &[&str]) -> Ran {
        self.finish(self.command().args(arguments))
    }

    /// Runs the binary with `input` on its standard input.
    pub fn run_with_input(&self, arguments: &[&str], input: &[u8]) -> Ran {
        use std::io::Write;
        let mut child = self
            .command()
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("mcpkg starts");
        let mut stdin = child.stdin.take().expect("a standard input");
        let input = input.to_vec();
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&input);
        });
        let output = child.wait_with_output().expect("mcpkg ends");
        writer.join().expect("the writer ends");
        self.ran(output)
    }

    /// Runs a command that [`Scratch::command`] returned.
    pub fn finish(&self, command: &mut Command) -> Ran {
        let output = command.output().expect("mcpkg starts");
        self.ran(output)
    }

    /// Runs the binary, which must succeed, and returns its standard output.
    #[track_caller]
    pub fn ok(&self, arguments: &[&str]) -> String {
        let ran = self.run(arguments);
        assert_eq!(ran.status, 0, "mcpkg {}\n{ran}", arguments.join(" "));
        ran.stdout
    }

    /// Runs the binary with `--json`, which must succeed, and returns the JSON.
    #[track_caller]
    pub fn json(&self, arguments: &[&str]) -> serde_json::Value {
        let text = self.ok(&[&["--json"], arguments].concat());
        serde_json::from_str(&text).expect("JSON on standard output")
    }

    /// Opens the database in this process.
    pub fn store(&self) -> Store {
        Store::open(&self.db()).expect("the database opens")
    }

    /// Returns the context of a shell on the database, with the selected project.
    pub fn context(&self) -> Context {
        Context { approved: self.approved(), ..Context::shell(mcpkg::DOMAINS, self.store(), Selection::default()) }
    }

    fn ran(&self, output: std::process::Output) -> Ran {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(&*self.path().to_string_lossy(), "<SCRATCH>");
        Ran { status: output.status.code().unwrap_or(-1), stdout: text(&output.stdout), stderr: text(&output.stderr) }
    }
}

/// The output and the exit status of a command. In the output, `<SCRATCH>` replaces the scratch folder's path.
pub struct Ran {
    pub status: i32,
    pub stdout: String,
    pub stderr: String,
}

impl fmt::Display for Ran {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "status: {}\n--- stdout\n{}--- stderr\n{}", self.status, self.stdout, self.stderr)
    }
}
