//! `mcpkg registry add`: adds a folder or another host as a registry.

use std::path::PathBuf;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{CHANGES, data};
use crate::GROUP;
use crate::backend::approval::Use;
use crate::backend::directory::Directory;
use crate::backend::{Known, http};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::secret::Reference;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Context, Effect, Faces, NoOutput, Operation, Reply};
use mcpkg_store::tools::registries::{self, Kind, LOCAL, PATH, Place};

/// The maximum length of a name in characters.
const LONGEST: usize = 64;

/// Add a registry
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct Add {
    /// Name for the registry
    name: String,
    /// Folder or URL of the registry (https, or http for this machine only)
    #[arg(value_name = "PATH|URL")]
    location: String,
    /// Where the registry's token is stored: env:NAME, file:PATH or command:ARGV
    #[arg(long, value_name = "REF")]
    #[serde(default)]
    token: Option<String>,
    /// Position in the search order; mcpkg asks registries with lower positions first, and this database has position 0 [default: last]
    #[arg(long, value_name = "N", allow_negative_numbers = true)]
    #[serde(default)]
    priority: Option<i32>,
    /// Create a registry in the folder, which must be empty or not exist yet
    #[arg(long)]
    #[serde(default)]
    create: bool,
}

impl Operation for Add {
    const TOOL: &'static str = "add_registry";
    const CLI: &'static [&'static str] = &["registry", "add"];
    const TITLE: &'static str = "Add a registry";
    const ABOUT: &'static str = "Add a folder or another host as a registry, to find and publish tools there";
    const HELP: &'static str = "mcpkg checks a folder registry immediately, but contacts a registry on another host only when you first \
        use that registry. mcpkg stores a reference to the registry's token, never the token itself. mcpkg reads the token when a \
        request needs it, and sends the token only to the registry's own address.";
    const EXAMPLES: &'static [&'static str] = &[
        "mcpkg registry add team https://tools.example.com/registry --token env:TEAM_TOKEN",
        "mcpkg registry add stick /media/stick/tools",
        "mcpkg registry add shared ./shared-tools --create",
    ];
    const EFFECT: Effect = Effect::Create;
    const CHANGES: mcpkg_core::op::Changes = CHANGES;
    const GROUP: &'static str = GROUP;
    const FACES: Faces = Faces::Shell;
    type Output = NoOutput;

    fn subject(&self) -> String {
        self.name.clone()
    }

    fn run(self, context: &Context) -> Result<Reply> {
        check_name(&self.name)?;
        if context.store.read(registries::list)?.iter().any(|row| row.place.name == self.name) {
            return Err(registries::name_taken(&self.name));
        }
        let token = self.token.as_deref().map(Reference::from_str).transpose()?.map(|token| token.to_string());
        let (kind, location) = match self.location.contains("://") {
            true => (Kind::Http, self.host()?),
            false => (Kind::Directory, self.folder(context)?),
        };
        let author = context.author();
        let place = context.store.write(|db| {
            let priority =
                self.priority.map_or_else(|| registries::next_priority(db), |priority| Ok(priority.into()))?;
            let place = Place { name: self.name.clone(), kind, location, token, priority };
            registries::insert(db, &place, author.now)?;
            context.event(db, author, None, "registry.add", &self.name)?;
            Ok(place)
        })?;
        Use(&place).approve(context)?;
        let known = Known::named(context, &self.name)?;
        let sentence = format!("Added the registry '{}' at {}", place.name, place.location);
        let reply = Reply::sentence(sentence, data(context, &known)?);
        Ok(reply.hint(format!("search this registry with `mcpkg tool search WORDS --registry {}`", place.name)))
    }
}

impl Add {
    fn host(&self) -> Result<String> {
        if self.create {
            return Err(Error::new(
                Code::InvalidArgument,
                "--create works only for a registry in a folder, not for a URL",
            )
            .hint("leave out --create"));
        }
        http::address(&self.location)?;
        Ok(self.location.trim_end_matches('/').to_owned())
    }

    fn folder(&self, context: &Context) -> Result<String> {
        if self.token.is_some() {
            return Err(
                Error::new(Code::InvalidArgument, "A folder registry does not use a token").hint("leave out --token")
            );
        }
        let path = PathBuf::from(&self.location);
        if self.create {
            Directory::create(&self.name, &path)?;
        }
        let real = mcpkg_base::platform::real(&path).map_err(|error| {
            let error = disk::failed("open", &path, error);
            error.hint("to create a registry in a folder that is empty or does not exist yet, pass --create")
        })?;
        let checked = Directory::new(context, &self.name, &real).check();
        checked.map_err(|error| match error.code() {
            Code::RegistryAnswer => {
                error.hint("to create a registry in a folder that is empty or does not exist yet, pass --create")
            }
            _ => error,
        })?;
        let text = real.into_os_string().into_string();
        text.map_err(|_| Error::new(Code::InvalidPath, "Cannot store the folder's path: it is not valid UTF-8"))
    }
}

/// Allows only short, plain names that are not reserved, so that no name looks like a path or a URL.
fn check_name(name: &str) -> Result<()> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '_');
    let begins = name.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
    if name == LOCAL {
        return Err(registries::name_taken(name));
    }
    if name != PATH && begins && name.len() <= LONGEST && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Error::new(Code::InvalidArgument, format!("'{}' is not a valid registry name", name.escape_debug()))
        .hint("a name can contain only a-z, 0-9, - and _, for example: team"))
}
