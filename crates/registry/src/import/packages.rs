//! Packs the tools in the folders of Enact, the program that contract 002 describes. If a tool cannot be packed,
//! reports why.

use std::path::{Path, PathBuf};

use super::plan::{LeftOut, Package, Plan};
use crate::installed::package as installed;
use crate::package::archive::{self, Opened};
use crate::package::manifest::FILES;
use crate::package::{Name, Wanted};
use crate::trust::{self, Status, Subject};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::hex;
use mcpkg_core::op::Context;
use mcpkg_store::tools::installs::{self, Scope};
use mcpkg_store::tools::packages;
use mcpkg_store::tools::registries::PATH;

/// The maximum size in bytes of all archives of one import.
const TOGETHER: u64 = 1 << 30;

/// The maximum number of tools in one import.
const MOST: usize = 10_000;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The tool's name as written in the file.
    pub name: String,
    /// The version as written in the file.
    pub version: String,
    pub scope: Scope,
    pub from: String,
}

/// Packs each named tool from the first folder in `roots` that has it.
///
/// # Errors
/// `E_TOO_LARGE` if the tools exceed the limits of one import; `E_CANCELLED`.
pub fn take(context: &Context, named: &[Named], roots: &[PathBuf], plan: &mut Plan) -> Result<()> {
    if named.len() > MOST {
        return Err(Error::new(Code::TooLarge, format!("Cannot import more than {MOST} tools at once")));
    }
    let mut together = 0;
    for (number, tool) in (1..).zip(named) {
        if context.is_cancelled() {
            return Err(Error::new(Code::Cancelled, "Cancelled; nothing was imported"));
        }
        (context.progress)("Packing tools", number, named.len() as u64);
        match one(context, tool, roots, plan)? {
            Ok(opened) => {
                together += opened.content.size();
                if together > TOGETHER {
                    let what = format!("The tools are larger than {} MiB in total", TOGETHER >> 20);
                    return Err(Error::new(Code::TooLarge, what).hint("remove some of them from tools.json first"));
                }
                let subject = Subject { name: tool.name.clone(), version: version(&opened), sha256: opened.sha256 };
                let package = installed::Package { subject, opened };
                plan.packages.push(Package { package, scope: tool.scope.clone(), from: tool.from.clone() });
            }
            Err(why) => {
                let what = format!(
                    "tool {}",
                    Wanted::parse(&tool.version).map_or_else(
                        |_| tool.name.escape_debug().to_string(),
                        |version| format!("{}@{version}", tool.name.escape_debug()),
                    )
                );
                plan.left.push(LeftOut::new(what, &tool.from, why));
            }
        }
    }
    Ok(())
}

/// Packs one tool, or returns the reason why it is not imported.
fn one(context: &Context, tool: &Named, roots: &[PathBuf], plan: &mut Plan) -> Result<Result<Opened, String>> {
    let name = match Name::parse(&tool.name) {
        Ok(name) if name.is_publishable() => name,
        Ok(_) => return Ok(Err("its name has only one segment, but registries require two or more".to_owned())),
        Err(error) => return Ok(Err(error.message().to_owned())),
    };
    let there = context.store.read(|db| installs::active(db, &tool.scope, name.as_str()))?;
    if let Some(there) = there {
        return Ok(Err(format!("{}@{} is already installed", there.name, there.version)));
    }
    let folder = match folder(&name, &tool.version, roots) {
        PackageFolder::At(folder) => folder,
        PackageFolder::Outside(path) => {
            return Ok(Err(format!("`{}` is a link to a place outside the skills folder", path.display())));
        }
        PackageFolder::Nowhere => {
            return Ok(Err(format!(
                "its files were not found; to install it from a registry: `mcpkg tool install {name}@{}`",
                tool.version
            )));
        }
    };
    let opened = match archive::pack(&folder) {
        Ok(packed) => packed.opened,
        Err(error) => return Ok(Err(error.message().to_owned())),
    };
    let manifest = &opened.manifest;
    if manifest.name != name {
        return Ok(Err(format!("its folder contains '{}'", manifest.name)));
    }
    let version = version(&opened);
    if let Some(why) = refused(context, &name, &version, &opened)? {
        return Ok(Err(why));
    }
    if tool.version.trim_start_matches('v') != version {
        let what = format!("{name}@{}", tool.version.escape_debug());
        plan.left.push(LeftOut::new(
            what,
            &tool.from,
            format!("its folder contains version {version}, which was imported instead"),
        ));
    }
    Ok(Ok(opened))
}

fn version(opened: &Opened) -> String {
    opened.manifest.version.as_ref().map(ToString::to_string).unwrap_or_default()
}

/// Returns why an archive must not be imported under any policy: a different archive of this version was installed from
/// a path, or somebody trusted vetoed it.
fn refused(context: &Context, name: &Name, version: &str, opened: &Opened) -> Result<Option<String>> {
    context.store.read(|db| {
        let before = packages::get(db, PATH, name.as_str(), version)?;
        if let Some(before) = before.filter(|before| before.release.sha256 != opened.sha256) {
            let digest = hex::encode(&before.release.sha256);
            return Ok(Some(format!(
                "a different archive of this version was previously installed from a path (SHA-256 {digest})"
            )));
        }
        let subject = Subject { name: name.to_string(), version: version.to_owned(), sha256: opened.sha256 };
        let verdict = trust::judge(db, context, &subject)?;
        Ok((verdict.status == Status::Refused).then(|| "somebody you trust vetoed it".to_owned()))
    })
}

/// The result of looking for a package's folder.
enum PackageFolder {
    At(PathBuf),
    Outside(PathBuf),
    Nowhere,
}

/// Finds the folder of a tool, which is either one folder for all versions or one folder per version.
fn folder(name: &Name, version: &str, roots: &[PathBuf]) -> PackageFolder {
    // Only a valid version is joined to the path, so the text cannot lead out of the folder.
    let version = version.trim_start_matches('v').parse::<semver::Version>().ok();
    for root in roots {
        let Ok(root) = mcpkg_base::platform::real(root) else { continue };
        let of_tool = root.join(name.as_str());
        let of_version = version.as_ref().map(|version| of_tool.join(format!("v{version}")));
        for folder in of_version.into_iter().chain([of_tool]) {
            if !holds_manifest(&folder) {
                continue;
            }
            return match mcpkg_base::platform::real(&folder) {
                Ok(real) if real.starts_with(&root) => PackageFolder::At(real),
                _ => PackageFolder::Outside(folder),
            };
        }
    }
    PackageFolder::Nowhere
}

fn holds_manifest(folder: &Path) -> bool {
    FILES.iter().any(|file| std::fs::symlink_metadata(folder.join(file)).is_ok())
}
