//! Makes the databases that the benchmarks use.

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use mcpkg_base::clock::Clock;
use mcpkg_base::error::Result;
use mcpkg_store::events::{self, NewEvent};
use mcpkg_store::projects::{self, Project, Selection};
use mcpkg_store::revisions::Author;
use mcpkg_store::{Db, Store, prompts, resources};
use tempfile::TempDir;

const AUTHOR: Author<'_> = Author { actor: "bench", now: 1_700_000_000_000 };

/// A scratch folder with a database of typical size: 100 prompts, 150 small resources, a long text and a large blob.
pub struct Data {
    folder: TempDir,
}

impl Data {
    /// Makes the folder and the database.
    pub fn make() -> Self {
        let data = Self { folder: TempDir::new().expect("a scratch folder can be made") };
        let text = sources(1 << 20);
        make(&data.usual(), |db, project| {
            hundred_prompts(db, project, &text)?;
            for n in 0..150 {
                resource(db, project, &format!("doc-{n:03}"), true, &text.as_bytes()[n * 1024..][..1024])?;
            }
            resource(db, project, "text-1m", true, text.as_bytes())?;
            resource(db, project, "blob-8m", false, &noise(8 << 20))
        });
        data
    }

    /// Returns the path of a file in the scratch folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Returns the path of the usual database.
    pub fn usual(&self) -> PathBuf {
        self.path("usual.db")
    }

    /// Makes a database that contains only a project.
    pub fn empty(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        make(&path, |_, _| Ok(()));
        path
    }

    /// Makes a database with only the 100 prompts of the usual database.
    pub fn prompts(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        make(&path, |db, project| hundred_prompts(db, project, &sources(1 << 20)));
        path
    }

    /// Returns a database of `rows` resources with the names from [`row_name`]. Makes the database on the first call.
    pub fn large(&self, rows: usize) -> PathBuf {
        let name = format!("rows-{rows}.db");
        if self.path(&name).exists() {
            return self.path(&name);
        }
        let path = self.empty(&name);
        let store = Store::open(&path).expect("the database opens");
        for start in (0..rows).step_by(50_000) {
            let written = store.write(|db| {
                let project = projects::get(db, "bench")?;
                (start..rows.min(start + 50_000))
                    .try_for_each(|n| resource(db, &project, &row_name(n), false, b"a row"))
            });
            written.expect("the rows can be written");
        }
        path
    }
}

/// A word that is in each prompt's description.
pub const WORD: &str = "change";
/// The number of results of a search for [`WORD`].
pub const HITS: usize = 20;

fn hundred_prompts(db: &Db<'_>, project: &Project, text: &str) -> Result<()> {
    for n in 0..100 {
        let attributes = prompts::Attributes {
            description: Some(format!("Looks at part {n} of a change and lists what is wrong with it")),
            ..prompts::Attributes::default()
        };
        let content = text.get(n * 1024..).and_then(|rest| rest.get(..1024)).expect("the sources are ASCII");
        prompts::insert(db, AUTHOR, project, Clock::system().uuid(), &prompt(n), attributes, content)?;
    }
    Ok(())
}

/// Returns the name of prompt `n` of the usual database.
pub fn prompt(n: usize) -> String {
    format!("prompt-{n:03}")
}

/// Returns the name of resource `n` of a large database.
pub fn row_name(n: usize) -> String {
    format!("row-{n:07}")
}

/// Returns the URI of a resource with this name.
pub fn uri(name: &str) -> String {
    format!("file:///bench/{name}")
}

/// Creates a prompt in the selected project, as `create_prompt` does. Returns the project's name.
pub fn create(store: &Store, clock: &Clock, name: &str, description: Option<String>, content: &str) -> Result<String> {
    let author = Author { actor: "hand", now: clock.now() };
    store.write(|db| {
        let project = projects::require(db, &Selection::default())?;
        let attributes = prompts::Attributes { description, ..prompts::Attributes::default() };
        prompts::insert(db, author, &project, clock.uuid(), name, attributes, content)?;
        let event = NewEvent {
            at: author.now,
            actor: author.actor,
            project: Some(&project.name),
            kind: "prompt.create",
            subject: name,
            outcome: "ok",
            session: None,
        };
        events::append(db, event)?;
        Ok(project.name)
    })
}

fn make(path: &Path, fill: impl FnOnce(&Db<'_>, &Project) -> Result<()>) {
    let store = Store::open(path).expect("the database can be made");
    let filled = store.write(|db| {
        let (project, _) = projects::insert(db, Clock::system().uuid(), "bench", AUTHOR.now)?;
        fill(db, &project)
    });
    filled.expect("the database can be filled");
}

fn resource(db: &Db<'_>, project: &Project, name: &str, text: bool, content: &[u8]) -> Result<()> {
    let attributes = resources::Attributes {
        uri: uri(name),
        description: Some("What the agent should know of it".to_owned()),
        mime_type: Some(if text { "text/markdown" } else { "application/octet-stream" }.to_owned()),
        text,
        executable: false,
    };
    resources::insert(db, AUTHOR, project, Clock::system().uuid(), name, attributes, &content.to_vec().into()).map(drop)
}

/// Returns `size` ASCII bytes of Rust sources and Markdown pages, repeated as often as needed.
///
/// The text is a fixed copy. The ratios of two versions of mcpkg are comparable only if both measured the same bytes.
pub fn sources(size: usize) -> String {
    let packed = include_bytes!("corpus.txt.gz");
    let mut once = String::new();
    flate2::read::GzDecoder::new(&packed[..]).read_to_string(&mut once).expect("the corpus is intact");
    let mut text: String = once.chars().cycle().take(size).collect();
    text.shrink_to_fit();
    text
}

/// Returns random-looking bytes that are the same in each run.
fn noise(size: usize) -> Vec<u8> {
    noise_from(0, size)
}

/// Like `noise`, with different bytes for each seed.
pub fn noise_from(seed: u64, size: usize) -> Vec<u8> {
    let mut state = 0x9e37_79b9_7f4a_7c15_u64.wrapping_add(seed);
    let words = std::iter::repeat_with(|| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state.to_le_bytes()
    });
    words.flatten().take(size).collect()
}

/// Returns whether the processor has instructions for SHA hashes. Returns false on systems without `/proc/cpuinfo`.
pub fn has_sha_instructions() -> bool {
    let flags = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    flags.split_whitespace().any(|flag| matches!(flag, "sha_ni" | "sha2"))
}
