//! Runs a PostgreSQL server for a test, in a temporary folder and on a socket in that folder. Dropping the server ends
//! it.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError, Weak};

use postgres::SimpleQueryMessage::{CommandComplete, Row};

use super::{folder, is_root, skipped};

/// The name of the database that [`Database::create`] copies. Creating the tables takes longer than most tests.
const MADE: &str = "made";

/// An mcpkg database on a server, whose address is like `postgres://USER@HOST:PORT`.
pub struct Database {
    server: String,
    name: String,
    /// Whether to delete the database when this is dropped.
    is_own: bool,
}

impl Database {
    /// Returns the existing database at an address. Ignores the address's parameters. `None` if the database is a file.
    pub fn at(address: &Path) -> Option<Self> {
        let (server, name) = address.to_str()?.split('?').next()?.rsplit_once('/')?;
        let is_server = server.starts_with("postgres://");
        is_server.then(|| Self { server: server.to_owned(), name: name.to_owned(), is_own: false })
    }

    /// Makes a database on the server that `MCPKG_TEST_POSTGRES` names; `None` if it is not set.
    pub fn create() -> Option<Self> {
        let server = std::env::var("MCPKG_TEST_POSTGRES").ok()?;
        static ONCE: Once = Once::new();
        ONCE.call_once(|| {
            run(&server, "postgres", &format!("CREATE DATABASE {MADE}"));
            drop(mcpkg_store::Store::open(Path::new(&format!("{server}/{MADE}"))).expect("the tables are made"));
        });
        let name = format!("t{}", uuid::Uuid::new_v4().simple());
        run(&server, "postgres", &format!("CREATE DATABASE {name} TEMPLATE {MADE}"));
        Some(Self { server, name, is_own: true })
    }

    /// Returns the value of `--db` for the database.
    pub fn address(&self) -> PathBuf {
        format!("{}/{}?pool_size=4", self.server, self.name).into()
    }

    /// Runs a statement in the database, and returns how many rows it changed.
    pub fn change(&self, sql: &str) -> u64 {
        let answers = run(&self.server, &self.name, &format!("SET search_path = mcpkg; {sql}"));
        answers.iter().map(|answer| if let CommandComplete(rows) = answer { *rows } else { 0 }).sum()
    }

    /// Returns the first column of a query's rows.
    pub fn column(&self, sql: &str) -> Vec<String> {
        let answers = run(&self.server, &self.name, &format!("SET search_path = mcpkg; {sql}"));
        let rows = answers.iter().filter_map(|answer| if let Row(row) = answer { row.get(0) } else { None });
        rows.map(str::to_owned).collect()
    }
}

/// Runs a statement in a database of a server. It runs on a separate thread, because the client must not be used inside
/// an async runtime.
fn run(server: &str, database: &str, sql: &str) -> Vec<postgres::SimpleQueryMessage> {
    let (address, sql) = (format!("{server}/{database}"), sql.to_owned());
    let told = std::thread::spawn(move || {
        let mut client = postgres::Client::connect(&address, postgres::NoTls).expect("the server");
        client.simple_query(&sql).expect("the server does it")
    });
    told.join().expect("the server is told")
}

impl Drop for Database {
    fn drop(&mut self) {
        if self.is_own {
            run(&self.server, "postgres", &format!("DROP DATABASE {} WITH (FORCE)", self.name));
        }
    }
}

/// The server that the tests share. It ends when no test uses it.
static SHARED: Mutex<Weak<Server>> = Mutex::new(Weak::new());

/// A running server.
pub struct Server {
    programs: PathBuf,
    folder: tempfile::TempDir,
    port: u16,
    options: String,
    is_killed: AtomicBool,
}

impl Server {
    /// Returns the server that the tests share. Returns `None` in the same cases as [`Server::start`].
    pub fn shared() -> Option<Arc<Self>> {
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(running) = shared.upgrade() {
            return Some(running);
        }
        let started = Arc::new(Self::start()?);
        *shared = Arc::downgrade(&started);
        Some(started)
    }

    /// Makes an empty database for one test, and returns the value of `--db` for it.
    pub fn database(&self) -> String {
        let name = format!("t{}", uuid::Uuid::new_v4().simple());
        self.query(&format!("CREATE DATABASE {name}"));
        self.address("mcpkg", &name)
    }

    /// Returns the address of a database for a user, over the server's socket.
    pub fn address(&self, user: &str, database: &str) -> String {
        let socket = self.folder.path().to_string_lossy().replace('/', "%2F");
        format!("postgres://{user}@{socket}/{database}")
    }

    /// Returns the folder that contains the server's data and its socket.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts a server. If this machine has no PostgreSQL 15 or later, or no user that it can run as, prints the reason
    /// and returns `None`.
    pub fn start() -> Option<Self> {
        Self::start_with(5432, "-c listen_addresses='' -c fsync=off", |_| {})
    }

    /// Like [`Server::start`], with this port and these options. `prepare` is called with the folder before the server
    /// starts.
    pub fn start_with(port: u16, options: &str, prepare: impl FnOnce(&Path)) -> Option<Self> {
        let Some(programs) = programs() else {
            skipped("PostgreSQL 15 or later is not installed (Debian: postgresql)");
            return None;
        };
        let folder = folder();
        let options = format!("-k {} -p {port} -c max_connections=200 {options}", folder.path().display());
        let server = Self { programs, folder, port, options, is_killed: AtomicBool::new(false) };
        if is_root() {
            // PostgreSQL refuses to run as root. Debian's package creates the user `postgres`.
            let owned = Command::new("chown").arg("postgres").arg(server.folder.path()).status();
            if !owned.is_ok_and(|status| status.success()) {
                skipped("there is no user `postgres` that the server could run as");
                return None;
            }
        }
        let data = server.folder.path().join("data");
        server.run("initdb", |command| {
            command.args(["-A", "trust", "-U", "mcpkg", "-E", "UTF8", "--locale=C", "--no-sync", "-D"]).arg(&data);
        });
        prepare(server.folder.path());
        server.go();
        Some(server)
    }

    fn go(&self) {
        let options = &self.options;
        let (log, data) = (self.folder.path().join("log"), self.data());
        self.run("pg_ctl", |command| {
            command.args(["-w", "-t", "60", "-o", options, "-l"]).arg(&log).arg("-D").arg(&data).arg("start");
        });
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Starts a standby that replicates this server.
    pub fn standby(&self, port: u16) -> Self {
        let (programs, folder) = (self.programs.clone(), folder());
        let options =
            format!("-k {} -p {port} -c max_connections=200 -c listen_addresses=127.0.0.1", folder.path().display());
        let standby = Self { programs, folder, port, options, is_killed: AtomicBool::new(false) };
        if is_root() {
            let owned = Command::new("chown").arg("postgres").arg(standby.folder.path()).status();
            assert!(owned.is_ok_and(|status| status.success()));
        }
        standby.run("pg_basebackup", |command| {
            command.args(["-R", "-c", "fast", "-U", "mcpkg", "-p", &self.port.to_string(), "-h"]);
            command.arg(self.folder.path()).arg("-D").arg(standby.data());
        });
        standby.go();
        standby
    }

    /// Promotes a standby to primary.
    pub fn promote(&self) {
        let data = self.data();
        self.run("pg_ctl", |command| {
            command.args(["-w", "-D"]).arg(data).arg("promote");
        });
    }

    /// Stops the server as a crash would, and starts it again after `pause`.
    pub fn restart(&self, pause: std::time::Duration) {
        let data = self.data();
        self.run("pg_ctl", |command| {
            command.args(["-m", "immediate", "-w", "-D"]).arg(data).arg("stop");
        });
        std::thread::sleep(pause);
        self.go();
    }

    /// Ends all connections to the database at `address`, except the one that runs this query.
    pub fn end_connections(&self, address: &str) {
        self.query_of(
            address,
            // A connection may end by itself in the meantime. PostgreSQL then prints a warning.
            "SET client_min_messages = error;
             SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
              WHERE datname = current_database() AND pid <> pg_backend_pid()",
        );
    }

    /// Stops the server's processes, as if its machine had frozen, until the result is dropped.
    pub fn freeze(&self) -> Frozen {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).expect("its process");
        let parent = file.lines().next().expect("a line").to_owned();
        let children = Command::new("pgrep").args(["-P", &parent]).output().expect("pgrep").stdout;
        let children = String::from_utf8(children).expect("UTF-8");
        let all = std::iter::once(parent).chain(children.lines().map(str::to_owned)).collect();
        let frozen = Frozen(all);
        frozen.signal("-STOP");
        frozen
    }

    /// Ends the server's processes with SIGKILL.
    pub fn kill(&self) {
        let file = std::fs::read_to_string(self.data().join("postmaster.pid")).expect("its process");
        let pid = file.lines().next().expect("a line");
        // The processes for connections and for replication end together with the main process, or shortly after.
        let children = Command::new("pkill").args(["-9", "-P", pid]).status();
        let itself = Command::new("kill").args(["-9", pid]).status();
        assert!(children.is_ok() && itself.is_ok_and(|status| status.success()), "it is killed");
        self.is_killed.store(true, Ordering::Relaxed);
    }

    /// Creates the schema in `migrations/postgres`.
    pub fn migrate(&self) {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations/postgres");
        let files = std::fs::read_dir(folder).expect("the migrations");
        let mut files: Vec<PathBuf> = files.map(|entry| entry.expect("an entry").path()).collect();
        files.sort();
        for file in files {
            let errors = self.errors(&std::fs::read_to_string(&file).expect("a migration"));
            assert!(errors.is_empty(), "{}: {errors:?}", file.display());
        }
    }

    /// Runs a script. Returns the line number and the message of each statement that failed.
    pub fn errors(&self, script: &str) -> Vec<(usize, String)> {
        let (_, errors) = self.psql("postgres", script);
        let errors = errors.lines().filter_map(|line| {
            let (place, message) = line.split_once(": ERROR:  ")?;
            Some((place.rsplit(':').next()?.parse().ok()?, message.to_owned()))
        });
        errors.collect()
    }

    /// Returns the rows of a query with one column, one row per line.
    pub fn query(&self, sql: &str) -> String {
        self.query_in("postgres", sql)
    }

    /// Like [`Server::query`], in the database at `address`.
    pub fn query_of(&self, address: &str, sql: &str) -> String {
        let name = address.rsplit('/').next().unwrap_or_default();
        self.query_in(name.split('?').next().unwrap_or_default(), sql)
    }

    fn query_in(&self, database: &str, sql: &str) -> String {
        let (rows, errors) = self.psql(database, &format!("{sql};"));
        assert!(errors.is_empty(), "{errors}");
        rows
    }

    fn psql(&self, database: &str, script: &str) -> (String, String) {
        let mut command = Command::new(self.programs.join("psql"));
        command.args(["-X", "-q", "-A", "-t", "-v", "VERBOSITY=terse", "-U", "mcpkg", "-d", database, "-f", "-", "-h"]);
        command.arg(self.folder.path()).args(["-p", &self.port.to_string()]);
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().expect("psql");
        let mut stdin = child.stdin.take().expect("its input");
        let script = script.to_owned();
        let writing = std::thread::spawn(move || stdin.write_all(script.as_bytes()));
        let output = child.wait_with_output().expect("psql ends");
        writing.join().expect("the script").expect("psql reads it");
        let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
        (text(output.stdout), text(output.stderr))
    }

    fn run(&self, program: &str, arguments: impl FnOnce(&mut Command)) {
        let program = self.programs.join(program);
        let mut command = if is_root() {
            let mut command = Command::new("runuser");
            command.args(["-u", "postgres", "--"]).arg(program);
            command
        } else {
            Command::new(program)
        };
        arguments(&mut command);
        // Send the output to a file: the server inherits the standard streams, and reading a pipe would block until the
        // server ends.
        let log = std::fs::File::create(self.folder.path().join("output")).expect("a file");
        let errors = log.try_clone().expect("the same file");
        let status = command.current_dir("/").stdin(Stdio::null()).stdout(log).stderr(errors).status();
        let output = || std::fs::read_to_string(self.folder.path().join("output")).unwrap_or_default();
        assert!(status.is_ok_and(|status| status.success()), "{command:?}\n{}", output());
    }
}

/// The stopped processes of a server. Dropping the value lets them continue.
pub struct Frozen(Vec<String>);

impl Frozen {
    fn signal(&self, signal: &str) {
        let sent = Command::new("kill").arg(signal).args(&self.0).status();
        assert!(sent.is_ok(), "they are told");
    }
}

impl Drop for Frozen {
    fn drop(&mut self) {
        self.signal("-CONT");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if self.is_killed.load(Ordering::Relaxed) {
            return;
        }
        let data = self.data();
        self.run("pg_ctl", |command| {
            command.args(["-m", "immediate", "-w", "-D"]).arg(data).arg("stop");
        });
    }
}

/// Writes a file that only the server's user may read.
pub fn write_for_the_server(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::write(path, text).expect("a file");
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o600)).expect("its mode");
    if is_root() {
        let owned = Command::new("chown").arg("postgres").arg(path).status();
        assert!(owned.is_ok_and(|status| status.success()), "{}", path.display());
    }
}

/// Returns the folder with the programs of the newest installed PostgreSQL, from version 15 on.
fn programs() -> Option<PathBuf> {
    let versions = std::fs::read_dir("/usr/lib/postgresql").ok()?.flatten();
    let versions = versions.filter_map(|entry| Some((entry.file_name().to_str()?.parse::<u32>().ok()?, entry.path())));
    let (_, newest) = versions.filter(|(version, _)| *version >= 15).max()?;
    let programs = newest.join("bin");
    ["initdb", "pg_ctl", "psql"].iter().all(|name| programs.join(name).exists()).then_some(programs)
}
