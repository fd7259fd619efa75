//! `mcpkg tool install --locked FILE`: installs exactly the archives in a lock file, or nothing.

use std::path::Path;

use serde_json::{Value, json};

use super::lockfile::{Locked, Lockfile};
use super::package::Package;
use super::place::{Arrival, Bytes, Placed, place};
use super::publisher;
use crate::backend::resolve::was_yanked;
use crate::backend::{self, Known, Resolved, VersionInfo, release, resolve};
use crate::package::manifest::Manifest;
use crate::package::{Reference, Wanted};
use crate::trust::{self, Status, Subject, Verb, Verdict};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Reply};
use mcpkg_store::blobs::NewContent;
use mcpkg_store::tools::installs::{self, Scope};
use mcpkg_store::tools::packages::{self, Release};
use mcpkg_store::tools::registries::LOCAL;

/// Exceptions that the user allows for a locked install.
#[derive(Clone, Copy)]
pub struct Allowed {
    pub yanked: bool,
    /// Allows tools whose publisher changed, after asking a person.
    pub another_publisher: bool,
}

/// A fetched and checked package from a lock file.
struct Ready {
    subject: Subject,
    manifest: Manifest,
    raw_manifest: String,
    /// The size of the archive in bytes. The archive itself is already stored in the database, because the archives of
    /// a lock file may not all fit into memory.
    size: u64,
    release: Release,
    verdict: Verdict,
    publisher: Option<String>,
    active: bool,
}

/// Installs the tools of a lock file for a scope, all of them in one transaction.
///
/// # Errors
/// `E_NOT_FOUND`, `E_LOCKFILE_INVALID` or `E_LOCKFILE_UNSUPPORTED_VERSION` for the lock file. If no registry has a
/// locked archive: `E_DIGEST_MISMATCH` if one has a different archive for the same version, otherwise the error of a
/// registry. `E_TRUST_REQUIRED` if an identity in the lock file does not vouch for its archive here. `E_VERSION_YANKED`
/// for a yanked version, unless `allowed` accepts it. The errors of [`publisher::require`], and `E_CANCELLED`.
pub fn install(context: &Context, path: &Path, scope: &Scope, allowed: Allowed) -> Result<Reply> {
    let lock = Lockfile::read(path)?;
    (context.step_aside)();
    let (mut ready, mut ahead) = (Vec::new(), context.store.ahead());
    for locked in &lock.tools {
        if context.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "The install was cancelled; nothing was installed"));
        }
        let (package, content) = prepare(context, scope, locked, allowed)?;
        ahead.store(&content)?;
        ready.push(package);
    }
    // Each install makes its version the visible one, so the version marked as active is installed last.
    ready.sort_by_key(|ready| ready.active);
    for ready in &ready {
        publisher::remember(context, scope, &ready.subject.name, ready.publisher.as_deref())?;
    }
    let author = context.author();
    let (placed, others) = context.store.write(|db| {
        let mut placed = Vec::new();
        for ready in &ready {
            let before = db.changed_rows();
            placed.push(place(db, scope, &ready.arrival(), author)?);
            if db.changed_rows() != before {
                context.event(db, author, None, "tool.install", &ready.subject.reference())?;
            }
        }
        let is_locked = |name: &str| ready.iter().any(|ready| ready.subject.name == name);
        let others = installs::of_scope(db, scope)?.into_iter().map(|install| install.name);
        Ok((placed, others.filter(|name| !is_locked(name)).collect::<Vec<_>>()))
    })?;
    ahead.keep();
    Ok(reply(path, scope, &ready, &placed, others))
}

/// Fetches a package of a lock file, and builds it if it has a build. Fails if the package may not be installed.
fn prepare(context: &Context, scope: &Scope, locked: &Locked, allowed: Allowed) -> Result<(Ready, NewContent)> {
    let resolved = find(context, locked, allowed)?;
    let package = Package::fetch(context, &resolved)?;
    let verdict = context.store.read(|db| trust::judge(db, context, &package.subject))?;
    require_identities(locked, &package.subject, &verdict)?;
    let before = context.store.read(|db| installs::active(db, scope, &package.subject.name))?;
    let accept = allowed.another_publisher;
    let before = publisher::before(context, &package.subject.name, before.as_ref())?;
    let verdict = publisher::require(context, Verb::Install, &package.subject, before.as_deref(), accept)?;
    package.build(context, &verdict)?;
    let Package { subject, opened } = package;
    let (manifest, raw_manifest) = (opened.manifest.clone(), opened.raw_manifest.clone());
    let content = opened.content;
    let ready = Ready {
        size: content.size(),
        release: release(&resolved.registry, &resolved.version),
        subject,
        manifest,
        raw_manifest,
        publisher: publisher::to_record(before.as_deref(), &verdict).map(str::to_owned),
        verdict,
        active: locked.active,
    };
    Ok((ready, content))
}

/// Finds the version with the locked digest: first in this database, then in the registry that the lock file names,
/// then in all others in order.
fn find(context: &Context, locked: &Locked, allowed: Allowed) -> Result<Resolved> {
    let Some(sha256) = locked.digest() else {
        return Err(Error::internal("a lock file was used before it was checked"));
    };
    let found = match stored(context, locked, &sha256)? {
        Some(found) => found,
        None => from_registries(context, locked, &sha256)?,
    };
    match &found.version.yank {
        Some(yank) if !allowed.yanked => Err(was_yanked(&locked.name, &locked.version, yank, true)),
        _ => Ok(found),
    }
}

/// Returns the version if this database already has its archive.
fn stored(context: &Context, locked: &Locked, sha256: &[u8; 32]) -> Result<Option<Resolved>> {
    let row = context.store.read(|db| {
        let (name, version) = (locked.name.as_str(), locked.version.to_string());
        let row = packages::get(db, &locked.registry, name, &version)?;
        let other = || packages::with_digest(db, sha256);
        match row.filter(|row| row.release.sha256 == *sha256 && row.blob.is_some()) {
            Some(row) => Ok(Some(row)),
            None => Ok(other()?.filter(|row| row.release.name == name && row.release.version == version)),
        }
    })?;
    Ok(row.map(|row| {
        let Release { registry, sha256, size, publisher, visibility, published_at, yank, .. } = row.release;
        let (name, version) = (locked.name.clone(), locked.version.clone());
        let version = VersionInfo { name, version, sha256, size, publisher, visibility, published_at, yank };
        Resolved { registry, version, warnings: Vec::new() }
    }))
}

/// Asks registries in order until one has the version with this digest.
fn from_registries(context: &Context, locked: &Locked, sha256: &[u8; 32]) -> Result<Resolved> {
    let mut all = Known::all(context)?;
    all.sort_by_key(|known| known.name != locked.registry);
    let is_known = all.iter().any(|known| known.name == locked.registry);
    let reference =
        Reference { name: locked.name.clone(), version: Wanted::Exact(locked.version.clone()), action: None };
    let (mut another, mut failed) = (None, None);
    for known in all {
        let choice = backend::Choice {
            registry: Some(&known.name),
            pre: true,
            allow_yanked: true,
            ..backend::Choice::default()
        };
        match resolve(context, &reference, choice) {
            Ok(found) if found.version.sha256 == *sha256 => return Ok(found),
            Ok(found) => another = another.or(Some((known.name, hex::encode(&found.version.sha256)))),
            Err(error) if error.code() == Code::Cancelled => return Err(error),
            // The error of an unreachable registry is more useful than "not in this database", so it takes
            // precedence.
            Err(error) if known.name == LOCAL => drop(failed.get_or_insert(error)),
            Err(error) => failed = Some(error),
        }
    }
    match (another, failed) {
        (Some((registry, actual)), _) => {
            let what = format!(
                "The archive that registry '{registry}' has for {} does not match the lock file; nothing was installed",
                locked.reference()
            );
            Err(Error::new(Code::DigestMismatch, what)
                .with_details(json!({ "registry": &registry, "expected": locked.sha256, "actual": actual }))
                .hint(another_than(locked, &registry, is_known)))
        }
        (None, Some(error)) => {
            let lacks = format!(
                "Cannot get {}, which is in the lock file; nothing was installed: {}",
                locked.reference(),
                error.message()
            );
            let new = Error::new(error.code(), lacks);
            Err(new.hint(format!("the locked archive came from the registry '{}'", locked.registry)))
        }
        (None, None) => Err(Error::internal("there are no registries")),
    }
}

/// Returns a hint that explains why a registry may have a different archive. `is_known` says whether this database has
/// the registry that the lock file names.
fn another_than(locked: &Locked, registry: &str, is_known: bool) -> String {
    let from = &locked.registry;
    match is_known {
        true if registry == from => {
            "the locked archive came from this registry: somebody replaced the archive there or edited the lock file"
                .to_owned()
        }
        true => {
            format!(
                "the locked archive came from the registry '{from}', which no longer has this version or cannot be reached"
            )
        }
        false => {
            format!("the locked archive came from the registry '{from}'; add that registry with `mcpkg registry add`")
        }
    }
}

/// Fails if an identity in the lock file does not vouch for the archive on this machine.
fn require_identities(locked: &Locked, subject: &Subject, verdict: &Verdict) -> Result<()> {
    // A refused archive is reported later with its verdict, so its identities do not matter here.
    if verdict.status == Status::Refused {
        return Ok(());
    }
    let counts = |who: &&String| !verdict.identities.iter().any(|identity| identity.as_str() == **who);
    let missing: Vec<&String> = locked.identities.iter().filter(counts).collect();
    let Some(first) = missing.first() else { return Ok(()) };
    let what = format!(
        "{} was locked with a signature by {first}, which you do not trust on this machine",
        subject.reference()
    );
    Err(Error::new(Code::TrustRequired, format!("{what}; nothing was installed"))
        .with_details(json!({
            "tool": subject.name,
            "version": subject.version,
            "sha256": subject.digest(),
            "missing": missing,
            "attestations": verdict.attestations.iter().map(trust::Counted::data).collect::<Vec<_>>(),
        }))
        .hint(format!("to trust that identity, run `mcpkg tool trust add {first}` at a terminal; its signature on this archive then \
            counts")))
}

impl Ready {
    fn arrival(&self) -> Arrival<'_> {
        Arrival {
            subject: &self.subject,
            manifest: &self.manifest,
            raw_manifest: &self.raw_manifest,
            archive: Bytes::Stored(self.size),
            release: &self.release,
            publisher: self.publisher.as_deref(),
        }
    }
}

fn reply(path: &Path, scope: &Scope, ready: &[Ready], placed: &[Placed], others: Vec<String>) -> Reply {
    let tool = |(ready, placed): (&Ready, &Placed)| {
        json!({
            "tool": ready.subject.name,
            "version": ready.subject.version,
            "sha256": ready.subject.digest(),
            "registry": ready.release.registry,
            "mcp_tools": placed.mcp_tools,
            "active": ready.active,
            "new": placed.is_new,
            "verification": ready.verdict.verification(),
        })
    };
    let shown = path.display().to_string();
    let new = placed.iter().filter(|placed| placed.is_new).count();
    let message = match (new, placed.len() - new) {
        (new, 0) => format!("Installed {} as locked in {shown}", plural::count(new, "tool")),
        (0, _) => format!("All tools in {shown} are already installed as locked"),
        (new, there) => {
            format!("Installed {} as locked in {shown}; already installed: {there}", plural::count(new, "tool"))
        }
    };
    let data = json!({
        "success": true,
        "message": message,
        "locked": shown,
        "scope": Scope::word(&scope.key()),
        "tools": ready.iter().zip(placed).map(tool).collect::<Vec<Value>>(),
        "not_locked": others,
    });
    let mut reply = Reply::sentence(message, data);
    for ready in ready.iter().filter(|ready| !ready.verdict.is_trusted()) {
        reply = reply.warn([format!("nobody you trust has signed {}", ready.subject.reference())]);
    }
    if !others.is_empty() {
        reply = reply.warn([format!("installed, but not in the lock file: {}", others.join(", "))]);
    }
    reply
}
