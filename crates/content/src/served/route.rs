//! Parses the paths of requests, and builds the answers to requests that are refused.

use http::StatusCode;
use http::header::{CACHE_CONTROL, HeaderValue};

use crate::uri::decode;
use mcpkg_core::names;
use mcpkg_core::op::{Answer, Content, Head};

const ALL: &str = "/marketplace.git";
const MARKETPLACE: &str = "/marketplace";
const SKILLS: &str = "/.well-known/agent-skills";
const SERVERS: &str = "/v0.1";

pub(super) static PREFIXES: [&str; 4] = [MARKETPLACE, ALL, SKILLS, SERVERS];

pub(super) const TEXT: HeaderValue = HeaderValue::from_static("text/plain; charset=utf-8");

/// The file in which `npx skills` looks for skills.
const INDEX: &str = "index.json";

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Route {
    /// The project that the path names, if any.
    pub project: Option<String>,
    pub what: What,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum What {
    /// The refs of a git repository: the project's repository or, if the path names no project, the repository of all
    /// projects.
    Offer,
    Upload,
    Skills,
    /// A file that is listed in the skills index.
    Skill(String),
    Servers,
    Server {
        name: String,
        version: Option<String>,
    },
}

impl Route {
    /// Returns the route of a request; `None` if nothing is served at the path.
    pub fn of(head: &Head) -> Option<Self> {
        let path = head.path.as_str();
        let about = |project: Option<&str>, what| Some(Self { project: project.map(str::to_owned), what });
        match head.prefix {
            ALL => about(None, of_git(path)?),
            SKILLS => about(None, of_skills(path)?),
            SERVERS => about(None, of_servers(path)?),
            _ => {
                let (first, rest) = path.split_once('/')?;
                let (project, what) = match first.strip_suffix(".git") {
                    Some(project) => (project, of_git(rest)?),
                    None => {
                        let skills = rest.strip_prefix(&SKILLS[1..]).and_then(|rest| rest.strip_prefix('/'));
                        let servers = || rest.strip_prefix(&SERVERS[1..]).and_then(|rest| rest.strip_prefix('/'));
                        (first, skills.map_or_else(|| of_servers(servers()?), of_skills)?)
                    }
                };
                names::check("project", project).ok()?;
                about(Some(project), what)
            }
        }
    }
}

pub(super) fn nothing() -> Answer {
    refuse(StatusCode::NOT_FOUND, "There is nothing at this address")
}

pub(super) fn refuse(status: StatusCode, why: &str) -> Answer {
    let content = Content::Bytes { bytes: format!("{why}\n").into_bytes(), content_type: TEXT };
    Answer::new(status, content).with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
}

fn of_git(path: &str) -> Option<What> {
    match path {
        "info/refs" => Some(What::Offer),
        "git-upload-pack" => Some(What::Upload),
        _ => None,
    }
}

fn of_skills(path: &str) -> Option<What> {
    match path {
        INDEX => Some(What::Skills),
        _ => Some(What::Skill(path.to_owned())),
    }
}

fn of_servers(path: &str) -> Option<What> {
    let parts: Vec<&str> = path.split('/').collect();
    match parts[..] {
        ["servers"] => Some(What::Servers),
        ["servers", name, "versions"] => Some(What::Server { name: decode(name)?, version: None }),
        ["servers", name, "versions", version] => {
            Some(What::Server { name: decode(name)?, version: Some(decode(version)?) })
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, Method};

    use super::*;

    fn of(prefix: &'static str, path: &str) -> Option<(Option<String>, What)> {
        let head = Head {
            method: Method::GET,
            prefix,
            path: path.to_owned(),
            query: String::new(),
            headers: HeaderMap::new(),
        };
        Route::of(&head).map(|route| (route.project, route.what))
    }

    #[test]
    fn each_path_is_parsed_into_its_project_and_request() {
        let named = |what| Some((Some("a.b".to_owned()), what));
        assert_eq!(of(ALL, "info/refs"), Some((None, What::Offer)));
        assert_eq!(of(MARKETPLACE, "a.b.git/info/refs"), named(What::Offer));
        assert_eq!(of(MARKETPLACE, "a.b.git/git-upload-pack"), named(What::Upload));
        assert_eq!(of(MARKETPLACE, "a.b/.well-known/agent-skills/index.json"), named(What::Skills));
        assert_eq!(of(MARKETPLACE, "a.b/v0.1/servers"), named(What::Servers));
        assert_eq!(of(SKILLS, "x.tar.gz"), Some((None, What::Skill("x.tar.gz".to_owned()))));
        let server = What::Server { name: "n/s".to_owned(), version: Some("latest".to_owned()) };
        assert_eq!(of(SERVERS, "servers/n%2Fs/versions/latest"), Some((None, server)));
        for (prefix, path) in [
            (ALL, ""),
            (ALL, "HEAD"),
            (ALL, "git-receive-pack"),
            (ALL, "../x.git/info/refs"),
            (MARKETPLACE, ""),
            (MARKETPLACE, "a.git"),
            (MARKETPLACE, ".git/info/refs"),
            (MARKETPLACE, "../a.git/info/refs"),
            (MARKETPLACE, "%2e%2e.git/info/refs"),
            (MARKETPLACE, "a.git/../b.git/info/refs"),
            (MARKETPLACE, "a.git/objects/info/packs"),
            (MARKETPLACE, "a/v0.1"),
            (SERVERS, "servers/"),
            (SERVERS, "servers/a/versions/b/c"),
        ] {
            assert_eq!(of(prefix, path), None, "{prefix} {path}");
        }
    }
}
