//! Parses the address of a source: a folder, a git URL, `owner/repo[@ref][//path]`, or a bundle.

use std::path::{Component, Path};

use crate::item::name::letters;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::redact::redact;
use mcpkg_base::{file, file_url};
use mcpkg_store::sources::Kind;

/// The parsed address of a source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    pub kind: Kind,
    /// The URL that git fetches from, or the path of the folder.
    pub url: String,
    /// The branch, tag or commit, if the user gave one.
    pub reference: Option<String>,
    /// The folder inside the repository, with `/` separators; empty for the whole repository.
    pub path: String,
    /// The default name for a source with this address.
    pub name: String,
}

/// The possible first lines of a git bundle.
const BUNDLE: [&str; 2] = ["# v2 git bundle", "# v3 git bundle"];

/// The server of a short address such as `owner/repo`.
const GITHUB: &str = "https://github.com";

/// The URL schemes that git may fetch with. `http` and `git` are missing because content can be changed in transit, and
/// `ext` because it runs programs.
const SCHEMES: [&str; 3] = ["https", "ssh", "file"];

impl Address {
    /// Parses an address. `reference` and `path` come from flags, and override those in the text. Refuses URLs that
    /// contain credentials.
    pub fn parse(text: &str, reference: Option<&str>, path: Option<&str>) -> Result<Self> {
        let mut address = if Path::new(text).exists() {
            on_disk(Path::new(text))?
        } else if let Some((scheme, _)) = text.split_once("://") {
            url(text, scheme)?
        } else if text.starts_with(['/', '.', '~']) || Path::new(text).is_absolute() {
            return Err(Error::new(Code::NotFound, format!("There is no folder or file `{text}`")));
        } else if is_scp(text) {
            git(text.to_owned())
        } else {
            short(text).ok_or_else(|| unknown(text))?
        };
        address.reference = reference.map(str::to_owned).or(address.reference);
        if let Some(path) = path {
            address.path = path.trim_matches('/').to_owned();
        }
        if file_url::path(&address.url).is_some_and(|path| !path.exists()) {
            return Err(Error::new(Code::NotFound, format!("There is no repository at `{text}`")));
        }
        if let Some(reference) = &address.reference {
            check_reference(reference)?;
        }
        if address.kind == Kind::Folder && (address.reference.is_some() || !address.path.is_empty()) {
            let why = format!(
                "`{text}` is a folder, so --ref and --path do not apply; pass the path of the inner folder instead"
            );
            return Err(Error::new(Code::InvalidArgument, why)
                .hint("to add the committed files of a repository, pass its absolute path after `file://`"));
        }
        if !Path::new(&address.path).components().all(|part| matches!(part, Component::Normal(_))) {
            let why = format!("`{}` is not a valid path in a repository", address.path.escape_debug());
            return Err(Error::new(Code::InvalidArgument, why));
        }
        Ok(address)
    }
}

impl Address {
    /// Refuses URLs that git must not fetch from. Stored URLs are checked too, because they may come from somebody else's
    /// database.
    pub fn check_url(text: &str) -> Result<()> {
        match text.split_once("://") {
            Some((scheme, _)) => url(text, scheme).map(drop),
            None if Path::new(text).is_absolute() || is_scp(text) => Ok(()),
            None => Err(unknown(text)),
        }
    }
}

fn check_reference(reference: &str) -> Result<()> {
    let is_odd = |c: char| c.is_control() || " ~^:?*[\\".contains(c);
    let bad = reference.is_empty()
        || reference.starts_with(['-', '/', '.'])
        || reference.ends_with(['/', '.'])
        || reference.contains("..")
        || reference.contains("//")
        || reference.contains("@{")
        || reference.contains(is_odd);
    if bad {
        let why = format!("`{}` is not a valid branch, tag or commit name", reference.escape_debug());
        return Err(Error::new(Code::InvalidArgument, why));
    }
    Ok(())
}

fn unknown(text: &str) -> Error {
    let why = format!("`{}` is not a folder, URL, bundle or owner/repo name", redact(text).escape_debug());
    Error::new(Code::InvalidArgument, why).hint(
        "examples: ./folder, owner/repo@main//skills, https://host/repo.git, git@host:repo.git, file:///srv/repo.git",
    )
}

/// Returns the address of a path that exists on this machine.
fn on_disk(path: &Path) -> Result<Address> {
    let failed = |error| Error::file("read", path, error);
    let real = mcpkg_base::platform::real(path).map_err(failed)?;
    let Some(text) = real.to_str() else {
        let why = format!("The path `{}` is not valid UTF-8, so it cannot be stored", real.display());
        return Err(Error::new(Code::InvalidArgument, why));
    };
    if real.is_dir() {
        if is_bare(&real) {
            return Ok(git(file_url::of(&real)));
        }
        let name =
            named(real.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned()).as_str());
        let url = text.to_owned();
        return Ok(Address { kind: Kind::Folder, url, reference: None, path: String::new(), name });
    }
    if is_bundle(&real)? {
        return Ok(git(text.to_owned()));
    }
    Err(Error::new(Code::InvalidArgument, format!("`{}` is a file, but not a git bundle", path.display()))
        .hint("to add a single file, use `mcpkg import`; to make a bundle, use `git bundle create`"))
}

/// Returns whether a folder is a bare repository.
fn is_bare(folder: &Path) -> bool {
    folder.join("HEAD").is_file() && folder.join("objects").is_dir() && folder.join("refs").is_dir()
}

fn is_bundle(path: &Path) -> Result<bool> {
    use std::io::Read;
    let failed = |error| Error::file("read", path, error);
    let mut head = [0; 15];
    let mut opened = file::open(path).map_err(failed)?;
    Ok(opened.read_exact(&mut head).is_ok() && BUNDLE.iter().any(|begin| begin.as_bytes() == head))
}

/// Returns the address of a whole repository.
fn git(url: String) -> Address {
    let name = named(&url);
    Address { kind: Kind::Git, url, reference: None, path: String::new(), name }
}

/// Derives the name of a source from a URL or path: `https://host/team/kit.git` -> `kit`.
fn named(url: &str) -> String {
    let last = url.trim_end_matches('/').rsplit(['/', ':']).next().unwrap_or_default();
    let stem = [".git", ".bundle"].iter().find_map(|ending| last.strip_suffix(ending)).unwrap_or(last);
    let name: String = letters(stem).chars().take(100).collect();
    if matches!(name.as_str(), "" | "." | "..") { "source".to_owned() } else { name }
}

fn url(text: &str, scheme: &str) -> Result<Address> {
    let scheme = scheme.to_ascii_lowercase();
    let refuse = |why: String| Err(Error::new(Code::InvalidArgument, why));
    if !SCHEMES.contains(&scheme.as_str()) {
        let why = format!("`{}` has an unsupported scheme", redact(text).escape_debug());
        return Err(Error::new(Code::InvalidArgument, why).hint("the supported schemes are https, ssh and file"));
    }
    let rest = text.split_once("://").map(|(_, rest)| rest).unwrap_or_default();
    let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
    if host.rsplit_once('@').is_some_and(|(user, _)| user.contains(':') || scheme == "https") {
        return Err(Error::new(
            Code::InvalidArgument,
            "The URL contains a user name or a password, which would be stored in the database",
        )
        .hint(
            "leave out the credentials: use a git credential helper for passwords, or ssh, which needs no password",
        ));
    }
    if path.is_empty() || path.contains(['?', '#']) || text.contains(|c: char| c.is_control() || c.is_whitespace()) {
        return refuse(format!("`{}` is not a repository URL", redact(text).escape_debug()));
    }
    if scheme == "file" && !matches!(host, "" | "localhost") {
        return refuse(format!("`{}` points to a file on another host", text.escape_debug()));
    }
    Ok(git(text.to_owned()))
}

/// Returns whether a text has the short form of ssh addresses: `[user@]host:path`.
fn is_scp(text: &str) -> bool {
    let Some((host, path)) = text.split_once(':') else { return false };
    let is_host = |c: char| c.is_ascii_alphanumeric() || "-._@[]".contains(c);
    !host.is_empty()
        && !host.starts_with('-')
        && host.chars().all(is_host)
        && !path.is_empty()
        && !path.starts_with([':', '-'])
        && !text.contains(|c: char| c.is_control() || c.is_whitespace())
}

/// Parses `owner/repo[@ref][//path]`.
pub(crate) fn short(text: &str) -> Option<Address> {
    let (repository, path) = text.split_once("//").unwrap_or((text, ""));
    let (repository, reference) = match repository.split_once('@') {
        Some((repository, reference)) => (repository, Some(reference.to_owned())),
        None => (repository, None),
    };
    let is_word = |word: &str| {
        !word.is_empty()
            && !word.starts_with(['-', '.'])
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._".contains(&byte))
    };
    let (owner, name) = repository.split_once('/').filter(|(owner, name)| is_word(owner) && is_word(name))?;
    let name = name.strip_suffix(".git").unwrap_or(name);
    let address = git(format!("{GITHUB}/{owner}/{name}"));
    Some(Address { reference, path: path.trim_matches('/').to_owned(), ..address })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Address> {
        Address::parse(text, None, None)
    }

    #[test]
    fn repository_addresses_are_parsed() {
        for (text, url, reference, path, name) in [
            ("anthropics/skills", "https://github.com/anthropics/skills", None, "", "skills"),
            ("o/r@v1.2", "https://github.com/o/r", Some("v1.2"), "", "r"),
            ("o/r@feature/x//a/b/", "https://github.com/o/r", Some("feature/x"), "a/b", "r"),
            ("o/r.git//skills", "https://github.com/o/r", None, "skills", "r"),
            ("https://example.com/team/kit.git", "https://example.com/team/kit.git", None, "", "kit"),
            ("ssh://git@example.com:22/kit.git", "ssh://git@example.com:22/kit.git", None, "", "kit"),
            ("git@example.com:team/kit.git", "git@example.com:team/kit.git", None, "", "kit"),
            ("example.com:kit", "example.com:kit", None, "", "kit"),
        ] {
            let address = parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(address.kind, Kind::Git, "{text}");
            let found =
                (address.url.as_str(), address.reference.as_deref(), address.path.as_str(), address.name.as_str());
            assert_eq!(found, (url, reference, path, name), "{text}");
        }
        let address = Address::parse("o/r@main//a", Some("v2"), Some("b")).unwrap();
        assert_eq!((address.reference.as_deref(), address.path.as_str()), (Some("v2"), "b"));
    }

    #[test]
    fn existing_paths_are_folders_repositories_or_bundles() {
        let scratch = tempfile::tempdir().unwrap();
        let path = |name: &str| scratch.path().join(name).display().to_string();
        for folder in ["kit", "bare.git/objects", "bare.git/refs"] {
            std::fs::create_dir_all(scratch.path().join(folder)).unwrap();
        }
        std::fs::write(path("bare.git/HEAD"), "ref: refs/heads/main\n").unwrap();
        std::fs::write(path("b.bundle"), "# v2 git bundle\n").unwrap();
        std::fs::write(path("notes.md"), "# v2 notes, and no bundle\n").unwrap();
        let kinds = ["kit", "bare.git", "b.bundle"].map(|name| parse(&path(name)).unwrap());
        assert_eq!(kinds.clone().map(|address| address.kind), [Kind::Folder, Kind::Git, Kind::Git]);
        assert_eq!(kinds.clone().map(|address| address.name), ["kit", "bare", "b"]);
        assert!(kinds[1].url.starts_with("file:///"));
        assert_eq!(parse(&path("notes.md")).unwrap_err().code(), Code::InvalidArgument);
        assert_eq!(parse(&path("none")).unwrap_err().code(), Code::NotFound);
        assert_eq!(Address::parse(&path("kit"), Some("main"), None).unwrap_err().code(), Code::InvalidArgument);
    }

    #[test]
    fn unsafe_and_invalid_addresses_are_refused() {
        for text in [
            "http://example.com/a.git",
            "git://example.com/a.git",
            "ext::sh -c touch% /tmp/x",
            "ext://sh",
            "https://user:secret@example.com/a.git",
            "https://token@example.com/a.git",
            "-oProxyCommand=x:y",
            "host:--upload-pack=x",
            "kit",
            "a/b/c",
            "o/r@--x",
            "o/r@a..b",
            "o/r//../x",
            "file://elsewhere/srv/a.git",
            "https://example.com",
        ] {
            let error = parse(text).expect_err(text);
            assert_eq!(error.code(), Code::InvalidArgument, "{text}: {error}");
            assert!(!error.message().contains("secret"), "{error}");
        }
        assert_eq!(parse("file:///no/such/repo.git").unwrap_err().code(), Code::NotFound);
    }
}
