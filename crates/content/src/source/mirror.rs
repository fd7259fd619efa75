//! The mirror of a source: a local copy of its git repository, as a bare repository in the user's cache folder. Nothing is
//! checked out in it, and nothing from it is run.
//!
//! Only one process at a time uses a mirror. A mirror keeps every commit that was ever fetched. It may be deleted at any
//! time, because the database contains the base for the next update.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use etcetera::BaseStrategy;

use super::cancelled;
use super::git_output::{FetchProgress, contents, lost, odd};
use super::listing::{self, Listed};
use super::reference::{mirrored, shown};
use super::tree::{Change, Entry};
use mcpkg_base::disk::fetching::Fetching;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::git;
use mcpkg_base::process::Limits;
use mcpkg_base::redact::redact;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;

/// How long a remote may take to list its branches and tags.
const ASK: Duration = Duration::from_secs(60);

/// How long a fetch may take.
const FETCH: Duration = Duration::from_secs(1800);

/// How long git may take to list or read the objects of a commit.
const READ: Duration = Duration::from_secs(600);

/// How long to wait before trying again to lock a mirror that another process uses.
const PAUSE: Duration = Duration::from_millis(20);

/// Git options that allow only three protocols, whatever the user's configuration says, and turn off bundle URIs and
/// submodules. A bundle counts as `file`.
const PROTOCOLS: [&str; 12] = [
    "-c",
    "protocol.allow=never",
    "-c",
    "protocol.https.allow=always",
    "-c",
    "protocol.ssh.allow=always",
    "-c",
    "protocol.file.allow=always",
    "-c",
    "transfer.bundleURI=false",
    "-c",
    "fetch.recurseSubmodules=false",
];

/// The folder in which git runs. Inside a repository, git would read that repository's configuration. No URL is relative to
/// this folder.
const NOWHERE: &str = "/";

/// A branch, tag or commit that [`Mirror::resolve`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// The full name of the branch or tag, such as refs/heads/main; `None` for a commit.
    pub reference: Option<String>,
    pub commit: Option<String>,
}

/// The mirror of a repository. While this value exists, no other process can use the mirror.
pub struct Mirror<'c> {
    url: String,
    /// The folder that contains the mirror, and temporary folders with the files of commits.
    folder: PathBuf,
    context: &'c Context,
    _lock: File,
}

impl<'c> Mirror<'c> {
    /// Opens the mirror of a repository. Creates the mirror if it does not exist.
    pub fn open(url: &str, context: &'c Context) -> Result<Self> {
        let folder = cache()?.join(&sha256::hex(url)[..32]);
        let failed = |error| Error::file("write", &folder, error);
        fs::create_dir_all(&folder).map_err(failed)?;
        let lock =
            File::options().create(true).truncate(false).write(true).open(folder.join("lock")).map_err(failed)?;
        while lock.try_lock().is_err() {
            if context.is_cancelled() {
                return Err(cancelled());
            }
            std::thread::sleep(PAUSE);
        }
        let mirror = Self { url: url.to_owned(), folder, context, _lock: lock };
        if !mirror.git().is_dir() {
            mirror.make()?;
        }
        Ok(mirror)
    }

    /// Creates the mirror in a temporary folder next to its final place, and moves it when it is complete.
    fn make(&self) -> Result<()> {
        let new = self.folder.join("mirror.git.new");
        let failed = |error| Error::file("write", &new, error);
        match fs::remove_dir_all(&new) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
            _ => {}
        }
        let init = ["init", "-q", "--bare", "--template=", "--"].map(std::ffi::OsStr::new);
        git::run(Path::new(NOWHERE), &[&init[..], &[new.as_os_str()]].concat(), &self.limits(ASK))?;
        fs::rename(&new, self.git()).map_err(failed)
    }

    /// Creates a temporary folder next to the mirror.
    pub fn scratch(&self) -> Result<Fetching> {
        Fetching::begin(&cache()?, &self.folder)
    }

    fn git(&self) -> PathBuf {
        self.folder.join("mirror.git")
    }

    fn limits(&self, time: Duration) -> Limits<'_> {
        Limits::new(time, &self.context.cancelled)
    }

    /// Finds the branch or tag with this name; `None` means the default branch. A full commit hash is returned without
    /// asking the repository. Fails with `E_NOT_FOUND` if there is no such branch or tag, and with `E_INVALID_ARGUMENT`
    /// if there is no default branch.
    pub fn resolve(&self, wanted: Option<&str>) -> Result<Wanted> {
        let Some(wanted) = wanted else { return self.resolve_head() };
        if git::is_commit(wanted) {
            return Ok(Wanted { reference: None, commit: Some(wanted.to_ascii_lowercase()) });
        }
        let (head, tag) = (format!("refs/heads/{wanted}"), format!("refs/tags/{wanted}"));
        let names = if wanted.starts_with("refs/") { vec![wanted] } else { vec![head.as_str(), tag.as_str()] };
        let listed = self.listed(&names)?;
        let found = names.iter().find(|name| listed.iter().any(|(_, listed)| listed == *name));
        let reference = found.map(|name| (*name).to_owned()).ok_or_else(|| {
            Error::new(Code::NotFound, format!("`{}` has no branch or tag `{wanted}`", redact(&self.url)))
                .hint("to use a commit, give its full hash")
        })?;
        Ok(Wanted { reference: Some(reference), commit: None })
    }

    /// Finds the branch that the repository's HEAD points to. If the remote does not say which branch this is, finds
    /// the only branch with HEAD's commit, or else returns that commit. If there is no HEAD, as in some bundles, finds
    /// the only branch. Fails with `E_INVALID_ARGUMENT` if there is no HEAD and not exactly one branch.
    fn resolve_head(&self) -> Result<Wanted> {
        let listed = self.listed(&["HEAD"])?;
        let target = listed.iter().find_map(|(what, name)| (name == "HEAD").then(|| what.strip_prefix("ref: "))?);
        if let Some(target) = target {
            return Ok(Wanted { reference: Some(target.to_owned()), commit: None });
        }
        let heads = self.listed(&["refs/heads/*"])?;
        let head = listed.iter().find(|(_, name)| name == "HEAD").map(|(commit, _)| commit);
        let same: Vec<&String> =
            heads.iter().filter(|(commit, _)| head.is_none_or(|head| head == commit)).map(|(_, name)| name).collect();
        match (same.as_slice(), head) {
            ([one], _) => Ok(Wanted { reference: Some((*one).clone()), commit: None }),
            (_, Some(commit)) => Ok(Wanted { reference: None, commit: Some(commit.clone()) }),
            _ => {
                let names: Vec<_> =
                    heads.iter().map(|(_, name)| name.trim_start_matches("refs/heads/")).take(10).collect();
                let why = format!("`{}` has no default branch", redact(&self.url));
                let error = Error::new(Code::InvalidArgument, why);
                Err(match names.is_empty() {
                    true => error.hint("the repository has no branches"),
                    false => error.hint(format!("pass a branch with --ref: {}", names.join(", "))),
                })
            }
        }
    }

    /// Lists the refs that match. For each, returns the commit or `ref: TARGET`, and the name of the ref.
    fn listed(&self, patterns: &[&str]) -> Result<Vec<(String, String)>> {
        (self.context.step_aside)();
        let words = ["ls-remote", "-q", "--symref", "--", &self.url];
        let args = [&PROTOCOLS[..], &words[..], patterns].concat();
        let said = git::run(Path::new(NOWHERE), &args, &self.limits(ASK))?;
        let said = String::from_utf8_lossy(&said);
        let lines = said.lines().filter_map(|line| line.split_once('\t'));
        Ok(lines.map(|(what, name)| (what.to_owned(), name.to_owned())).collect())
    }

    /// Fetches a branch or tag, and returns its commit. Fails with `E_NOT_FOUND` if the branch or tag no longer exists.
    pub fn fetch(&self, reference: &str) -> Result<String> {
        self.commit_of(&self.fetch_ref(reference)?)
    }

    /// Fetches a branch or tag, and returns the ref under which the mirror stores it.
    fn fetch_ref(&self, reference: &str) -> Result<String> {
        let kept = mirrored(reference);
        self.fetch_specs(&[&format!("+{reference}:{kept}")]).map_err(|error| self.gone(reference, error))?;
        Ok(kept)
    }

    /// Turns git's error for a missing branch or tag into `E_NOT_FOUND`. All other errors stay the same.
    fn gone(&self, reference: &str, error: Error) -> Error {
        if error.code() != Code::GitFailed || !error.message().contains("couldn't find remote ref") {
            return error;
        }
        let why = format!("`{}` no longer has {}", redact(&self.url), shown(reference));
        Error::new(Code::NotFound, why).with_source(error)
    }

    /// Returns the commit of a ref in the mirror. `None` if the ref is packed, and not a file of its own.
    fn loose(&self, name: &str) -> Option<String> {
        let text = file::read_text(&self.git().join(name), 1 << 10).ok()?;
        Some(text.trim_end()).filter(|commit| git::is_commit(commit)).map(str::to_owned)
    }

    /// Fetches a branch or tag. Returns its commit, and whether the history of that commit is known to contain `old`.
    /// If the mirror's branch is at `old`, a successful fetch without force proves this. Otherwise a second git process
    /// checks it; for an annotated tag, the result is always false.
    pub fn fetch_after(&self, reference: &str, old: &str) -> Result<(String, bool)> {
        let at = mirrored(reference);
        if reference.starts_with("refs/heads/") && self.loose(&at).as_deref() == Some(old) {
            match self.fetch_specs(&[&format!("{reference}:{at}")]) {
                Ok(()) => {
                    if let Some(commit) = self.loose(&at) {
                        return Ok((commit, true));
                    }
                }
                Err(error) if error.message().contains("non-fast-forward") => {}
                Err(error) => return Err(self.gone(reference, error)),
            }
        }
        let kept = self.fetch_ref(reference)?;
        let contains = format!("--contains={old}");
        let args = ["for-each-ref", &contains, "--format=%(objecttype) %(objectname)", &kept];
        match git::run(&self.git(), &args, &self.limits(ASK)) {
            Ok(said) => {
                // An annotated tag is a `tag` object. Its commit is looked up below.
                if let Some(commit) = String::from_utf8_lossy(&said).trim().strip_prefix("commit ") {
                    return Ok((commit.to_owned(), true));
                }
            }
            // The mirror no longer has `old`.
            Err(error) if error.code() == Code::GitFailed => {}
            Err(error) => return Err(error),
        }
        Ok((self.commit_of(&kept)?, false))
    }

    /// Fetches a commit, unless the mirror already has it. If the commit cannot be fetched on its own, fetches all
    /// branches and tags. Fails with `E_NOT_FOUND` if the repository does not have the commit.
    pub fn fetch_commit(&self, commit: &str) -> Result<()> {
        if self.has(commit)? {
            return Ok(());
        }
        let alone = self.fetch_specs(&[&format!("+{commit}:refs/mcpkg/commits/{commit}")]);
        match alone {
            Ok(()) => return Ok(()),
            Err(error) if error.code() != Code::GitFailed => return Err(error),
            Err(error) => tracing::debug!(%error, "the commit could not be fetched on its own"),
        }
        self.fetch_specs(&["+refs/heads/*:refs/mcpkg/all/heads/*", "+refs/tags/*:refs/mcpkg/all/tags/*"])?;
        if self.has(commit)? {
            return Ok(());
        }
        Err(Error::new(Code::NotFound, format!("`{}` does not have the commit {commit}", redact(&self.url))))
    }

    fn fetch_specs(&self, specs: &[&str]) -> Result<()> {
        (self.context.step_aside)();
        self.remove_stale_locks();
        let words = ["fetch", "--progress", "--no-tags", "--no-write-fetch-head", "--no-recurse-submodules", "--"];
        let args = [&PROTOCOLS[..], &words[..], &[&self.url], specs].concat();
        let progress = FetchProgress::new(Arc::clone(&self.context.progress));
        git::watch(&self.git(), &args, progress.tell(), &self.limits(FETCH)).map(drop)
    }

    /// Removes lock files that a killed git process left. This is safe because no other process can use the mirror.
    fn remove_stale_locks(&self) {
        fn sweep(folder: &Path) {
            for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
                    sweep(&path);
                } else if path.extension().is_some_and(|ending| ending == "lock") {
                    let _ = fs::remove_file(&path);
                }
            }
        }
        let git = self.git();
        sweep(&git.join("refs"));
        for name in ["packed-refs.lock", "shallow.lock", "config.lock", "HEAD.lock"] {
            let _ = fs::remove_file(git.join(name));
        }
    }

    fn commit_of(&self, name: &str) -> Result<String> {
        let said =
            git::run(&self.git(), &["rev-parse", "--verify", "-q", &format!("{name}^{{commit}}")], &self.limits(ASK))?;
        Ok(String::from_utf8_lossy(&said).trim().to_owned())
    }

    pub fn has(&self, commit: &str) -> Result<bool> {
        let args = ["rev-parse", "--verify", "-q", &format!("{commit}^{{commit}}")];
        Ok(git::ask(&self.git(), &args, &self.limits(ASK))?.is_some())
    }

    /// Returns whether the history of the commit `new` contains `old`.
    pub fn follows(&self, old: &str, new: &str) -> Result<bool> {
        match git::ask(&self.git(), &["merge-base", "--is-ancestor", old, new], &self.limits(ASK)) {
            // The mirror no longer has `old`.
            Err(error) if error.code() == Code::GitFailed && !self.has(old)? => Ok(false),
            said => Ok(said?.is_some()),
        }
    }

    /// Returns the files of a commit below `path`, and caches their paths. An empty `path` means all files. Fails with
    /// `E_NOT_FOUND` if `path` is not a folder in the commit.
    pub fn tree(&self, commit: &str, path: &str) -> Result<Vec<Entry>> {
        let below = format!("{path}/");
        let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", commit];
        if !path.is_empty() {
            args.extend(["--", below.as_str()]);
        }
        let read = git::stream(&self.git(), &args, Vec::new(), &self.limits(READ), |said| {
            let mut entries = Vec::new();
            let mut said = BufReader::new(said);
            let mut line = Vec::new();
            while said.read_until(0, &mut line).map_err(lost)? > 0 {
                entries.push(Entry::parse(line.strip_suffix(&[0]).unwrap_or(&line)).ok_or_else(odd)?);
                line.clear();
            }
            Ok(entries)
        });
        let entries = read?;
        if entries.is_empty() && !path.is_empty() {
            let why = format!("`{}` has no folder `{path}` at {}", redact(&self.url), &commit[..commit.len().min(12)]);
            return Err(Error::new(Code::NotFound, why));
        }
        let all: Vec<Listed> = entries.iter().map(Listed::from).collect();
        listing::keep(&self.folder, path, commit, &all);
        Ok(entries)
    }

    /// Returns the paths of `new` below `path`. `new` must differ from `old` only in the content of files.
    pub fn listed_as(&self, old: &str, new: &str, path: &str) -> Result<Vec<Listed>> {
        match listing::cached(&self.folder, path, old) {
            Some(all) => {
                listing::keep(&self.folder, path, new, &all);
                Ok(all)
            }
            None => Ok(self.tree(new, path)?.iter().map(Listed::from).collect()),
        }
    }

    /// Returns the differences between two commits below `path`. `None` if the mirror no longer has `old`.
    pub fn changes(&self, old: &str, new: &str, path: &str) -> Result<Option<Vec<Change>>> {
        let mut args = vec!["--literal-pathspecs", "diff-tree", "-r", "-z", "--raw", "--no-renames", old, new, "--"];
        if !path.is_empty() {
            args.push(path);
        }
        let said = git::stream(&self.git(), &args, Vec::new(), &self.limits(READ), |said| {
            let mut all = Vec::new();
            said.read_to_end(&mut all).map_err(lost).map(|_| all)
        });
        match said {
            Err(error) if error.code() == Code::GitFailed && !self.has(old)? => Ok(None),
            said => Change::parse_all(&said?).ok_or_else(odd).map(Some),
        }
    }

    /// Calls `each` with the index and the content of each object, in order. Fails with `E_SOURCE_CHANGED` if an object is
    /// missing.
    pub fn read<'o>(
        &self,
        objects: impl Iterator<Item = &'o str>,
        each: impl FnMut(usize, &mut dyn Read) -> Result<()> + Send,
    ) -> Result<()> {
        let input: Vec<u8> = objects.flat_map(|object| [object.as_bytes(), b"\n"].concat()).collect();
        if input.is_empty() {
            return Ok(());
        }
        let args = ["cat-file", "--batch"];
        git::stream(&self.git(), &args, input, &self.limits(READ), |said| contents(said, each))
    }
}

/// Returns the folder of all mirrors: `mcpkg/sources` in the user's cache folder.
fn cache() -> Result<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().map_err(|error| {
        Error::new(Code::RootRequired, "Your cache folder is unknown, because HOME is not set")
            .hint("set HOME, or XDG_CACHE_HOME")
            .with_source(error)
    })?;
    Ok(strategy.cache_dir().join("mcpkg").join("sources"))
}
