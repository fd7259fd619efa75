//! Tests what all registries have in common: digests never change, yanks are remembered, and registries are asked
//! in order.

use serde_json::json;
use tempfile::TempDir;

use super::directory::Directory;
use super::local::Local;
use super::registry::Registry;
use super::search::{State, search};
use super::*;
use crate::backend::approval::Use;
use crate::package::{Name, Reference};
use mcpkg_base::approved::Approved;
use mcpkg_base::clock::Clock;
use mcpkg_base::error::{Code, Result};
use mcpkg_base::sha256;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::Context;
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::attestations;
use mcpkg_store::tools::packages::{Visibility, Yank};
use mcpkg_store::tools::registries::{self, Kind, Place};
use semver::Version;

/// A database and this user's approvals, in a temporary folder.
pub struct Ground {
    folder: TempDir,
    pub context: Context,
}

impl Ground {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::open(&folder.path().join("a.db")).unwrap();
        let mut context = Context::shell(mcpkg_core::op::Domains::NONE, store, Selection::default());
        context.approved = Approved::below(folder.path().join("approved"));
        context.clock = Clock::fixed(1_700_000_000_000);
        Self { folder, context }
    }

    /// Adds a registry and approves it.
    pub fn add(&self, name: &str, kind: Kind, location: &str, token: Option<&str>) -> Place {
        let place = self.stranger(name, kind, location, token);
        Use(&place).approve(&self.context).unwrap();
        place
    }

    /// Adds a registry without approving it, as if the database came from somebody else.
    fn stranger(&self, name: &str, kind: Kind, location: &str, token: Option<&str>) -> Place {
        self.context
            .store
            .write(|db| {
                let priority = registries::next_priority(db)?;
                let (name, location) = (name.to_owned(), location.to_owned());
                let place = Place { name, kind, location, token: token.map(str::to_owned), priority };
                registries::insert(db, &place, 0)?;
                Ok(place)
            })
            .unwrap()
    }

    /// Creates a folder registry called `name`, and adds it.
    fn directory(&self, name: &str) -> std::path::PathBuf {
        let path = self.folder.path().join(name);
        Directory::create(name, &path).unwrap();
        let path = path.canonicalize().unwrap();
        self.add(name, Kind::Directory, path.to_str().unwrap(), None);
        path
    }

    fn local(&self) -> Local<'_> {
        Local::new(&self.context)
    }

    /// Returns the stored attestations of a version.
    pub(super) fn claims(&self, resolved: &Resolved) -> Vec<String> {
        let claims = self.context.store.read(|db| attestations::of(db, &resolved.version.sha256)).unwrap();
        claims.into_iter().map(|claim| claim.bundle).collect()
    }

    fn open(&self, name: &str) -> Box<dyn Registry + '_> {
        Known::named(&self.context, name).unwrap().open(&self.context).unwrap()
    }

    fn publish(&self, registry: &str, tool: &str, bytes: &[u8]) -> Result<bool> {
        self.publish_with(registry, tool, bytes, Visibility::Public, &["t"])
    }

    fn publish_with(
        &self,
        registry: &str,
        tool: &str,
        bytes: &[u8],
        visibility: Visibility,
        tags: &[&str],
    ) -> Result<bool> {
        let (name, version) = tool.rsplit_once('@').unwrap();
        let (name, version) = (Name::parse(name).unwrap(), Version::parse(version).unwrap());
        let manifest = json!({ "name": name, "description": format!("Does {name} things"), "tags": tags });
        self.open(registry).publish(&Publication {
            name: &name,
            version: &version,
            archive: &bytes.to_vec().into(),
            sha256: &sha256::of(bytes),
            manifest: &manifest,
            raw_manifest: "",
            visibility,
            attestations: &["{\"a\":1}".to_owned()],
        })
    }

    fn yank(&self, registry: &str, tool: &str, yank: bool) {
        let (name, version) = tool.rsplit_once('@').unwrap();
        let reason = Yank { at: 5_000, reason: Some("broken".to_owned()), replacement: Some("9.0.0".to_owned()) };
        let (name, version) = (Name::parse(name).unwrap(), Version::parse(version).unwrap());
        self.open(registry).yank(&name, &version, yank.then_some(&reason)).unwrap();
    }

    pub fn resolve(&self, reference: &str) -> Result<Resolved> {
        resolve(&self.context, &Reference::parse(reference).unwrap(), Choice::default())
    }

    pub fn resolved(&self, reference: &str) -> Result<String, Code> {
        let found = self.resolve(reference).map_err(|error| error.code())?;
        Ok(format!("{}:{}", found.registry, found.version.version))
    }

    fn found(&self, text: &str, tags: &[&str], limit: u32) -> (Vec<String>, u64) {
        let tags = tags.iter().map(|tag| (*tag).to_owned()).collect();
        let query = Query { text: text.to_owned(), tags, limit, offline: false, refresh: false };
        let found = search(&self.context, &query, None).unwrap();
        (
            found.hits.into_iter().map(|(registry, hit)| format!("{registry}:{}@{}", hit.name, hit.version)).collect(),
            found.total,
        )
    }
}

#[test]
fn this_database_and_a_folder_are_registries_alike() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        assert!(ground.publish(registry, "a/one@1.0.0", b"1").unwrap());
        assert!(!ground.publish(registry, "a/one@1.0.0", b"1").unwrap(), "it is there already");
        let error = ground.publish(registry, "a/one@1.0.0", b"2").unwrap_err();
        assert_eq!(error.code(), Code::AlreadyExists, "{registry}");
        assert!(ground.publish(registry, "a/one@1.1.0-rc.1", b"3").unwrap());
        let backend = ground.open(registry);
        let name = Name::parse("a/one").unwrap();
        let info = backend.info(&name).unwrap();
        let versions: Vec<String> = info.versions.iter().map(|listed| listed.version.to_string()).collect();
        assert_eq!(
            (versions, info.description.as_str()),
            (vec!["1.1.0-rc.1".to_owned(), "1.0.0".to_owned()], "Does a/one things")
        );
        let version = backend.version(&name, &Version::new(1, 0, 0)).unwrap();
        assert_eq!((version.sha256, version.size, version.published_at), (sha256::of(b"1"), 1, 1_700_000_000_000));
        assert_eq!(backend.archive(&version).unwrap(), b"1".to_vec().into());
        assert_eq!(backend.attestations(&version).unwrap(), ["{\"a\":1}"]);
        backend.attest(&version, "{\"b\":2}").unwrap();
        backend.attest(&version, "{\"b\":2}").unwrap();
        assert_eq!(backend.attestations(&version).unwrap().len(), 2);
        let missing = backend.version(&name, &Version::new(7, 0, 0)).unwrap_err();
        assert_eq!(missing.code(), Code::VersionNotFound);
        assert!(missing.hints()[0].contains("1.1.0-rc.1, 1.0.0"), "{:?}", missing.hints());
        assert_eq!(backend.info(&Name::parse("a/none").unwrap()).unwrap_err().code(), Code::ToolNotFound);
    }
}

#[test]
fn x46_x57_a_version_is_chosen_by_semver_among_what_is_neither_yanked_nor_a_pre_release() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        let tool = format!("of/{registry}");
        for (version, bytes) in [("1.9.0", b"a"), ("1.10.0", b"b"), ("2.0.0-rc.1", b"c"), ("1.2.0", b"d")] {
            ground.publish(registry, &format!("{tool}@{version}"), bytes).unwrap();
        }
        let resolved = |wanted: &str| ground.resolved(&format!("{tool}{wanted}"));
        assert_eq!(resolved(""), Ok(format!("{registry}:1.10.0")));
        assert_eq!(resolved("@^1.2, <1.10"), Ok(format!("{registry}:1.9.0")));
        assert_eq!(resolved("@1.2.0"), Ok(format!("{registry}:1.2.0")));
        assert_eq!(resolved("@2.0.0-rc.1"), Ok(format!("{registry}:2.0.0-rc.1")));
        assert_eq!(resolved("@^3"), Err(Code::VersionNotFound));
        ground.yank(registry, &format!("{tool}@1.10.0"), true);
        assert_eq!(resolved(""), Ok(format!("{registry}:1.9.0")));
        let error = ground.resolve(&format!("{tool}@1.10.0")).unwrap_err();
        assert_eq!(error.code(), Code::VersionYanked);
        assert_eq!(error.details().unwrap()["replacement"], "9.0.0");
        let choice = Choice { allow_yanked: true, pre: true, ..Choice::default() };
        let taken = |text: &str| resolve(&ground.context, &Reference::parse(text).unwrap(), choice).unwrap().version;
        assert!(taken(&format!("{tool}@1.10.0")).yank.is_some());
        assert_eq!(taken(&tool).version.to_string(), "2.0.0-rc.1");
    }
}

#[test]
fn a_yank_that_was_seen_stays_seen_but_for_what_is_kept_here() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        let tool = format!("of/{registry}@1.0.0");
        ground.publish(registry, &tool, b"a").unwrap();
        ground.yank(registry, &tool, true);
        let choice = Choice { allow_yanked: true, ..Choice::default() };
        let seen = resolve(&ground.context, &Reference::parse(&tool).unwrap(), choice).unwrap();
        assert!(seen.version.yank.is_some());
        ground.yank(registry, &tool, false);
    }
    assert_eq!(ground.resolved("of/local@1.0.0"), Ok("local:1.0.0".to_owned()));
    assert_eq!(ground.resolved("of/team@1.0.0"), Err(Code::VersionYanked));
    assert_eq!(ground.resolved("of/team"), Err(Code::VersionNotFound));
}

#[test]
fn a_digest_that_was_seen_never_changes() {
    let ground = Ground::new();
    let path = ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"good").unwrap();
    assert_eq!(ground.resolved("a/one"), Ok("team:1.0.0".to_owned()));
    let package = path.join("tools/a/one/1.0.0/package.json");
    let text = std::fs::read_to_string(&package).unwrap();
    let (good, evil) = (sha256::hex(b"good"), sha256::hex(b"evil"));
    std::fs::write(&package, text.replace(&good, &evil)).unwrap();
    std::fs::write(path.join("tools/a/one/1.0.0/bundle.tar.gz"), b"evil").unwrap();
    let error = ground.resolve("a/one").unwrap_err();
    assert_eq!(error.code(), Code::DigestChanged);
    assert_eq!(
        (&error.details().unwrap()["expected"], &error.details().unwrap()["actual"]),
        (&json!(good), &json!(evil))
    );
    // A read-only store refuses it too, and removing the registry does not clear the recorded digest.
    let reading = Context { store: ground.context.store.reading(), ..ground.context.clone() };
    let reference = Reference::parse("a/one").unwrap();
    assert_eq!(resolve(&reading, &reference, Choice::default()).unwrap_err().code(), Code::DigestChanged);
    let row = ground.context.store.read(|db| registries::get(db, "team")).unwrap();
    ground.context.store.write(|db| registries::delete(db, row.id)).unwrap();
    ground.add("team", Kind::Directory, path.to_str().unwrap(), None);
    assert_eq!(ground.resolved("a/one@1.0.0"), Err(Code::DigestChanged));
}

#[test]
fn an_archive_is_compared_with_its_digest_and_its_claims_are_kept() {
    let ground = Ground::new();
    let path = ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"good").unwrap();
    let resolved = ground.resolve("a/one").unwrap();
    let bundle = path.join("tools/a/one/1.0.0/bundle.tar.gz");
    std::fs::write(&bundle, b"evil").unwrap();
    let error = download(&ground.context, &resolved).unwrap_err();
    assert_eq!(error.code(), Code::DigestMismatch, "{error}");
    std::fs::write(&bundle, b"good").unwrap();
    let good = download(&ground.context, &resolved).unwrap();
    assert_eq!(&*good.bytes().unwrap(), b"good");
    // An attestation that was seen once stays, even if the registry deletes it.
    std::fs::remove_dir_all(path.join("tools/a/one/1.0.0/attestations")).unwrap();
    download(&ground.context, &resolved).unwrap();
    assert_eq!(ground.claims(&resolved), ["{\"a\":1}"]);
    std::fs::remove_file(&bundle).unwrap();
    assert_eq!(download(&ground.context, &resolved).unwrap_err().code(), Code::RegistryAnswer);
}

#[test]
fn registries_are_asked_in_their_order_and_a_missing_one_hides_nothing_it_had() {
    let ground = Ground::new();
    let first = ground.directory("first");
    ground.directory("second");
    ground.publish("first", "a/both@1.0.0", b"1").unwrap();
    ground.publish("second", "a/both@2.0.0", b"2").unwrap();
    ground.publish("second", "a/other@1.0.0", b"3").unwrap();
    assert_eq!(ground.resolved("a/both"), Ok("first:1.0.0".to_owned()));
    assert_eq!(ground.resolved("a/both@^2"), Ok("second:2.0.0".to_owned()));
    let gone = first.with_extension("away");
    std::fs::rename(&first, &gone).unwrap();
    assert_eq!(ground.resolved("a/both"), Err(Code::RegistryUnreachable));
    let other = ground.resolve("a/other").unwrap();
    assert_eq!(other.registry, "second");
    assert!(other.warnings[0].contains("first"), "{:?}", other.warnings);
    assert_eq!(ground.resolved("a/none"), Err(Code::RegistryUnreachable));
    std::fs::rename(&gone, &first).unwrap();
    assert_eq!(ground.resolved("a/none"), Err(Code::ToolNotFound));
}

#[test]
fn a_registry_that_a_stranger_named_is_not_asked() {
    let ground = Ground::new();
    let path = ground.folder.path().join("evil");
    Directory::create("evil", &path).unwrap();
    ground.stranger("evil", Kind::Directory, path.to_str().unwrap(), None);
    let flag = ground.folder.path().join("ran");
    let token = format!("command:touch {}", flag.display());
    ground.stranger("host", Kind::Http, "http://127.0.0.1:1", Some(&token));
    assert_eq!(ground.resolved("a/one"), Err(Code::Unapproved));
    let query = Query { text: "x".to_owned(), tags: Vec::new(), limit: 10, offline: false, refresh: false };
    let states: Vec<&str> =
        search(&ground.context, &query, None).unwrap().asked.iter().map(|asked| asked.state.word()).collect();
    assert_eq!(states, ["ok", "unapproved", "unapproved"]);
    assert!(!flag.exists());
    // An approval covers the token's source too: with another token, the registry needs a new approval.
    let place = Place { token: None, ..Known::named(&ground.context, "host").unwrap().place.unwrap() };
    Use(&place).approve(&ground.context).unwrap();
    assert!(Known::named(&ground.context, "host").unwrap().open(&ground.context).is_err());
}

#[test]
fn x58_any_text_is_a_query() {
    let ground = Ground::new();
    ground.publish("local", "alice/pdf-extract@1.0.0", b"1").unwrap();
    ground.publish("local", "bob/csv@1.0.0", b"2").unwrap();
    for text in [
        "\"",
        "'",
        "\"pdf",
        "pdf\"",
        "pdf OR",
        "AND pdf",
        "(pdf",
        "name: pdf",
        "pdf*",
        "^pdf",
        "pdf -csv",
        "NEAR(pdf)",
        "pdf\0",
    ] {
        let (found, _) = ground.found(text, &[], 10);
        assert!(found.iter().any(|found| found == "local:alice/pdf-extract@1.0.0"), "{text:?}: {found:?}");
    }
    assert_eq!(
        ground.found("pdf extra", &[], 10),
        (vec!["local:alice/pdf-extract@1.0.0".to_owned()], 1),
        "a word's beginning"
    );
    assert_eq!(ground.found("csv extract", &[], 10).1, 2, "none has both words");
    assert_eq!(ground.found("", &[], 10).1, 2);
    assert_eq!(ground.found("nothing", &[], 10), (Vec::new(), 0));
}

#[test]
fn x59_the_total_counts_matches_and_tags_are_looked_at_before_the_limit() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        for n in 0..12 {
            let tags: &[&str] = if n == 11 { &["Rare", "t"] } else { &["t"] };
            let tool = format!("of/{registry}-{n}@1.0.0");
            ground.publish_with(registry, &tool, &[n], Visibility::Public, tags).unwrap();
        }
    }
    assert_eq!(ground.found("things", &[], 3).1, 24);
    assert_eq!(ground.found("things", &[], 3).0.len(), 3);
    let rare = ["local:of/local-11@1.0.0", "team:of/team-11@1.0.0"].map(str::to_owned).to_vec();
    assert_eq!(ground.found("things", &["rare", "T"], 3), (rare.clone(), 2));
    assert_eq!(ground.found("", &["rare"], 1), (rare[..1].to_vec(), 2));
    assert_eq!(ground.found("csv", &["rare"], 3).1, 0);
}

#[test]
fn what_is_unlisted_private_or_yanked_is_not_found() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        let tool = |version: &str| format!("of/{registry}@{version}");
        ground.publish(registry, &tool("1.0.0"), b"1").unwrap();
        ground.publish_with(registry, &tool("1.1.0"), b"2", Visibility::Unlisted, &[]).unwrap();
        let shown = |version: &str| vec![format!("{registry}:{}", tool(version))];
        assert_eq!(ground.found(registry, &[], 10).0, shown("1.0.0"));
        ground.publish(registry, &tool("1.2.0-rc.1"), b"3").unwrap();
        assert_eq!(ground.found(registry, &[], 10).0, shown("1.0.0"));
        ground.yank(registry, &tool("1.0.0"), true);
        assert_eq!(ground.found(registry, &[], 10).0, shown("1.2.0-rc.1"));
        ground.yank(registry, &tool("1.2.0-rc.1"), true);
        assert_eq!(ground.found(registry, &[], 10), (Vec::new(), 0));
        ground.yank(registry, &tool("1.0.0"), false);
        assert_eq!(ground.found(registry, &[], 10).0, shown("1.0.0"));
    }
    let private = ground.publish_with("team", "a/secret@1.0.0", b"x", Visibility::Private, &[]);
    assert_eq!(private.unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn one_registry_that_cannot_be_asked_costs_its_line_alone() {
    let ground = Ground::new();
    ground.publish("local", "a/pdf@1.0.0", b"1").unwrap();
    let path = ground.directory("stick");
    let broken = ground.directory("broken");
    std::fs::rename(&path, path.with_extension("away")).unwrap();
    std::fs::write(broken.join("index.json"), "<html>").unwrap();
    let query = Query { text: "pdf".to_owned(), tags: Vec::new(), limit: 10, offline: false, refresh: false };
    let found = search(&ground.context, &query, None).unwrap();
    assert_eq!(found.hits.len(), 1);
    let states: Vec<&str> = found.asked.iter().map(|asked| asked.state.word()).collect();
    assert_eq!(states, ["ok", "unreachable", "failed"]);
    assert!(matches!(&found.asked[2].state, State::Failed(error) if error.code() == Code::RegistryAnswer));
}

#[test]
fn an_index_is_made_from_the_files_and_believed_for_nothing_but_words() {
    let ground = Ground::new();
    let path = ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"1").unwrap();
    ground.publish("team", "a/one/deep/er@1.0.0", b"2").unwrap();
    assert_eq!(ground.found("", &[], 10).1, 2);
    // A version that was copied in by hand.
    let (from, to) = (path.join("tools/a/one/1.0.0"), path.join("tools/b/two/3.0.0"));
    std::fs::create_dir_all(&to).unwrap();
    for file in ["bundle.tar.gz", "manifest.json"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let package = std::fs::read_to_string(from.join("package.json")).unwrap();
    let package = package.replace("a/one", "b/two").replace("1.0.0", "3.0.0");
    std::fs::write(to.join("package.json"), package).unwrap();
    assert_eq!(ground.found("", &[], 10).1, 2);
    assert_eq!(Directory::new(&ground.context, "team", &path).index().unwrap(), 3);
    assert_eq!(ground.found("", &[], 10).1, 3);
    // A made-up entry in an index is found by searches, but cannot be resolved.
    let index = std::fs::read_to_string(path.join("index.json")).unwrap().replace("b/two", "b/evil");
    std::fs::write(path.join("index.json"), index).unwrap();
    assert_eq!(ground.found("evil", &[], 10).1, 1);
    assert_eq!(ground.resolved("b/evil"), Err(Code::ToolNotFound));
    assert_eq!(ground.resolved("b/two"), Ok("team:3.0.0".to_owned()));
    std::fs::remove_file(path.join("index.json")).unwrap();
    ground.publish("team", "a/three@1.0.0", b"5").unwrap();
    assert_eq!(ground.found("", &[], 10).1, 4, "publishing makes a lost index again");
}

#[cfg(unix)]
#[test]
fn x60_nothing_but_regular_files_below_the_root_is_read() {
    use std::os::unix::fs::symlink;
    let ground = Ground::new();
    let path = ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"1").unwrap();
    let secret = ground.folder.path().join("secret");
    std::fs::create_dir_all(secret.join("1.0.0")).unwrap();
    std::fs::copy(path.join("tools/a/one/1.0.0/package.json"), secret.join("1.0.0/package.json")).unwrap();
    symlink(&secret, path.join("tools/a/linked")).unwrap();
    let name = Name::parse("a/linked").unwrap();
    assert_eq!(ground.open("team").info(&name).unwrap_err().code(), Code::InvalidPath);
    let bundle = path.join("tools/a/one/1.0.0/bundle.tar.gz");
    std::fs::remove_file(&bundle).unwrap();
    symlink(secret.join("1.0.0/package.json"), &bundle).unwrap();
    let resolved = ground.resolve("a/one").unwrap();
    let error = download(&ground.context, &resolved).unwrap_err();
    assert!(error.message().contains("not a regular file"), "{error}");
    std::fs::remove_file(&bundle).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &bundle,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let error = download(&ground.context, &resolved).unwrap_err();
    assert!(error.message().contains("not a regular file"), "{error}");
    std::fs::remove_file(&bundle).unwrap();
    std::fs::File::create(&bundle).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(download(&ground.context, &resolved).unwrap_err().code(), Code::RegistryAnswer);
}

#[test]
fn what_a_publish_that_was_killed_left_is_swept_and_was_never_seen() {
    let ground = Ground::new();
    let path = ground.directory("team");
    let left = path.join("tools/.publishing-0123/attestations");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(path.join("tools/.publishing-0123/bundle.tar.gz"), "half").unwrap();
    assert_eq!(Directory::new(&ground.context, "team", &path).index().unwrap(), 0);
    ground.publish("team", "a/one@1.0.0", b"1").unwrap();
    assert!(!left.exists());
    assert_eq!(ground.found("", &[], 10).1, 1);
}

#[test]
fn who_may_only_read_searches_what_is_listed_and_changes_nothing() {
    let ground = Ground::new();
    ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"1").unwrap();
    let reading = Context { store: ground.context.store.reading(), ..ground.context.clone() };
    let query = Query { text: "one".to_owned(), tags: Vec::new(), limit: 10, offline: false, refresh: false };
    let stale = |context: &Context| {
        let found = search(context, &query, None).unwrap();
        (found.hits.len(), matches!(found.asked[1].state, State::Stale))
    };
    assert_eq!(stale(&reading), (0, true), "the list is not up to date");
    assert_eq!(stale(&ground.context), (1, false));
    assert_eq!(stale(&reading), (1, false));
    let error = ground.local().publish(&Publication {
        name: &Name::parse("a/b").unwrap(),
        version: &Version::new(1, 0, 0),
        archive: &Vec::new().into(),
        sha256: &sha256::of(b""),
        manifest: &json!({}),
        raw_manifest: "",
        visibility: Visibility::Public,
        attestations: &[],
    });
    assert!(error.is_ok());
    let local = Known::local().open(&reading).unwrap();
    assert_eq!(
        local.yank(&Name::parse("a/b").unwrap(), &Version::new(1, 0, 0), None).unwrap_err().code(),
        Code::MayOnlyRead
    );
}
