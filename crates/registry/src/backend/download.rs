//! Downloads an archive with its attestations, and checks the archive against its digest.

use super::known::Known;
use super::local::bundles;
use super::registry::Registry;
use super::registry::{MAX_ARCHIVE, MAX_ATTESTATION, MAX_ATTESTATIONS};
use super::resolve::Resolved;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_store::blobs::NewContent;
use mcpkg_store::tools::{attestations, packages};

/// Returns the archive of a version. Fetches the archive from the registry only if this database does not have it. Also
/// stores the registry's attestations: mcpkg then remembers a failed audit even if the registry deletes it.
pub fn download(context: &Context, resolved: &Resolved) -> Result<NewContent> {
    let sha256 = resolved.version.sha256;
    let kept = context.store.read(|db| match packages::with_digest(db, &sha256)? {
        Some(row) => packages::archive(db, &row),
        None => Ok(None),
    })?;
    let open = || Known::named(context, &resolved.registry)?.open(context);
    let (archive, registry) = match kept {
        // The archive is already in the database, so it is not an error if the registry cannot be used.
        Some(archive) => (archive, open()),
        None => {
            let registry = open()?;
            (registry.archive(&resolved.version)?, Ok(registry))
        }
    };
    let archive = checked(resolved, archive)?;
    claims(context, registry, resolved)?;
    Ok(archive)
}

/// Fetches a registry's attestations of a version, and stores them. If the registry cannot be used, logs the error and
/// goes on. Fails only if the call is cancelled or the database fails.
pub fn claims(context: &Context, registry: Result<Box<dyn Registry + '_>>, resolved: &Resolved) -> Result<()> {
    let offered = match registry.and_then(|registry| registry.attestations(&resolved.version)) {
        Ok(bundles) => bundles,
        Err(error) if error.code() == Code::Cancelled => return Err(error),
        // Attestations are optional here. If the registry sends none, the attestations in the database still count.
        Err(error) => {
            tracing::warn!(registry = resolved.registry, %error, "could not fetch attestations");
            Vec::new()
        }
    };
    keep(context, &resolved.version.sha256, offered)
}

/// Fails if an archive is too large or does not match its digest.
fn checked(resolved: &Resolved, archive: NewContent) -> Result<NewContent> {
    let version = &resolved.version;
    if archive.size() > MAX_ARCHIVE {
        let why =
            format!("The archive of {}@{} is larger than {} MiB", version.name, version.version, MAX_ARCHIVE >> 20);
        return Err(Error::new(Code::RegistryAnswer, why));
    }
    let sha256 = archive.sha256();
    if sha256 == version.sha256 {
        return Ok(archive);
    }
    let (expected, actual) = (hex::encode(&version.sha256), hex::encode(&sha256));
    let what = format!(
        "Registry '{}' sent an archive of {}@{} with the wrong digest",
        resolved.registry, version.name, version.version
    );
    Err(Error::new(Code::DigestMismatch, what)
        .with_details(serde_json::json!({ "registry": resolved.registry, "expected": expected, "actual": actual }))
        .hint("mcpkg discarded the archive; report this to the registry's maintainers"))
}

/// Stores the attestations that are not known yet. Skips attestations that are too large or contain a NUL, and those
/// after the first [`MAX_ATTESTATIONS`]. Stores nothing if the caller may not write to the database.
fn keep(context: &Context, sha256: &sha256::Sha, offered: Vec<String>) -> Result<()> {
    let fits = |bundle: &String| bundle.len() as u64 <= MAX_ATTESTATION && !bundle.contains('\0');
    let offered: Vec<String> = offered.into_iter().filter(fits).take(MAX_ATTESTATIONS).collect();
    let known = context.store.read(|db| bundles(db, sha256))?;
    let new: Vec<String> = offered.into_iter().filter(|bundle| !known.contains(bundle)).collect();
    if !new.is_empty() && context.store.may_write() {
        let now = context.clock.now();
        context.store.write(|db| {
            new.iter().try_for_each(|bundle| attestations::insert(db, sha256, bundle, None, now).map(drop))
        })?;
    }
    Ok(())
}
