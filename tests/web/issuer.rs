//! Tests that people sign in to the console of a server with the issuer of its tokens: what they see, and that each yes
//! needs a passkey of their own.

use std::sync::{Arc, Mutex};

use regex::Regex;
use serde_json::{Value, json};

use super::chromium::Chromium;
use super::passkeys::{challenge, invited, values};
use super::{Browser, ground, text};
use crate::support::authenticator::{Asked, Authenticator};
use crate::support::http::Response;
use crate::support::issuer::Issuer;
use crate::support::tokens::Signer;
use crate::support::{Client, Http, Request, Scratch, eventually};
use crate::workflow::runs::{Ground, code, create, execute, with_nonce};

/// A server with a console and an issuer, and a browser at its address.
pub struct Place {
    pub issuer: Issuer,
    /// The claims of the next ID token that differ from the usual ones; null removes a claim.
    pub person: Arc<Mutex<Value>>,
    pub server: Http,
    pub browser: Browser,
}

/// Returns the first part of a cookie that a response sets, if its name ends with `suffix`.
pub fn cookie(response: &Response, suffix: &str) -> Option<String> {
    let set = response.headers.iter().filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"));
    let pairs = set.filter_map(|(_, value)| value.split(';').next());
    let mut found = pairs.filter(|pair| pair.split('=').next().is_some_and(|name| name.ends_with(suffix)));
    found.rfind(|pair| !pair.ends_with('=')).map(str::to_owned)
}

/// Returns the address to which a response leads at once.
pub fn leads_to(response: &Response) -> String {
    let refresh = response.header("refresh").unwrap_or_else(|| panic!("no refresh: {}", text(&response.text())));
    refresh.strip_prefix("0; url=").expect("an address").to_owned()
}

/// Changes claims; null removes a claim.
pub fn changed(mut claims: Value, more: &Value) -> Value {
    let fields = claims.as_object_mut().expect("claims");
    fields.extend(more.as_object().expect("claims").clone());
    fields.retain(|_, value| !value.is_null());
    claims
}

impl Place {
    pub fn new(scratch: &Scratch, person: Value) -> Self {
        Self::with(scratch, person, &[], None)
    }

    /// Starts the issuer and the server. `more` are further options of the server.
    pub fn with(scratch: &Scratch, person: Value, more: &[&str], secret: Option<&str>) -> Self {
        let (signer, person) = (Signer::p256("one"), Arc::new(Mutex::new(person)));
        let issuer = Issuer::start(&[&signer]);
        let changing = Arc::clone(&person);
        issuer.sign_in("console", secret, move |claims| {
            let more = changing.lock().expect("claims");
            match more["token"].as_str() {
                Some(token) => token.to_owned(),
                None => signer.token_with(&json!({ "typ": "JWT" }), &changed(claims, &more)),
            }
        });
        let options = ["--console", "--oauth-issuer", &issuer.url(), "--oauth-client", "console"];
        let server = Http::start(scratch, &[&options, more].concat());
        // The server reads the metadata of the issuer when it has started.
        eventually("the keys are read", || (issuer.asked("/keys") > 0).then_some(()));
        let host = format!("localhost:{}", server.address.port());
        let browser = Browser { screen: None, host, cookie: String::new() };
        Self { issuer, person, server, browser }
    }

    pub fn is(&self, person: Value) {
        *self.person.lock().expect("claims") = person;
    }

    pub fn button(&self) -> String {
        format!("Sign in with {}", self.issuer.url().trim_start_matches("http://"))
    }

    /// Begins to sign in on a page. Returns the browser's cookie and the address of the issuer's page.
    pub fn begin(&self, page: &str) -> (String, String) {
        let page = self.browser.send(&self.browser.request("GET", page).without("Cookie"));
        assert_eq!(page.status, 401, "{}", text(&page.text()));
        let begun = self.browser.press(&page.text(), &self.button(), &[]);
        assert_eq!(begun.status, 200, "{}", text(&begun.text()));
        (cookie(&begun, "-sign-in").expect("a cookie"), leads_to(&begun))
    }

    /// Signs in at the issuer, and returns the path to which the issuer sends the browser back.
    pub fn at_issuer(&self, address: &str) -> String {
        let path = address.strip_prefix(&self.issuer.url()).expect("a page of the issuer").to_owned();
        let host = self.issuer.url().trim_start_matches("http://").to_owned();
        let browser = Browser { screen: None, host, cookie: String::new() };
        let sent = browser.send(&Request::new("GET", &path));
        let back = sent.header("location").expect("a way back").to_owned();
        let path = back.strip_prefix(&format!("http://{}", self.browser.host)).expect("a page of the console");
        path.to_owned()
    }

    /// Comes back from the issuer with a cookie.
    pub fn back(&self, path: &str, cookie: &str) -> Response {
        self.browser
            .send(&self.browser.request("GET", path).with("Cookie", cookie).with("Sec-Fetch-Site", "cross-site"))
    }

    /// Signs in from a page, as a browser does. Returns the last response.
    pub fn sign_in(&mut self, page: &str) -> Response {
        let (cookie, address) = self.begin(page);
        let response = self.back(&self.at_issuer(&address), &cookie);
        if let Some(session) = super::issuer::cookie(&response, "") {
            self.browser.cookie = session;
        }
        response
    }
}

fn id(asked: &Value) -> String {
    asked["error"]["details"]["consent"].as_str().expect("a request").to_owned()
}

fn state(ground: &Ground, id: &str) -> Value {
    ground.scratch.json(&["consent", "show", id])["state"].clone()
}

fn platform() -> Value {
    json!({ "groups": ["platform"] })
}

fn start(rule: &[&str]) -> (Ground, Client, Place) {
    let (ground, client) = ground();
    ground.scratch.ok(&[&["access", "rule", "add", "--claim", "groups=platform"], rule].concat());
    let place = Place::new(&ground.scratch, platform());
    (ground, client, place)
}

#[test]
fn a_person_signs_in_with_the_issuer_and_looks() {
    let (ground, mut client, mut place) = start(&["--execute"]);
    let id = id(&execute(&mut client, create()));
    let at = format!("/request?id={id}");
    let response = place.sign_in(&at);
    assert_eq!((response.status, leads_to(&response)), (200, at.clone()), "{}", text(&response.text()));
    assert!(text(&response.text()).contains("You are signed in as person:u1"), "{}", text(&response.text()));
    let cookies: Vec<&str> = response
        .headers
        .iter()
        .filter(|(name, _)| name.eq_ignore_ascii_case("set-cookie"))
        .map(|(_, value)| &**value)
        .collect();
    assert!(cookies[0].ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookies:?}");
    assert!(cookies[1].ends_with("-sign-in=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0"), "{cookies:?}");
    let page = place.browser.page(&at);
    assert!(text(&page).contains("person:u1"), "{}", text(&page));
    // The session alone approves nothing, denies nothing, and runs nothing.
    for button in ["Approve", "Deny"] {
        let question = place.browser.pressed(&page, button, &[]);
        let why = "mcpkg passkey add NAME --url http://localhost:";
        let shown = text(&question);
        assert!(shown.contains(why) && shown.contains("--person 'person:u1'"), "{shown}");
        let refused = place.browser.press(&question, "Yes", &[]);
        assert_eq!(refused.status, 409);
        assert!(text(&refused.text()).contains(why), "{}", text(&refused.text()));
        place.browser.pressed(&question, "No", &[]);
    }
    let form = place.browser.page("/form?words=prompt+create");
    let asked = place.browser.pressed(&form, "Run", &[("value.name", "new"), ("value.content", "x")]);
    assert_eq!(place.browser.press(&asked, "Yes", &[]).status, 409);
    assert_eq!((state(&ground, &id), ground.scratch.run(&["prompt", "show", "new"]).status), (json!("pending"), 1));
    // The trail names the person. No client can choose a name that begins with `console:`.
    let events = ground.scratch.json(&["events", "--by", "console:person:u1"])["events"].clone();
    let signed_in = events.as_array().into_iter().flatten().find(|event| event["kind"] == "access.sign-in");
    assert_eq!(signed_in.expect("an event")["subject"], "person:u1");
    place.browser.press(&page, "Sign out", &[]);
    assert_eq!(place.browser.get("/inbox").status, 401);
}

#[test]
fn a_passkey_of_the_person_approves_and_the_trail_names_both() {
    let (ground, mut client, mut place) = start(&["--execute"]);
    let asked = execute(&mut client, create());
    let id = id(&asked);
    let origin = format!("http://{}", place.browser.host);
    let register = |place: &Place, name: &str, person: Option<&str>| {
        let (_terminal, token) = invited(&ground.scratch, name, &origin, person)?;
        let page = place.browser.page(&format!("/passkey?token={token}"));
        let authenticator = Authenticator::new();
        let made = authenticator.create(&Asked::new(&origin, &challenge(&page)));
        assert_eq!(place.browser.press(&page, "Make a passkey", &values(&made)).status, 200);
        Some(authenticator)
    };
    let Some(mut own) = register(&place, "ada", Some("person:u1")) else { return };
    let Some(mut other) = register(&place, "eve", Some("person:u2")) else { return };
    let Some(mut nobodys) = register(&place, "any", None) else { return };
    place.sign_in("/inbox");
    let page = place.browser.page(&format!("/request?id={id}"));
    let question = place.browser.pressed(&page, "Approve", &[]);
    let job = Regex::new(r"/job\?id=\d+").expect("a pattern").find(&question).expect("a job").as_str().to_owned();
    for authenticator in [&mut other, &mut nobodys] {
        let question = place.browser.page(&job);
        let answer = authenticator.sign(&Asked::new(&origin, &challenge(&question)));
        let refused = place.browser.press(&question, "Yes", &values(&answer));
        let shown = text(&refused.text());
        assert!(refused.status == 409 && shown.contains("not registered for the person who signed in"), "{shown}");
    }
    assert_eq!(state(&ground, &id), "pending");
    // Another person does not see the question.
    place.is(json!({ "sub": "u2", "groups": ["platform"] }));
    let mine = std::mem::take(&mut place.browser.cookie);
    place.sign_in("/inbox");
    assert_eq!(place.browser.get(&job).status, 404);
    place.browser.cookie = mine;
    let question = place.browser.page(&job);
    let answer = own.sign(&Asked::new(&origin, &challenge(&question)));
    let done = place.browser.follow(&place.browser.press(&question, "Yes", &values(&answer)));
    assert!(text(&done).contains("Approved once"), "{}", text(&done));
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
    let events = ground.scratch.json(&["events", "--by", "console:person:u1"])["events"].clone();
    let kinds: Vec<&str> = events.as_array().into_iter().flatten().filter_map(|event| event["kind"].as_str()).collect();
    assert!(kinds.contains(&"passkey.use") && kinds.contains(&"consent.approve"), "{events}");
    let ran = ground.scratch.run(&["passkey", "add", "x", "--person", "ada"]);
    assert!(ran.status != 0, "{ran}");
}

#[test]
fn the_access_rules_decide_on_each_request() {
    let (ground, mut client, mut place) = start(&["--read-only"]);
    ground.scratch.ok(&["access", "rule", "add", "--claim", "groups=support", "--project", "p"]);
    let id = id(&execute(&mut client, create()));
    // Without a rule, and with a rule for one project only, there is no access.
    for (groups, why) in [("other", "no access rule of this server fits"), ("support", "for the project 'p' only")] {
        place.is(json!({ "groups": [groups] }));
        let refused = place.sign_in("/inbox");
        let shown = text(&refused.text());
        assert!(refused.status == 403 && shown.contains(why) && shown.contains("person:u1"), "{shown}");
        assert_eq!((cookie(&refused, ""), refused.header("refresh")), (None, None));
    }
    place.is(json!({ "groups": ["support", "platform"] }));
    assert_eq!(place.sign_in("/inbox").status, 200);
    // A person who only reads has no buttons, and what they post is refused.
    let page = place.browser.page(&format!("/request?id={id}"));
    assert!(!page.contains(">Approve<"), "{}", text(&page));
    let form = place.browser.page("/form?words=prompt+create");
    assert!(text(&form).contains("You can only read here"), "{}", text(&form));
    let refused = place.browser.press(&form, "Run", &[("value.name", "new"), ("value.content", "x")]);
    assert!(text(&refused.text()).contains("let you only read"), "{}", text(&refused.text()));
    // The removal of the rule ends the session and its stream.
    let events = place.server.open(&place.browser.request("GET", "/events"));
    events.data();
    ground.scratch.ok(&["access", "rule", "remove", "--claim", "groups=platform", "--yes"]);
    let refused = place.browser.get("/inbox");
    assert!(
        refused.status == 403 && text(&refused.text()).contains("You signed in as person:u1"),
        "{}",
        refused.text()
    );
    assert_eq!(place.browser.get("/inbox").status, 401);
    assert_eq!(std::iter::from_fn(|| events.raw()).filter(|event| event.starts_with("data")).count(), 0);
}

#[test]
fn a_confidential_client_signs_in_and_nothing_of_a_token_is_kept() {
    let scratch = Scratch::with_project();
    scratch.ok(&["project", "select", "p"]);
    scratch.ok(&["access", "rule", "add", "--claim", "groups=platform"]);
    let file = |name: &str| scratch.path().join(name);
    let (log, audit) = (file("log"), file("audit"));
    let signer = Signer::p256("one");
    let issuer = Issuer::start(&[&signer]);
    let tokens: Arc<Mutex<Vec<String>>> = Arc::default();
    let kept = Arc::clone(&tokens);
    issuer.sign_in("console", Some("hush-hush-1234"), move |claims| {
        let token = signer.token(&changed(claims, &json!({ "groups": "platform", "email": "ada@example.com" })));
        kept.lock().expect("tokens").push(token.clone());
        token
    });
    let mut command = scratch.command();
    command.env("MCPKG_LOG", "trace").args(["--json", "-vv", "serve", "--http", "--port", "0", "--console"]);
    command.args(["--oauth-issuer", &issuer.url(), "--oauth-client", "console", "--oauth-client-secret"]);
    command.arg("env:CLIENT_SECRET").env("CLIENT_SECRET", "hush-hush-1234").arg("--audit-log").arg(&audit);
    let server = Http::spawn_with(&mut command, std::fs::File::create(&log).expect("a file").into());
    eventually("the keys are read", || (issuer.asked("/keys") > 0).then_some(()));
    let host = format!("localhost:{}", server.address.port());
    let browser = Browser { screen: None, host, cookie: String::new() };
    let mut place = Place { issuer, person: Arc::default(), server, browser };
    let (cookie, address) = place.begin("/inbox");
    let back = place.at_issuer(&address);
    let response = place.back(&back, &cookie);
    assert_eq!(response.status, 200, "{}", text(&response.text()));
    place.browser.cookie = super::issuer::cookie(&response, "").expect("a session");
    let page = place.browser.page("/inbox");
    assert!(text(&page).contains("person:ada@example.com#"), "{}", text(&page));
    place.server.end();
    let of = |path| std::fs::read_to_string(path).unwrap_or_default();
    let line = eventually("the audit log is written", || {
        of(&audit).lines().find(|line| line.contains("\"subject\":\"/inbox\"")).map(str::to_owned)
    });
    assert!(
        line.contains("\"requester\":\"person:ada@example.com#") && line.contains("\"client\":\"console\""),
        "{line}"
    );
    let places = [of(&log), of(&audit), String::from_utf8_lossy(&scratch.bytes()).into_owned(), page, response.text()];
    let session = place.browser.cookie.split_once('=').expect("a pair").1.to_owned();
    let code = back.split(['=', '&']).nth(1).expect("a code").to_owned();
    let secrets = tokens.lock().expect("tokens")[0].split('.').map(str::to_owned).collect::<Vec<_>>();
    for secret in secrets.iter().chain([&session, &code, &"hush-hush-1234".to_owned(), &"unused-token".to_owned()]) {
        assert!(secret.len() > 5 && places.iter().all(|place| !place.contains(secret.as_str())), "{secret}");
    }
}

#[test]
fn a_client_needs_the_console_and_its_secret_is_never_an_argument() {
    let scratch = Scratch::with_project();
    let serve = |more: &[&str]| scratch.run(&[&["serve", "--http", "--port", "0"], more].concat());
    let issuer = ["--oauth-issuer", "https://login.example"];
    for (more, why) in [
        (&["--oauth-client", "c"][..], "--oauth-issuer"),
        (&[&issuer[..], &["--oauth-client", "c"]].concat(), "--console"),
        (&[&issuer[..], &["--console", "--oauth-client", ""]].concat(), "--oauth-client"),
        (&[&issuer[..], &["--console", "--oauth-client-secret", "env:A"]].concat(), "--oauth-client"),
        (
            &[&issuer[..], &["--console", "--oauth-client", "c", "--oauth-client-secret", "hunter2"]].concat(),
            "do not give the secret itself",
        ),
        (
            &[&issuer[..], &["--console", "--oauth-client", "c", "--oauth-client-secret", "env:MCPKG_NO_SUCH"]]
                .concat(),
            "it is not set",
        ),
    ] {
        let ran = serve(more);
        assert!(ran.status != 0 && ran.stderr.contains(why), "{more:?}: {ran}");
        assert!(!ran.stderr.contains("hunter2"), "{ran}");
    }
}

#[test]
fn a_person_signs_in_on_a_phone_with_and_without_scripts() {
    let (_ground, _client, place) = start(&[]);
    let Some(mut chromium) = Chromium::launch() else { return };
    chromium.size(320, 640);
    chromium.visit(&format!("http://{}", place.browser.host));
    let narrow = |chromium: &Chromium| {
        let wide = chromium.run("return document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(320), "{wide} pixels wide:\n{}", chromium.text());
    };
    for scripts in [false, true] {
        chromium.tool("Emulation.setScriptExecutionDisabled", json!({ "value": !scripts }));
        chromium.open("/feed");
        chromium.wait("Not signed in");
        narrow(&chromium);
        chromium.press(&place.button());
        // The issuer of this test sends the browser back at once.
        chromium.wait("person:u1");
        chromium.wait("Feed");
        narrow(&chromium);
        chromium.press("Sign out");
        chromium.wait("Not signed in");
    }
    let reports = chromium.reports();
    assert!(!reports.iter().any(|report| report.contains("Content Security Policy")), "{reports:#?}");
}
