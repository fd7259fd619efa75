//! Asks only the registry that an install came from: for newer versions, and for news about the installed one.

use std::collections::HashMap;

use super::newer::takes_pre;
use crate::backend::download::claims;
use crate::backend::{Choice, Known, Resolved, resolve};
use crate::package::{Name, Reference, Wanted};
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_core::op::Context;
use mcpkg_store::tools::installs::Install;
use mcpkg_store::tools::registries::PATH;

/// The registries that installs came from. One that could not be reached is not asked again.
pub struct Origins<'c> {
    context: &'c Context,
    down: HashMap<String, String>,
}

impl<'c> Origins<'c> {
    /// Returns the registries of a context.
    pub fn new(context: &'c Context) -> Self {
        Self { context, down: HashMap::new() }
    }

    /// Returns the version that may replace an install: the highest one that is `wanted`, newer and not yanked, if there is one. Records
    /// what the registry has, and news about the installed version: that it was yanked, and new attestations.
    ///
    /// # Errors
    /// `E_NOT_FOUND` where the registry was removed; `E_DIGEST_CHANGED` where it has another archive as the installed version;
    /// `E_VERSION_NOT_FOUND` where it has none that is wanted.
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
        // All its versions were yanked.
        Err(error) if error.code() == Code::VersionNotFound && *wanted == Wanted::Latest => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(newest).filter(|newest| newest.version.version > here))
}

/// Says which registry is gone, and what to do about it.
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
