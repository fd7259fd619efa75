//! `mcpkg catalog import --from-oatty`: imports the catalogs that the program oatty keeps in its `registry.json`.
//!
//! Each document is read again from its source, and imported by the usual rules. What oatty derived from the document is ignored.
//! A catalog that cannot be imported is reported with the reason and the command to import it later.

use std::path::Path;

use serde_json::{Value, json};

use super::base_url;
use super::new_catalog::{NewCatalog, Options};
use crate::api::catalog::Catalog;
use crate::api::fetch::Place;
use crate::api::oatty::{self, Entry, HeaderValue};
use crate::api::security::Scheme;
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::plural;
use mcpkg_base::redact::redact;
use mcpkg_base::shell;
use mcpkg_core::consent::approvable::Approvable;
use mcpkg_core::op::{Context, Reply};

/// A catalog whose document has been read, but that is not stored yet.
struct NewImport {
    entry: Entry,
    made: NewCatalog,
    notes: Vec<String>,
}

/// A catalog that could not be imported.
struct Left {
    title: String,
    why: String,
    /// What the person can do about the problem.
    hint: String,
}

impl Left {
    fn of(entry: &Entry, why: &str) -> Self {
        Self::with(entry, why, &format!("import it with `{}`", command(entry)))
    }

    /// Reports a catalog whose name or group is in use or reserved.
    fn in_use(entry: &Entry, why: &str) -> Self {
        let document = entry.source.as_deref().unwrap_or("FILE|URL");
        let line = words(&["catalog", "import", document, "--name", "NAME", "--prefix", "GROUP"]);
        Self::with(entry, why, &format!("import the catalog under other names with `{line}`"))
    }

    /// Redacts the reason and the hint, because a URL may contain a password.
    fn with(entry: &Entry, why: &str, hint: &str) -> Self {
        Self { title: entry.title.clone(), why: redact(why), hint: redact(hint) }
    }

    fn line(&self) -> String {
        format!("skipped '{}': {}; {}", self.title.escape_debug(), self.why, self.hint)
    }

    fn data(&self) -> Value {
        json!({ "title": self.title, "why": self.why, "hint": self.hint })
    }
}

/// Imports the catalogs of oatty's registry in one transaction, and reports those that cannot be imported.
pub(super) fn take_over(context: &Context, path: &Path, private: bool) -> Result<Reply> {
    let from = path.display();
    let text = file::read_text(path, file::TEXT)
        .map_err(|error| Error::new(Code::FileFailed, format!("Cannot read `{from}`: {error}")))?;
    let (entries, mut notes) = oatty::entries(&text).map_err(|why| {
        Error::new(Code::InvalidArgument, format!("`{from}` contains no catalogs: {why}"))
            .hint("oatty stores its catalogs in registry.json in its configuration folder, such as ~/.config/oatty")
    })?;
    let (mut ready, mut left) = (Vec::new(), Vec::new());
    for entry in entries {
        match read_again(context, entry, private)? {
            Ok(taken) => ready.push(taken),
            Err(why) => left.push(why),
        }
    }
    let author = context.author();
    let (came, late) = context.store.write(|db| {
        let (mut came, mut late) = (Vec::new(), Vec::new());
        for taken in &ready {
            match taken.made.check(db) {
                Ok(()) => {
                    taken.made.keep(context, db, author)?;
                    came.push(taken);
                }
                Err(error) if matches!(error.code(), Code::AlreadyExists | Code::InvalidArgument) => {
                    late.push(Left::in_use(&taken.entry, error.message()));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((came, late))
    })?;
    came.iter().try_for_each(|taken| taken.made.catalog.approve(context))?;
    left.extend(late);
    notes.extend(came.iter().flat_map(|taken| taken.notes.iter().cloned()));
    let named = came.iter().map(|NewImport { made, .. }| {
        format!("'{}' ({})", made.catalog.name, plural::count(made.rows.len(), "command"))
    });
    let named = named.collect::<Vec<_>>().join(", ");
    let count = plural::count(came.len(), "catalog");
    let sentence = match came.is_empty() {
        true => format!("Imported {count} from `{from}`"),
        false => format!("Imported {count} from `{from}`: {named}"),
    };
    let data = |taken: &&NewImport| {
        let mut data = taken.made.catalog.data();
        data["commands"] = json!(taken.made.rows.len());
        data["was"] = json!(taken.entry.title);
        data
    };
    let lines: Vec<String> = notes.iter().cloned().chain(left.iter().map(Left::line)).collect();
    let reply = Reply::sentence(
        sentence,
        json!({
            "catalogs": came.iter().map(data).collect::<Vec<_>>(),
            "left": left.iter().map(Left::data).collect::<Vec<_>>(),
            "notes": notes,
        }),
    );
    let workflows = path.with_file_name("workflows");
    Ok(match workflows.is_dir() {
        true => reply.warn(lines).hint(format!(
            "import its workflows with `{}`",
            words(&["workflow", "import", &workflows.display().to_string()])
        )),
        false => reply.warn(lines),
    })
}

/// Reads the document of a catalog again from its source.
fn read_again(context: &Context, entry: Entry, private: bool) -> Result<Result<NewImport, Left>> {
    if !entry.enabled {
        return Ok(Err(Left::of(&entry, "it is disabled in oatty")));
    }
    let made = match read(context, &entry, private) {
        Ok(made) => made,
        Err(error) if error.code() == Code::Cancelled => return Err(error),
        Err(error) => return Ok(Err(Left::of(&entry, error.message()))),
    };
    let mut taken = NewImport { entry, made, notes: Vec::new() };
    let NewImport { entry, made: NewCatalog { catalog, .. }, notes } = &mut taken;
    if !entry.other_urls.is_empty() {
        let others = redact(&entry.other_urls.join(", "));
        notes.push(format!("'{}': skipped its other base URLs: {others}", catalog.name));
    }
    for (header, kept) in &entry.headers {
        if let Some(note) = set_header(catalog, header, kept) {
            notes.push(format!("'{}': the header {} {note}", catalog.name, header.escape_debug()));
        }
    }
    Ok(Ok(taken))
}

fn read(context: &Context, entry: &Entry, private: bool) -> Result<NewCatalog> {
    let wrong = |why: &str| Err(Error::new(Code::InvalidArgument, why));
    let Some(source) = &entry.source else {
        return wrong(
            "oatty did not record the catalog's source, and mcpkg cannot import commands that oatty has generated",
        );
    };
    let path = match source.strip_prefix("~/") {
        _ if source.contains("://") => source.clone(),
        Some(rest) => disk::home()?.join(rest).display().to_string(),
        None if Path::new(source).is_absolute() => source.clone(),
        None => return wrong(&format!("oatty recorded the catalog's source `{source}` without its folder")),
    };
    let base_url = entry.base_url.as_deref().map(base_url).transpose()?;
    let name = Some(super::name_of(&entry.title));
    NewCatalog::read(
        context,
        Options { place: Place::of(&path)?, prefix: entry.prefix.clone(), name, base_url, private },
    )
}

/// Adds a header of oatty to a catalog. Returns a note if the header was skipped, or if it is sent as the secret of a security
/// scheme.
fn set_header(catalog: &mut Catalog, header: &str, kept: &HeaderValue) -> Option<String> {
    let set = |flag: &str, name: &str| format!("`{}`", words(&["catalog", "set", &catalog.name, flag, name]));
    let by_hand = set("--header", &format!("{header}=env:{}", variable_of(header)));
    match kept {
        HeaderValue::Variable(variable) => {
            let reference = vec![(header.to_owned(), format!("env:{variable}"))];
            catalog.set_headers(reference).err().map(|_| "was skipped: mcpkg sets this header itself".to_owned())
        }
        HeaderValue::Bearer(variable) => {
            let mut bearer = catalog.schemes.iter().filter(|(_, scheme)| **scheme == Scheme::Bearer);
            match (bearer.next().map(|(name, _)| name.clone()), bearer.next()) {
                (Some(scheme), None) => {
                    let note =
                        format!("is sent as the bearer token of the security scheme '{scheme}', from env:{variable}");
                    catalog.auth.insert(scheme, format!("env:{variable}"));
                    Some(note)
                }
                _ => Some(format!(
                    "was skipped: it combines `Bearer` and the variable {variable}, but the document has no bearer scheme; put `Bearer` \
                        and the value into one variable, then run {by_hand}"
                )),
            }
        }
        HeaderValue::Mixed => Some(format!(
            "was skipped: its value combines text and variables; put the whole value into one variable, then run {by_hand}"
        )),
        HeaderValue::Keychain(secret) => Some(format!(
            "was skipped: its value is in the system keychain as '{}'; put the value into an environment variable, then run {by_hand}",
            secret.escape_debug()
        )),
        HeaderValue::Raw => Some(format!(
            "was skipped: its value is in oatty's file, and mcpkg stores no secrets; put the value into an environment variable, then \
                run {by_hand}"
        )),
    }
}

/// Returns the command that imports this catalog by hand.
fn command(entry: &Entry) -> String {
    let name = super::name_of(&entry.title);
    let document = entry.source.as_deref().unwrap_or("FILE|URL");
    let mut line = vec!["catalog", "import", document, "--name", &name];
    for (flag, value) in [("--prefix", &entry.prefix), ("--base-url", &entry.base_url)] {
        if let Some(value) = value {
            line.extend([flag, value.as_str()]);
        }
    }
    let variable = |(header, kept): &(String, HeaderValue)| match kept {
        HeaderValue::Variable(variable) => Some(format!("{header}=env:{variable}")),
        _ => None,
    };
    let headers: Vec<String> = entry.headers.iter().filter_map(variable).collect();
    for header in &headers {
        line.extend(["--header", header]);
    }
    words(&line)
}

/// Returns a quoted mcpkg command line.
fn words(words: &[&str]) -> String {
    std::iter::once("mcpkg".to_owned()).chain(words.iter().map(|word| shell::quote(word))).collect::<Vec<_>>().join(" ")
}

/// Returns the name of an environment variable for a header.
fn variable_of(header: &str) -> String {
    header.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}
