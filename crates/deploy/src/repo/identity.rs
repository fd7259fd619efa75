//! Computes the ids of machines and projects. Overlays depend on these ids, so they are computed in the same way as in
//! agentpack, the original tool of contract 000.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use mcpkg_base::error::{Error, Result};
use mcpkg_base::git;
use mcpkg_base::process::Limits;

pub use mcpkg_base::git::toplevel;
pub use mcpkg_base::machine::{id as machine, normal};
use mcpkg_base::sha256;

/// How long git may take to read its own configuration.
const CONFIGURATION: Duration = Duration::from_secs(10);

/// Returns the id of the project that `root` belongs to: 16 hex digits of a hash. It is the hash of the URL of
/// `origin`, so that all clones have the same id. Without an origin, it is the hash of the path.
///
/// # Errors
/// `E_NOT_FOUND` or `E_FILE_FAILED` if the folder cannot be read.
pub fn project(root: &Path) -> Result<String> {
    let root = mcpkg_base::platform::real(root).map_err(|error| Error::file("read", root, error))?;
    let name = match toplevel(&root).and_then(|toplevel| origin(&toplevel)) {
        Some(url) => normal_url(&url),
        None => root.to_string_lossy().into_owned(),
    };
    Ok(sha256::hex(name)[..16].to_owned())
}

/// Returns the URL of `origin`. Runs git only if other configuration files or variables may change the URL, or if the
/// repository's configuration has syntax that only git should parse.
fn origin(toplevel: &Path) -> Option<String> {
    let config = git::folder(toplevel)?.join("config");
    let text = mcpkg_base::file::read_text(&config, mcpkg_base::file::TEXT).ok()?;
    let read = read_origin(&text);
    let plain = is_plain(&text)
        && ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS"]
            .iter()
            .all(|variable| std::env::var_os(variable).is_none())
        && users_configs()
            .iter()
            .all(|file| mcpkg_base::file::read_text(file, mcpkg_base::file::TEXT).map_or(true, |text| is_plain(&text)));
    match read {
        Ok(url) if plain => url,
        read => {
            let never = CancellationToken::new();
            let limits = Limits::new(CONFIGURATION, &never);
            let asked = git::run(toplevel, &["remote", "get-url", "--", "origin"], &limits);
            let url = asked.ok().and_then(|url| String::from_utf8(url).ok()).map(|url| url.trim().to_owned());
            url.filter(|url| !url.is_empty()).or_else(|| read.ok().flatten())
        }
    }
}

fn users_configs() -> Vec<PathBuf> {
    let mut files = vec![PathBuf::from("/etc/gitconfig")];
    let home = etcetera::home_dir().ok();
    let xdg = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    files.extend(xdg.or_else(|| Some(home.as_ref()?.join(".config"))).map(|config| config.join("git/config")));
    files.extend(home.map(|home| home.join(".gitconfig")));
    files
}

/// Whether a git configuration neither includes other files nor rewrites URLs.
fn is_plain(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    !text.contains("insteadof") && !text.lines().any(|line| line.trim_start().starts_with("[include"))
}

/// Returns the first URL of `origin` in a git configuration. Fails if the text has syntax that only git should parse.
fn read_origin(text: &str) -> Result<Option<String>, ()> {
    let mut inside = false;
    for line in text.lines() {
        let mut line = line.trim();
        if let Some(header) = line.strip_prefix('[') {
            let (header, rest) = header.split_once(']').ok_or(())?;
            let header = header.trim();
            inside = header.strip_suffix("\"origin\"").is_some_and(|kind| kind.trim().eq_ignore_ascii_case("remote"))
                || header.eq_ignore_ascii_case("remote.origin");
            line = rest.trim();
        }
        let Some((key, value)) = line.split_once('=').filter(|_| inside) else { continue };
        if key.trim().eq_ignore_ascii_case("url") {
            let value = value.trim();
            let odd = value.is_empty() || value.contains(['"', '\\', '#', ';']);
            return if odd { Err(()) } else { Ok(Some(value.to_owned())) };
        }
    }
    Ok(None)
}

/// Converts a repository's URL to `host/path`, so that clones over ssh and https have the same id.
fn normal_url(url: &str) -> String {
    const SCHEMES: [&str; 7] = ["ssh", "git", "http", "https", "git+ssh", "ssh+git", "git+https"];
    let url = url.trim().trim_end_matches('/');
    let url = url.strip_suffix(".git").unwrap_or(url);
    let normal = match url.split_once("://") {
        Some((scheme, rest)) if SCHEMES.contains(&scheme.to_ascii_lowercase().as_str()) => {
            let (host, path) = rest.split_once('/').unwrap_or((rest, ""));
            let host = host.rsplit_once('@').map_or(host, |(_, host)| host);
            let port = |port: &str| !port.is_empty() && port.bytes().all(|digit| digit.is_ascii_digit());
            let host = host.rsplit_once(':').filter(|(_, after)| port(after)).map_or(host, |(host, _)| host);
            join(host, path)
        }
        Some(_) => url.to_owned(),
        None => match url.split_once(':') {
            // `host:path` as in scp, not a drive letter on Windows.
            Some((host, path)) if host.len() > 1 && !host.contains('/') => {
                join(host.rsplit_once('@').map_or(host, |(_, host)| host), path)
            }
            _ => url.to_owned(),
        },
    };
    normal.to_lowercase()
}

fn join(host: &str, path: &str) -> String {
    match path.trim_start_matches('/') {
        "" => host.to_owned(),
        path => format!("{host}/{path}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn machines_are_named_as_agentpack_names_them() {
        assert_eq!(normal("  My Laptop.local (2)! "), "my-laptop-local-2");
        assert_eq!(normal("a_b-C"), "a_b-c");
        assert_eq!(normal("---"), "");
        assert_eq!(machine(Some("Work MAC")), "work-mac");
        assert!(!machine(Some(" ! ")).is_empty());
    }

    #[test]
    fn one_repository_has_one_id() {
        for url in [
            "git@GitHub.com:Own/Repo.git",
            "https://github.com/own/repo",
            "https://github.com/own/repo.git/",
            "http://github.com/own/repo.git",
            "https://me:token@github.com/own/repo.git",
            "ssh://git@github.com:22/own/repo.git",
            "ssh://git@github.com/own/repo/",
            "git://github.com/own/repo.git",
            "me@github.com:/own/repo",
        ] {
            assert_eq!(normal_url(url), "github.com/own/repo", "{url}");
        }
        assert_eq!(normal_url("/srv/git/R.git"), "/srv/git/r");
        assert_eq!(normal_url("file:///srv/r.git"), "file:///srv/r");
        assert_eq!(normal_url("C:\\r"), "c:\\r");
    }

    #[test]
    fn reads_the_origin_without_git() {
        let text = "[core]\n\tbare = false\n[remote \"up\"]\n\turl = u\n[Remote \"origin\"]\n\tfetch = +x\n\tURL = git@h:o/r\n\turl = two\n";
        assert_eq!(read_origin(text), Ok(Some("git@h:o/r".to_owned())));
        assert_eq!(read_origin("[remote \"origin\"] url = a b\n"), Ok(Some("a b".to_owned())));
        assert_eq!(read_origin("[remote \"origin\"]\nurl = \"a\"\n"), Err(()));
        assert_eq!(read_origin("[branch \"main\"]\nremote = origin\n"), Ok(None));
        assert!(!is_plain("[url \"x\"]\n insteadOf = y") && !is_plain(" [includeIf \"gitdir:~\"]") && is_plain(text));
    }

    #[test]
    fn a_projects_id_comes_from_its_origin_or_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let never = CancellationToken::new();
        let git = |args: &[&str]| git::run(folder.path(), args, &Limits::new(git::LOCAL, &never));
        let root = folder.path().join("a/b");
        std::fs::create_dir_all(&root).unwrap();
        if toplevel(folder.path()).is_some() {
            return; // the temporary folder is itself inside a work tree
        }
        let path = root.canonicalize().unwrap();
        assert_eq!(project(&root).unwrap(), sha256::hex(path.to_str().unwrap())[..16]);
        git(&["init", "-q"]).unwrap();
        assert_eq!(toplevel(&root), folder.path().canonicalize().ok());
        assert_eq!(project(&root).unwrap(), sha256::hex(path.to_str().unwrap())[..16]);
        git(&["remote", "add", "origin", "git@h:o/r.git"]).unwrap();
        let id = &sha256::hex("h/o/r")[..16];
        assert_eq!(project(&root).unwrap(), id);
        git(&["config", "url.git@h:.insteadOf", "short:"]).unwrap();
        git(&["remote", "set-url", "origin", "short:o/r"]).unwrap();
        assert_eq!(project(&root).unwrap(), id);
        assert_eq!(project(&folder.path().join("none")).unwrap_err().code(), mcpkg_base::error::Code::NotFound);
    }
}
