//! Provides a team's registry: a server that offers its database, and homes that use it.

use std::path::Path;

use mcpkg_registry::package::archive;
use serde_json::Value;

use crate::support::http::Response;
use crate::support::{Http, Ran, Request, Scratch};

/// A server that offers its database as a registry.
pub struct Team {
    pub scratch: Scratch,
    pub server: Http,
}

impl Team {
    /// Starts a team's server. `arguments` are additional arguments for `serve`.
    pub fn start(arguments: &[&str]) -> Self {
        let scratch = Scratch::with_database();
        let server = Self::serve(&scratch, arguments);
        Self { scratch, server }
    }

    /// Starts a server that offers the database of `scratch`.
    pub fn serve(scratch: &Scratch, arguments: &[&str]) -> Http {
        let serve = ["--json", "serve", "--http", "--registry", "--port", "0"];
        Http::spawn(scratch.command().args(serve).args(arguments))
    }

    /// Makes an access key.
    pub fn key(&self, arguments: &[&str]) -> String {
        let made = self.scratch.json(&[&["access", "create"], arguments].concat());
        made["key"].as_str().expect("a key").to_owned()
    }

    /// Returns the URL of the registry.
    pub fn url(&self) -> String {
        format!("http://{}/registry", self.server.address)
    }

    /// Sends a request to a path below the registry, with an optional key.
    #[track_caller]
    pub fn ask(&self, method: &str, path: &str, key: Option<&str>) -> Response {
        self.server.send(&request(method, path, key))
    }

    /// Sends a request with a JSON body.
    #[track_caller]
    pub fn tell(&self, method: &str, path: &str, key: Option<&str>, body: &Value) -> Response {
        let request = request(method, path, key).with("Content-Type", "application/json");
        self.server.send(&request.body(body.to_string()))
    }

    /// Packs a folder and publishes the package with a form upload. Returns the response.
    #[track_caller]
    pub fn publish(&self, folder: &Path, visibility: &str, key: Option<&str>) -> Response {
        let opened = archive::pack(folder).expect("an archive").opened;
        let path = format!("/tools/{}/versions", opened.manifest.name);
        self.server.send(&form(request("POST", &path, key), &opened.content.bytes().expect("its bytes"), visibility))
    }

    /// Returns another user's home that has the registry as `team`. Its token is in the variable `TEAM_TOKEN`.
    pub fn home(&self) -> Scratch {
        let home = Scratch::with_database();
        home.ok(&["registry", "add", "team", &self.url(), "--token", "env:TEAM_TOKEN"]);
        home
    }
}

/// Returns a request to a path below the registry.
pub fn request(method: &str, path: &str, key: Option<&str>) -> Request {
    let request = Request::new(method, &format!("/registry{path}"));
    match key {
        Some(key) => request.with("Authorization", &format!("Bearer {key}")),
        None => request,
    }
}

/// Adds a form with an archive as the request's body.
pub fn form(request: Request, bundle: &[u8], visibility: &str) -> Request {
    let part = |head: &str, body: &[u8]| {
        [format!("--b0\r\nContent-Disposition: form-data; {head}\r\n\r\n").as_bytes(), body, b"\r\n"].concat()
    };
    let body = [
        part("name=\"visibility\"", visibility.as_bytes()),
        part("name=\"bundle\"; filename=\"bundle.tar.gz\"", bundle),
        b"--b0--\r\n".to_vec(),
    ];
    request.with("Content-Type", "multipart/form-data; boundary=b0").body(body.concat())
}

/// Runs a command with this token.
pub fn with_token(home: &Scratch, token: &str, arguments: &[&str]) -> Ran {
    home.finish(home.command().env("TEAM_TOKEN", token).arg("--json").args(arguments))
}

/// Runs a command that must succeed, and returns its data.
#[track_caller]
pub fn done(home: &Scratch, token: &str, arguments: &[&str]) -> Value {
    let ran = with_token(home, token, arguments);
    assert_eq!(ran.status, 0, "mcpkg {}\n{ran}", arguments.join(" "));
    serde_json::from_str(&ran.stdout).expect("JSON")
}

/// Runs a command that must fail, and returns its error code.
#[track_caller]
pub fn fails(home: &Scratch, token: &str, arguments: &[&str]) -> String {
    let ran = with_token(home, token, arguments);
    assert_ne!(ran.status, 0, "mcpkg {}\n{ran}", arguments.join(" "));
    let failed: Value = serde_json::from_str(&ran.stdout).unwrap_or_else(|_| panic!("{ran}"));
    failed["error"]["code"].as_str().expect("a code").to_owned()
}

/// Parses the body of a response as JSON.
#[track_caller]
pub fn body(response: &Response) -> Value {
    serde_json::from_slice(&response.body).unwrap_or_else(|error| panic!("{error}: {}", response.text()))
}

/// Returns the status and the error code of a refusal. Checks that it has the error format of Enact's registry.
#[track_caller]
pub fn refused(response: &Response) -> (u16, String) {
    let body = body(response);
    let error = body["error"].as_object().unwrap_or_else(|| panic!("no failure: {body}"));
    assert!(error["message"].as_str().is_some_and(|message| !message.is_empty()), "{body}");
    let odd: Vec<&String> =
        error.keys().filter(|key| !["code", "message", "details"].contains(&key.as_str())).collect();
    assert!(odd.is_empty() && body.as_object().is_some_and(|body| body.len() == 1), "{body}");
    (response.status, error["code"].as_str().expect("a code").to_owned())
}
