//! `mcpkg tool publish`: publishes a package to a registry.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::{CHANGES, REGISTRIES};
use crate::GROUP;
use crate::backend::local::bundles;
use crate::backend::registry::MAX_ARCHIVE;
use crate::backend::registry::Registry;
use crate::backend::resolve::release;
use crate::backend::{Known, Publication};
use crate::package::archive::{self, Opened, Packed};
use crate::trust::target::as_path;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::hex;
use mcpkg_base::plural;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::answers;
use mcpkg_store::tools::packages::{self, Visibility};
use mcpkg_store::tools::registries::LOCAL;

/// Publish a tool
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Publish {
    /// Folder of the package, or an archive made by `mcpkg tool pack`
    #[arg(default_value = ".")]
    #[schemars(with = "String")]
    #[serde(default = "here")]
    path: PathBuf,
    /// Registry to publish to
    #[arg(long, value_name = "REGISTRY", default_value = LOCAL, add = REGISTRIES)]
    #[serde(default = "local")]
    to: String,
    /// Show what would be published, without publishing it
    #[arg(long)]
    #[serde(default)]
    dry_run: bool,
    /// Hide the tool from searches; anyone who knows its name can install it
    #[arg(long, conflicts_with = "private")]
    #[serde(default)]
    unlisted: bool,
    /// Show the tool only to users who can publish in its namespace
    #[arg(long)]
    #[serde(default)]
    private: bool,
}

fn here() -> PathBuf {
    PathBuf::from(".")
}

fn local() -> String {
    LOCAL.to_owned()
}

impl Operation for Publish {
    const TOOL: &'static str = "publish_tool";
    const CLI: &'static [&'static str] = &["tool", "publish"];
    const TITLE: &'static str = "Publish a tool";
    const ABOUT: &'static str = "Publish a package to a registry, with the package's signatures";
    const HELP: &'static str = "mcpkg packs the folder as `mcpkg tool pack` does, and uploads the archive together with the signatures \
        that `mcpkg tool sign` has made for exactly this archive. A published version never changes. Publishing the same files again \
        succeeds, but publishing different files under the same version fails.";
    const EXAMPLES: &'static [&'static str] =
        &["mcpkg tool publish ./weather --to team --dry-run", "mcpkg tool publish ./weather --to team"];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const OPEN_WORLD: bool = true;
    const LONG: bool = true;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.path.display().to_string()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        let (opened, left_out) = packed(&self.path)?;
        let (name, Some(version)) = (&opened.manifest.name, &opened.manifest.version) else {
            return Err(Error::internal("an archive has no version"));
        };
        let visibility = match (self.unlisted, self.private) {
            (_, true) => Visibility::Private,
            (true, _) => Visibility::Unlisted,
            _ => Visibility::Public,
        };
        let attestations = context.store.read(|db| bundles(db, &opened.sha256))?;
        let manifest = Value::Object(opened.manifest.json.clone());
        let publication =
            Publication { visibility, attestations: &attestations, ..Publication::of(&opened, &manifest)? };
        let backend = Known::named(context, &self.to)?.open(context)?;
        let is_new = match self.dry_run {
            true => is_new(&*backend, &publication)?,
            false => {
                let is_new = backend.publish(&publication)?;
                note(context, &self.to, &*backend, &publication)?;
                is_new
            }
        };
        let (what, files) = (format!("{name}@{version}"), opened.members.len());
        let sentence = match (self.dry_run, is_new) {
            (false, true) => format!("Published {what} in registry '{}'", self.to),
            (true, true) => format!("Would publish {what} in registry '{}'", self.to),
            (_, false) => format!("Registry '{}' already has {what}, with the same files", self.to),
        };
        let counted = plural::count(i64::try_from(files).unwrap_or(i64::MAX), "file");
        let data = json!({
            "tool": name,
            "version": version.to_string(),
            "registry": self.to,
            "sha256": hex::encode(&opened.sha256),
            "size": opened.content.size(),
            "files": files,
            "left_out": left_out,
            "attestations": attestations.len(),
            "visibility": visibility.word(),
            "published": is_new && !self.dry_run,
        });
        let mut reply = Reply::sentence(format!("{sentence}: {counted}, {} bytes", opened.content.size()), data);
        reply.details = left_out.iter().map(|path| format!("left out: {path}")).collect();
        Ok(match attestations.is_empty() {
            true => reply
                .hint(format!("this version is not signed; sign it with `mcpkg tool sign {}`", as_path(&self.path))),
            false => reply,
        })
    }
}

/// Returns the archive at a path, and the files that were left out of it; packs a folder first.
fn packed(path: &Path) -> Result<(Opened, Vec<String>)> {
    if disk::metadata(path)?.is_some_and(|metadata| metadata.is_file()) {
        let bytes = file::read(path, MAX_ARCHIVE).map_err(|error| disk::failed("read", path, error))?;
        return Ok((archive::open(bytes.into())?, Vec::new()));
    }
    let Packed { opened, left_out } = archive::pack(path)?;
    Ok((opened, left_out))
}

/// Returns whether a registry does not have this version yet. Fails if it has the version with different files.
fn is_new(backend: &dyn Registry, publication: &Publication<'_>) -> Result<bool> {
    match backend.version(publication.name, publication.version) {
        Ok(there) if there.sha256 == *publication.sha256 => Ok(false),
        Ok(_) => {
            let what =
                format!("{}@{} is already published with different files", publication.name, publication.version);
            Err(Error::new(Code::AlreadyExists, what)
                .hint("published versions cannot be changed; increase the version number"))
        }
        Err(error) if matches!(error.code(), Code::ToolNotFound | Code::VersionNotFound) => Ok(true),
        Err(error) => Err(error),
    }
}

/// Records the published digest, which must never change again. The database does this by itself for its own
/// registry.
fn note(context: &Context, registry: &str, backend: &dyn Registry, publication: &Publication<'_>) -> Result<()> {
    if registry == LOCAL {
        return Ok(());
    }
    let Publication { name, version, .. } = publication;
    let there = release(registry, &backend.version(name, version)?);
    let author = context.author();
    context.store.write(|db| {
        packages::see(db, &there, author.now)?;
        // Cached responses do not include the new version.
        answers::remove_all(db, registry)?;
        context.event(db, author, None, "tool.publish", &format!("{name}@{version}"))
    })
}
