//! Finds the archive that a user wants to sign or verify.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use semver::Version;
use serde::Deserialize;
use serde_json::json;

use super::subject::Subject;
use crate::alias;
use crate::backend::download::claims;
use crate::backend::{Choice, Known, download, resolve};
use crate::package::archive::{self, Opened};
use crate::package::manifest::FILES;
use crate::package::{Name, Reference, Wanted, missing};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::sha256::{self, Sha};
use mcpkg_core::op::{Context, Names};
use mcpkg_store::tools::attestations::{self, Archive};
use mcpkg_store::tools::packages;
use mcpkg_store::tools::registries::{LOCAL, PATH};

/// Names of tools with a known archive, for shell completion.
pub const TOOLS: Names = Names::Stored(|typed| Ok(typed.matching(attestations::names(typed.db)?)));

/// The archive to sign or verify.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Target {
    /// Tool such as alice/weather@1.2.0 (without a version, the latest version), or path of a folder or archive such as ./weather
    #[arg(add = TOOLS)]
    tool: String,
    /// Registry to take the archive from, if several registries have this version
    #[arg(long)]
    registry: Option<String>,
}

impl Target {
    /// Returns the user's input, for the audit trail.
    pub fn name(&self) -> String {
        self.tool.clone()
    }

    /// Finds the archive at a path, else in the database, else in a registry.
    ///
    /// # Errors
    /// `E_INVALID_ARGUMENT` if the name is invalid, or several archives match; and the errors of [`at_path`] and
    /// [`resolve`].
    pub fn find(&self, context: &Context) -> Result<Subject> {
        match at_path(&self.tool)? {
            Some(opened) => SignableArchive::of(&opened).map(|found| found.subject),
            None => match self.in_store(context, false) {
                Err(error) if is_missing(&error) => Ok(self.fetched(context)?.subject),
                found => Ok(found?.0),
            },
        }
    }

    /// Like [`Target::find`], but first asks the archive's registries for new attestations, and for the archive if
    /// it is not stored here. An unreachable registry only adds a warning.
    ///
    /// The errors of [`Target::find`]; `E_DIGEST_CHANGED` or `E_DIGEST_MISMATCH` if a registry has a different archive;
    /// `E_CANCELLED`.
    pub fn ask(&self, context: &Context) -> Result<(Subject, Vec<String>)> {
        if let Some(opened) = at_path(&self.tool)? {
            return Ok((SignableArchive::of(&opened)?.subject, Vec::new()));
        }
        let (subject, archives) = match self.in_store(context, false) {
            Err(error) if is_missing(&error) => return Ok((self.fetched(context)?.subject, Vec::new())),
            found => found?,
        };
        (context.step_aside)();
        let mut warnings = Vec::new();
        for archive in archives.iter().filter(|archive| !matches!(archive.registry.as_str(), LOCAL | PATH)) {
            if let Err(error) = ask(context, &subject, archive) {
                if matches!(error.code(), Code::DigestChanged | Code::DigestMismatch | Code::Cancelled) {
                    return Err(error);
                }
                let registry = &archive.registry;
                warnings.push(format!(
                    "could not ask registry '{registry}' for its latest signatures: {}",
                    error.public_message()
                ));
            }
        }
        Ok((subject, warnings))
    }

    /// Like [`Target::find`], and also reads the manifest: you can only sign an archive that is available for
    /// inspection.
    pub fn open(&self, context: &Context) -> Result<SignableArchive> {
        if let Some(opened) = at_path(&self.tool)? {
            return SignableArchive::of(&opened);
        }
        let subject = match self.in_store(context, true) {
            Err(error) if is_missing(&error) => return self.fetched(context),
            found => found?.0,
        };
        let stored = context.store.read(|db| {
            let row = packages::with_digest(db, &subject.sha256)?;
            row.map_or(Ok(None), |row| packages::archive(db, &row))
        })?;
        let archive = stored.ok_or_else(|| Error::internal("a stored archive has no content"))?;
        let found = SignableArchive::of(&archive::open(archive)?)?;
        if found.subject != subject {
            let message =
                format!("The archive stored for {} contains {}", subject.reference(), found.subject.reference());
            return Err(Error::new(Code::DigestMismatch, message).hint("check the database with `mcpkg check`"));
        }
        Ok(found)
    }

    /// Fetches the archive from a registry. Stores its attestations, but not the archive. If no registry has the
    /// archive, but there is a package folder of that name, the error points to the folder.
    fn fetched(&self, context: &Context) -> Result<SignableArchive> {
        self.in_registry(context).map_err(|error| match error.code() {
            Code::ToolNotFound if context.is_shell() && is_package(Path::new(&self.tool)) => {
                error.hint(format!("to use the folder `{0}`, write `./{0}`", self.tool))
            }
            _ => error,
        })
    }

    fn in_registry(&self, context: &Context) -> Result<SignableArchive> {
        (context.step_aside)();
        let choice = Choice { registry: self.registry.as_deref(), allow_yanked: true, ..Choice::default() };
        let resolved = resolve(context, &Reference::parse(&alias::expanded(context, &self.tool)?)?, choice)?;
        let found = SignableArchive::of(&archive::open(download(context, &resolved)?)?)?;
        let wanted = (resolved.version.name.as_str(), resolved.version.version.to_string());
        if (found.subject.name.as_str(), &found.subject.version) == (wanted.0, &wanted.1) {
            return Ok(found);
        }
        let message = format!(
            "Registry '{}' lists {}@{}, but its archive contains {}",
            resolved.registry,
            wanted.0,
            wanted.1,
            found.subject.reference()
        );
        Err(Error::new(Code::ArchiveInvalid, message).hint("report this to the registry's maintainers"))
    }

    /// Finds the archive in the database, and returns it with all known archives of the same version. With `kept`,
    /// considers only archives that are stored.
    fn in_store(&self, context: &Context, kept: bool) -> Result<(Subject, Vec<Archive>)> {
        let reference = Reference::parse(&alias::expanded(context, &self.tool)?)?;
        if reference.action.is_some() {
            return Err(Error::new(
                Code::InvalidArgument,
                "Cannot sign or verify a single action: a signature covers the whole tool",
            )
            .hint("leave out the action"));
        }
        let name = reference.name.as_str();
        let mut found = context.store.read(|db| attestations::archives(db, name))?;
        found.retain(|archive| self.registry.as_ref().is_none_or(|registry| *registry == archive.registry));
        found.retain(|archive| archive.kept || !kept);
        if found.is_empty() {
            return Err(Error::new(Code::ToolNotFound, format!("This database has no archive of the tool '{name}'"))
                .with_details(json!({ "tool": name }))
                .hint(
                    "publish the tool to this database or install it; to use a folder, pass its path, such as ./my-tool",
                ));
        }
        let version = choose(&reference.version, &found).ok_or_else(|| no_version(&reference, &found))?;
        let version = version.to_string();
        let of_version: Vec<&Archive> = found.iter().filter(|archive| archive.version == version).collect();
        let Some(archive) = of_version.first() else { return Err(no_version(&reference, &found)) };
        if let Some(other) = of_version.iter().find(|other| other.sha256 != archive.sha256) {
            let message = format!(
                "The registries '{}' and '{}' have different archives for {name}@{version}",
                archive.registry, other.registry
            );
            return Err(Error::new(Code::InvalidArgument, message).hint("choose one of them with `--registry`"));
        }
        let subject = Subject { name: name.to_owned(), version, sha256: archive.sha256 };
        found.retain(|archive| archive.version == subject.version);
        Ok((subject, found))
    }
}

/// Asks the registry of an archive for attestations, and for the archive if it is not stored here.
fn ask(context: &Context, subject: &Subject, archive: &Archive) -> Result<()> {
    let reference = Reference {
        name: Name::parse(&subject.name)?,
        version: Wanted::Exact(subject.version.parse().map_err(|_| Error::internal("a package has no version"))?),
        action: None,
    };
    let choice = Choice { registry: Some(&archive.registry), pre: true, allow_yanked: true, ..Choice::default() };
    let resolved = resolve(context, &reference, choice)?;
    match archive.kept {
        true => claims(context, Known::named(context, &resolved.registry)?.open(context), &resolved),
        false => download(context, &resolved).map(drop),
    }
}

/// An archive that can be signed.
pub struct SignableArchive {
    pub subject: Subject,
    /// The path of the manifest in the archive, and its SHA-256.
    pub manifest: Option<(&'static str, Sha)>,
}

impl SignableArchive {
    fn of(opened: &Opened) -> Result<Self> {
        let manifest = &opened.manifest;
        let version = manifest.version.as_ref().ok_or_else(|| Error::internal("an archive has no version"))?;
        let subject =
            Subject { name: manifest.name.as_str().to_owned(), version: version.to_string(), sha256: opened.sha256 };
        let is_there = |file: &&&str| opened.members.iter().any(|member| member.path == ***file);
        let sha256 = sha256::of(opened.raw_manifest.as_bytes());
        Ok(Self { subject, manifest: FILES.iter().find(is_there).map(|file| (*file, sha256)) })
    }
}

/// Opens the archive at a path, or packs a folder; `None` if the text names a tool.
///
/// # Errors
/// `E_NOT_FOUND` if the path does not exist, `E_ROOT_REQUIRED` if the home folder is unknown, and the errors of packing
/// a folder or opening an archive.
pub fn at_path(text: &str) -> Result<Option<Opened>> {
    if !is_path(text) {
        return Ok(None);
    }
    let path = match text.strip_prefix("~/") {
        Some(rest) => disk::home()?.join(rest),
        None => PathBuf::from(text),
    };
    let path = mcpkg_base::platform::real(&path).map_err(|error| missing(&path, error))?;
    if path.is_dir() {
        return Ok(Some(archive::pack(&path)?.opened));
    }
    let bytes = file::read(&path, archive::MAX_PACKED).map_err(|error| Error::file("read", &path, error))?;
    archive::open(bytes.into()).map(Some)
}

/// Returns whether a folder contains a manifest.
fn is_package(folder: &Path) -> bool {
    FILES.iter().any(|file| folder.join(file).is_file())
}

/// Formats a path so that [`at_path`] recognises it as a path.
pub fn as_path(path: &Path) -> String {
    let text = path.display().to_string();
    if is_path(&text) { text } else { format!("./{text}") }
}

fn is_path(text: &str) -> bool {
    matches!(text, "." | "..")
        || ["./", "../", "/", "~/"].iter().any(|begin| text.starts_with(begin))
        || text.ends_with(".tar.gz")
}

/// Returns whether an error means that the database has no such archive, so that registries should be asked.
fn is_missing(error: &Error) -> bool {
    matches!(error.code(), Code::ToolNotFound | Code::VersionNotFound)
}

/// Returns the highest version that matches `wanted`. Pre-releases count only if no other version matches.
fn choose(wanted: &Wanted, found: &[Archive]) -> Option<Version> {
    let versions: Vec<Version> = found.iter().filter_map(|archive| archive.version.parse().ok()).collect();
    wanted.choose(&versions, false).or_else(|| wanted.choose(&versions, true)).cloned()
}

fn no_version(reference: &Reference, found: &[Archive]) -> Error {
    let mut versions: Vec<&str> = found.iter().map(|archive| archive.version.as_str()).collect();
    versions.dedup();
    let message = format!("This database has no archive of {reference}");
    Error::new(Code::VersionNotFound, message)
        .with_details(json!({ "tool": reference.name.as_str(), "versions": versions }))
        .hint(format!("available versions: {}", versions.join(", ")))
}
