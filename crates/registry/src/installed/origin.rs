//! Asks the registry that an install came from, and no other, for newer versions and for news about the installed
//! one.

use std::collections::HashMap;

use super::newer::takes_pre;
use crate::backend::download::claims;
use crate::backend::{Choice, Known, Resolved, resolve};
use crate::package::{Name, Reference, Wanted};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::tools::installs::Install;
use mcpkg_store::tools::registries::PATH;

/// The registries that installs came from. An unreachable registry is asked only once.
pub struct Origins<'c> {
    context: &'c Context,
    down: HashMap<String, String>,
}

impl<'c> Origins<'c> {
    pub fn new(context: &'c Context) -> Self {
        Self { context, down: HashMap::new() }
    }

    /// Returns the highest version that matches `wanted`, is newer than the install and is not yanked. Also records
    /// the registry's versions, and news about the installed version: a yank, or new attestations.
    ///
    /// # Errors
    /// `E_NOT_FOUND` if the registry was removed; `E_DIGEST_CHANGED` if the registry now has a different archive for
    /// the installed version; `E_VERSION_NOT_FOUND` if `wanted` is a version or range that the registry does not have;
    /// and the other errors of [`resolve`].
    pub fn ask(&mut self, install: &Install, wanted: &Wanted, pre: bool) -> Result<Option<Resolved>> {
        if let Some(why) = self.down.get(&install.registry) {
            return Err(Error::new(Code::RegistryUnreachable, why.clone()));
        }
        let asked = ask(self.context, install, wanted, pre);
        asked.inspect_err(|error| {
            if error.code() == Code::RegistryUnreachable {
                self.down.insert(install.registry.clone(), error.message().to_owned());
            }
        })
    }
}

fn ask(context: &Context, install: &Install, wanted: &Wanted, pre: bool) -> Result<Option<Resolved>> {
    if install.registry == PATH {
        return Ok(None);
    }
    let known = Known::named(context, &install.registry).map_err(|error| removed(install, error))?;
    let here =
        install.version.parse::<semver::Version>().map_err(|_| Error::internal("an installed tool has no version"))?;
    let name = Name::parse(&install.name)?;
    let of = |version| Reference { name: name.clone(), version, action: None };
    let choice = Choice { registry: Some(&install.registry), pre: true, allow_yanked: true, ..Choice::default() };
    let installed = resolve(context, &of(Wanted::Exact(here.clone())), choice)?;
    claims(context, known.open(context), &installed)?;
    let choice = Choice { pre: takes_pre(&here, pre), allow_yanked: false, ..choice };
    let newest = match resolve(context, &of(wanted.clone()), choice) {
        Ok(newest) => newest,
        // No version is left to update to: all were yanked, or are pre-releases that do not count.
        Err(error) if error.code() == Code::VersionNotFound && *wanted == Wanted::Latest => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(newest).filter(|newest| newest.version.version > here))
}

/// Explains that the registry of an install was removed; other errors are returned unchanged.
fn removed(install: &Install, error: Error) -> Error {
    if error.code() != Code::NotFound {
        return error;
    }
    let Install { name, registry, .. } = install;
    let what = format!("'{name}' comes from the registry '{registry}', which was removed");
    Error::new(Code::NotFound, what)
        .hint(format!("`mcpkg registry add {registry} PATH|URL` adds that registry again"))
        .hint(format!("`mcpkg tool install {name} --registry NAME` switches the tool to another registry"))
}
