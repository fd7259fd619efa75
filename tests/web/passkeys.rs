//! Tests passkeys on the console of a server: a software authenticator registers, signs in and approves, and every wrong
//! answer is refused.

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use mcpkg_base::approved::Kind;
use mcpkg_base::clock::Clock;
use mcpkg_base::sha256;
use mcpkg_core::op::Context;
use mcpkg_core::passkey::{self, About, Passkeys};
use regex::Regex;
use serde_json::{Value, json};

use super::chromium::Chromium;
use super::{Browser, ground, text};
use crate::support::authenticator::{Answer, Asked, Authenticator};
use crate::support::http::{Http, Response};
use crate::support::{Client, Scratch, Screen, skipped};
use crate::workflow::runs::{Ground, code, create, execute, with_nonce};

/// A server with a console, a passkey, and a browser at its address.
struct Place {
    server: Http,
    browser: Browser,
    authenticator: Authenticator,
}

/// Makes a link that registers a passkey for a server, at a terminal. Returns the terminal and the link's token.
pub fn invited(scratch: &Scratch, name: &str, origin: &str, person: Option<&str>) -> Option<(Screen, String)> {
    let mut command = scratch.command();
    command.env("TERM", "xterm-256color").args(["passkey", "add", name, "--url", origin]);
    if let Some(person) = person {
        command.args(["--person", person]);
    }
    let Some(terminal) = Screen::start((220, 40), &command) else {
        skipped(super::NO_SCRIPT);
        return None;
    };
    let link = Regex::new(r"/passkey\?token=([0-9a-f]{64})\b").expect("a pattern");
    let shown = terminal.wait_until(|text| link.is_match(text), "a link");
    let token = link.captures(&shown).expect("a link")[1].to_owned();
    Some((terminal, token))
}

/// Returns the challenge in a page.
pub fn challenge(page: &str) -> String {
    let challenge = Regex::new(r#"data-challenge="([A-Za-z0-9_-]{43})""#).expect("a pattern");
    challenge.captures(page).unwrap_or_else(|| panic!("no challenge: {page}"))[1].to_owned()
}

pub fn values(answer: &Answer) -> Vec<(&str, &str)> {
    answer.iter().map(|(name, value)| (*name, value.as_str())).collect()
}

impl Place {
    /// Starts a server and registers a passkey. `None` if there is no terminal.
    fn new(ground: &Ground) -> Option<Self> {
        let server = Http::start(&ground.scratch, &["--console"]);
        let host = format!("localhost:{}", server.address.port());
        let (terminal, token) = invited(&ground.scratch, "alice", &format!("http://{host}"), None)?;
        let browser = Browser { screen: Some(terminal), host, cookie: String::new() };
        let place = Self { server, browser, authenticator: Authenticator::new() };
        let page = place.browser.page(&format!("/passkey?token={token}"));
        assert!(page.contains("data-name=\"alice\"") && text(&page).contains("with the name alice"), "{page}");
        let made = place.authenticator.create(&place.asked(&page));
        let done = place.browser.press(&page, "Make a passkey", &values(&made));
        assert_eq!(done.status, 200, "{}", text(&done.text()));
        // The link works only once.
        assert_eq!(place.browser.get(&format!("/passkey?token={token}")).status, 401);
        assert_eq!(place.browser.press(&page, "Make a passkey", &values(&made)).status, 401);
        Some(place)
    }

    fn origin(&self) -> String {
        format!("http://{}", self.browser.host)
    }

    /// Returns what the browser asks the authenticator on a page.
    fn asked(&self, page: &str) -> Asked {
        Asked::new(&self.origin(), &challenge(page))
    }

    /// Opens a page without being signed in, and signs in there. Returns where the browser goes afterwards.
    fn sign_in(&mut self, address: &str) -> String {
        let page = self.browser.get(address);
        assert_eq!(page.status, 401);
        let page = page.text();
        let answer = self.authenticator.sign(&self.asked(&page));
        let response = self.browser.press(&page, "Sign in with a passkey", &values(&answer));
        assert_eq!(response.status, 303, "{}", text(&response.text()));
        let cookie = response.header("set-cookie").expect("a cookie");
        self.browser.cookie = cookie.split(';').next().expect("a pair").to_owned();
        response.header("location").expect("a page").to_owned()
    }

    /// Returns the page with the question that approves a request.
    fn question(&self, id: &str) -> String {
        self.browser.pressed(&self.browser.page(&format!("/request?id={id}")), "Approve", &[])
    }

    fn yes(&self, question: &str, answer: &Answer) -> Response {
        self.browser.press(question, "Yes", &values(answer))
    }
}

fn id(asked: &Value) -> String {
    asked["error"]["details"]["consent"].as_str().expect("a request").to_owned()
}

fn state(ground: &Ground, id: &str) -> Value {
    ground.scratch.json(&["consent", "show", id])["state"].clone()
}

fn other() -> Value {
    json!({ "command": "hosting:apps:create", "args": { "name": "other", "region": "eu" }, "wait_s": 0 })
}

fn start() -> Option<(Ground, Client, Place)> {
    let (ground, client) = ground();
    let place = Place::new(&ground)?;
    Some((ground, client, place))
}

#[test]
fn a_person_signs_in_and_approves_with_a_passkey() {
    let Some((ground, mut client, mut place)) = start() else { return };
    let asked = execute(&mut client, create());
    let (id, listed) = (id(&asked), ground.scratch.json(&["passkey", "list"])["passkeys"].clone());
    assert_eq!((&listed[0]["name"], &listed[0]["used_at"]), (&json!("alice"), &json!(null)), "{listed}");
    assert_eq!(listed[0]["address"], place.origin());
    // If a person opens the address of a request and signs in, the browser goes on to the request.
    let at = format!("/request?id={id}");
    assert_eq!(place.sign_in(&at), at);
    let question = place.question(&id);
    assert!(text(&question).contains("Consent to it?"), "{}", text(&question));
    // The session alone approves nothing.
    let refused = place.browser.press(&question, "Yes", &[]);
    assert_eq!(refused.status, 409);
    assert!(text(&refused.text()).contains("The passkey was not accepted"), "{}", text(&refused.text()));
    assert_eq!(state(&ground, &id), "pending");
    let answer = place.authenticator.sign(&place.asked(&question));
    let done = place.browser.follow(&place.yes(&question, &answer));
    assert!(text(&done).contains("Approved once"), "{}", text(&done));
    assert_eq!(place.yes(&question, &answer).status, 409, "the question is answered");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
    // The trail names the person whose passkey it was, also for what the yes let the console do.
    let events = ground.scratch.json(&["events", "--by", "console:alice"])["events"].clone();
    let subjects = |kind: &str| -> Vec<&str> {
        let all = events.as_array().into_iter().flatten().filter(|event| event["kind"] == kind);
        all.filter_map(|event| event["subject"].as_str()).collect()
    };
    assert_eq!((subjects("passkey.add"), subjects("passkey.login")), (vec!["alice"], vec!["alice"]));
    assert_eq!(subjects("passkey.use"), [format!("alice: mcpkg consent approve {id}")]);
    assert_eq!(subjects("consent.approve"), [&*id]);
    let feed = text(&place.browser.page("/feed"));
    assert!(feed.contains("console:alice"), "{feed}");
    assert!(ground.scratch.json(&["passkey", "list"])["passkeys"][0]["used_at"].is_string());
    // Denying a request needs the passkey too.
    let asked = execute(&mut client, other());
    let id = self::id(&asked);
    let question = place.browser.pressed(&place.browser.page(&format!("/request?id={id}")), "Deny", &[]);
    assert_eq!(place.browser.press(&question, "Yes", &[]).status, 409);
    place.browser.pressed(&question, "No", &[]);
    assert_eq!(state(&ground, &id), "pending");
}

#[test]
fn a_wrong_answer_approves_nothing() {
    let Some((ground, mut client, mut place)) = start() else { return };
    let (one, two) = (id(&execute(&mut client, create())), id(&execute(&mut client, other())));
    place.sign_in("/inbox");
    let (question, another) = (place.question(&one), place.question(&two));
    let good = place.asked(&question);
    type Change = fn(&mut Asked);
    let changes: [(Change, &str); 9] = [
        (|asked| asked.origin = "https://evil.example".to_owned(), "pages of another server"),
        (|asked| asked.origin.push('1'), "pages of another server"),
        (|asked| asked.host = "evil.example".to_owned(), "another host"),
        (|asked| asked.challenge = "A".repeat(43), "answers another question"),
        (|asked| asked.flags = 0x04, "nobody touched"),
        (|asked| asked.flags = 0x01, "did not verify"),
        (|asked| asked.kind = "webauthn.create", "another kind of request"),
        (|asked| asked.more = json!({ "crossOrigin": true }), "part of another page"),
        (|asked| asked.after = vec![0], "malformed"),
    ];
    let mut authenticator = std::mem::replace(&mut place.authenticator, Authenticator::new());
    let refused = |answer: &Answer, why: &str| {
        let response = place.yes(&question, answer);
        let shown = text(&response.text());
        assert!(response.status == 409 && shown.contains(why), "{why}: {} {shown}", response.status);
        assert_eq!(state(&ground, &one), "pending", "{why}");
    };
    refused(&Authenticator::new().sign(&good), "does not know it");
    for (change, why) in changes {
        let mut asked = good.clone();
        change(&mut asked);
        refused(&authenticator.sign(&asked), why);
    }
    // The answer to another request's question, with and without its ticket.
    let answer = authenticator.sign(&place.asked(&another));
    refused(&answer, "answers another question");
    let ticket =
        super::browser::forms(&another).into_iter().flat_map(|form| form.fields).find(|(name, _)| name == "ticket");
    let with = [answer.clone(), vec![("ticket", ticket.expect("a ticket").1)]].concat();
    refused(&with, "answers another question");
    // A signature over something else.
    let mut mixed = authenticator.sign(&good);
    mixed[3] = authenticator.sign(&place.asked(&another))[3].clone();
    refused(&mixed, "signature is wrong");
    // A copy of the passkey, with a counter of its own.
    let count = std::mem::replace(&mut authenticator.count, 1);
    refused(&authenticator.sign_again(&good), "counter went back");
    authenticator.count = count;
    let done = place.browser.follow(&place.yes(&question, &authenticator.sign(&good)));
    assert!(text(&done).contains("Approved once"), "{}", text(&done));
    assert_eq!((state(&ground, &one), state(&ground, &two)), (json!("approved"), json!("pending")));
}

#[test]
fn an_answer_signs_in_once() {
    let Some((_ground, _client, mut place)) = start() else { return };
    let page = place.browser.get("/inbox").text();
    let answer = place.authenticator.sign(&place.asked(&page));
    let sign_in = || place.browser.press(&page, "Sign in with a passkey", &values(&answer)).status;
    assert_eq!((sign_in(), sign_in()), (303, 401));
    // Nor does it lead to another site.
    for to in ["https://evil.example/", "//evil.example", "/\\evil.example", "/job?id=1", ""] {
        let page = place.browser.get("/inbox").text();
        let mut answer = place.authenticator.sign(&place.asked(&page));
        answer.push(("to", to.to_owned()));
        let response = place.browser.press(&page, "Sign in with a passkey", &values(&answer));
        assert_eq!((response.status, response.header("location")), (303, Some("/inbox")), "{to}");
    }
}

#[test]
fn a_form_of_a_command_that_only_reads_asks_too() {
    let Some((ground, _client, mut place)) = start() else { return };
    place.sign_in("/inbox");
    let file = ground.scratch.path().join("written.lock");
    // This command reads the database, and writes a file of the server's user.
    let form = place.browser.page("/form?words=tool+lock");
    let question = place.browser.pressed(&form, "Run", &[("value.file", file.to_str().expect("UTF-8"))]);
    assert!(text(&question).contains("Run `mcpkg tool lock"), "{}", text(&question));
    assert_eq!(place.browser.press(&question, "Yes", &[]).status, 409);
    assert!(!file.exists());
    let answer = place.authenticator.sign(&place.asked(&question));
    place.browser.follow(&place.yes(&question, &answer));
    assert!(file.exists());
}

#[test]
fn a_removed_passkey_ends_its_sessions() {
    let Some((ground, mut client, mut place)) = start() else { return };
    let id = id(&execute(&mut client, create()));
    place.sign_in("/inbox");
    let question = place.question(&id);
    let answer = place.authenticator.sign(&place.asked(&question));
    let signed_out = place.browser.send(&place.browser.request("GET", "/inbox").without("Cookie")).text();
    ground.scratch.ok(&["passkey", "remove", "alice"]);
    assert_eq!(ground.scratch.json(&["passkey", "list"])["passkeys"], json!([]));
    assert_eq!(place.yes(&question, &answer).status, 401);
    assert!(!place.browser.get("/inbox").text().contains("Sign in with a passkey"), "there is none");
    let answer = place.authenticator.sign(&place.asked(&signed_out));
    let refused = place.browser.press(&signed_out, "Sign in with a passkey", &values(&answer));
    assert_eq!(refused.status, 401);
    assert!(text(&refused.text()).contains("it was removed"), "{}", text(&refused.text()));
    assert_eq!(state(&ground, &id), "pending");
    let ran = ground.scratch.run(&["passkey", "remove", "alice"]);
    assert!(ran.status == 1 && ran.stderr.contains("does not exist"), "{ran}");
}

#[test]
fn a_request_that_ended_meanwhile_is_not_approved() {
    let Some((ground, mut client, mut place)) = start() else { return };
    let id = id(&execute(&mut client, create()));
    place.sign_in("/inbox");
    let question = place.question(&id);
    ground.scratch.ok(&["consent", "deny", &id]);
    let answer = place.authenticator.sign(&place.asked(&question));
    let late = text(&place.browser.follow(&place.yes(&question, &answer)));
    assert!(late.contains("was denied while the question was open"), "{late}");
    assert_eq!(state(&ground, &id), "denied");
}

#[test]
fn a_passkey_is_made_only_with_a_link_from_a_terminal_and_with_es256() {
    let Some((ground, _client, mut place)) = start() else { return };
    let without = ground.scratch.run(&["passkey", "add", "bob", "--url", &place.origin()]);
    assert!(without.status == 1 && without.stderr.contains("only at a terminal"), "{without}");
    let key = ground.scratch.json(&["access", "create", "ci"])["key"].as_str().expect("a key").to_owned();
    let request = place.browser.request("GET", "/passkey?token=x").with("Authorization", &format!("Bearer {key}"));
    assert_eq!(place.server.send(&request).status, 401);
    // Neither can a browser that is signed in.
    place.sign_in("/inbox");
    let form = place.browser.page("/form?words=passkey+add");
    let question = place.browser.pressed(&form, "Run", &[("value.name", "bob"), ("value.--url", &place.origin())]);
    let answer = place.authenticator.sign(&place.asked(&question));
    let done = text(&place.browser.follow(&place.yes(&question, &answer)));
    assert!(done.contains("only at a terminal"), "{done}");

    let Some((_terminal, token)) = invited(&ground.scratch, "bob", &place.origin(), None) else { return };
    let page = place.browser.page(&format!("/passkey?token={token}"));
    let good = place.asked(&page);
    let bob = Authenticator::new();
    let refused = |asked: &Asked, why: &str| {
        let response = place.browser.press(&page, "Make a passkey", &values(&bob.create(asked)));
        let shown = text(&response.text());
        assert!(response.status == 401 && shown.contains(why), "{why}: {} {shown}", response.status);
    };
    // RS256 is -257, EdDSA -8, and ES384 -35; P-384 is curve 2.
    for (at, byte) in [(4, 0x27), (4, 0x38), (2, 0x01), (6, 0x02), (0, 0xa4)] {
        let mut asked = good.clone();
        asked.cose[at] = byte;
        refused(&asked, "its algorithm is not ES256, the only one that mcpkg accepts");
    }
    refused(&Asked { origin: "https://evil.example".to_owned(), ..good.clone() }, "another server");
    refused(&Asked { host: "evil.example".to_owned(), ..good.clone() }, "another host");
    refused(
        &Asked { challenge: challenge(&place.browser.page(&format!("/passkey?token={token}"))), ..good.clone() },
        "answers another question",
    );
    refused(&Asked { flags: 0x01, ..good.clone() }, "did not verify");
    refused(&Asked { kind: "webauthn.other", ..good.clone() }, "another kind of request");
    refused(&Asked { after: vec![0xa0], ..good.clone() }, "malformed");
    assert_eq!(ground.scratch.json(&["passkey", "list"])["passkeys"].as_array().map(Vec::len), Some(1));
    // Some browsers ask security keys for an extension, whose output follows the key.
    let made = bob.create(&Asked { after: vec![0xa0], flags: 0x85, ..good });
    let done = place.browser.press(&page, "Make a passkey", &values(&made));
    assert_eq!(done.status, 200, "{}", text(&done.text()));
    assert_eq!(ground.scratch.json(&["passkey", "list"])["passkeys"][1]["name"], "bob");
}

#[test]
fn an_answer_expires_and_each_process_has_its_own() {
    const MINUTE: i64 = 60_000;
    let (scratch, site) = (Scratch::with_project_here(), "https://mcp.example.com");
    let context = Context { clock: Clock::fixed(1_800_000_000_000), ..scratch.context() };
    let passkeys = Passkeys::new(&context).expect("passkeys");
    let asked = |about| {
        let made = passkeys.challenge(about).expect("a challenge");
        (Asked::new(site, &URL_SAFE_NO_PAD.encode(made.bytes)), made.ticket)
    };
    let mut authenticator = Authenticator::new();
    let note = json!({ "name": "alice", "address": site, "expires": context.clock.now() + 1_000 });
    context.approved.put(Kind::PasskeyLink, &sha256::hex("token"), &note).expect("a link");
    let (register, ticket) = asked(About::Register("token"));
    let made = authenticator.create(&register);
    let part = |answer: &Answer, name: &str| {
        answer.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone()).unwrap_or_default()
    };
    let (client, data) = (part(&made, "client"), part(&made, "data"));
    let answer = passkey::Answer { ticket: &ticket, client: &client, data: &data, ..Default::default() };
    context.clock.advance(1_000);
    assert!(passkeys.register(&context, "token", answer).is_err(), "the link has expired");
    context.clock.advance(-1_000);
    passkeys.register(&context, "token", answer).expect("it is registered");
    let sign_in = |passkeys: &Passkeys, answer: &Answer, ticket: &str| {
        let [credential, client, data, signature] =
            ["credential", "client", "data", "signature"].map(|name| part(answer, name));
        let answer =
            passkey::Answer { ticket, credential: &credential, client: &client, data: &data, signature: &signature };
        passkeys.sign_in(&context, answer).map(|passkey| passkey.name).map_err(|error| error.to_string())
    };
    // An authenticator without a counter.
    for _ in 0..2 {
        let (asked, ticket) = asked(About::SignIn);
        assert_eq!(sign_in(&passkeys, &authenticator.sign_again(&asked), &ticket).as_deref(), Ok("alice"));
    }
    let (early, first) = asked(About::SignIn);
    let answer = authenticator.sign(&early);
    let other = Passkeys::new(&context).expect("passkeys of another process");
    assert!(sign_in(&other, &answer, &first).is_err_and(|why| why.contains("another question")));
    context.clock.advance(5 * MINUTE);
    assert!(sign_in(&passkeys, &answer, &first).is_err_and(|why| why.contains("has expired")));
    let later = format!("{}{}", context.clock.now() + 1, &first[first.find('.').expect("a dot")..]);
    assert!(sign_in(&passkeys, &answer, &later).is_err_and(|why| why.contains("another question")));
    let (late, last) = asked(About::SignIn);
    context.clock.advance(5 * MINUTE - 1);
    let answer = authenticator.sign(&late);
    assert_eq!(sign_in(&passkeys, &answer, &last).as_deref(), Ok("alice"));
    assert!(sign_in(&passkeys, &answer, &last).is_err_and(|why| why.contains("answered before")));
}

#[test]
fn a_passkey_is_made_and_used_on_a_phone() {
    let (ground, mut client) = ground();
    let Some(mut chromium) = Chromium::launch() else { return };
    let server = Http::start(&ground.scratch, &["--console"]);
    let origin = format!("http://localhost:{}", server.address.port());
    let Some((_terminal, token)) = invited(&ground.scratch, "phone", &origin, None) else { return };
    chromium.size(320, 640);
    chromium.visit(&origin);
    let authenticator = chromium.add_authenticator();
    let narrow = |chromium: &Chromium| {
        let wide = chromium.run("return document.documentElement.scrollWidth");
        assert!(wide.as_u64() <= Some(320), "{wide} pixels wide:\n{}", chromium.text());
    };
    chromium.open(&format!("/passkey?token={token}"));
    narrow(&chromium);
    chromium.press("Make a passkey");
    chromium.wait("is registered");
    let asked = execute(&mut client, create());
    let id = id(&asked);
    chromium.open(&format!("/request?id={id}"));
    narrow(&chromium);
    // Somebody else has the phone.
    chromium.verifies(&authenticator, false);
    chromium.press("Sign in with a passkey");
    chromium.wait("The passkey was not used");
    chromium.verifies(&authenticator, true);
    chromium.press("Sign in with a passkey");
    chromium.wait("asks: Run hosting:apps:create");
    narrow(&chromium);
    chromium.press("Approve");
    chromium.wait("Consent to it?");
    narrow(&chromium);
    chromium.verifies(&authenticator, false);
    chromium.press("Yes");
    chromium.wait("The passkey was not used");
    assert_eq!(state(&ground, &id), "pending");
    chromium.verifies(&authenticator, true);
    chromium.press("Yes");
    chromium.wait("Approved once");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
    // The page is drawn again while the person reaches for the phone.
    let id = self::id(&execute(&mut client, other()));
    chromium.open(&format!("/request?id={id}"));
    chromium.press("Approve");
    chromium.wait("Consent to it?");
    chromium.run(
        "const get = navigator.credentials.get.bind(navigator.credentials); \
         navigator.credentials.get = (asked) => new Promise((done) => (window.touch = () => done(get(asked))));",
    );
    chromium.press("Yes");
    let draw = "const done = arguments[0]; document.body.dataset.at = ''; read(); \
                const look = () => (reading ? setTimeout(look, 20) : done(typeof touch)); look();";
    assert_eq!(chromium.run_async(draw), "function");
    chromium.run("touch()");
    chromium.wait("Approved once");
    assert_eq!(state(&ground, &id), "approved");
    let reports = chromium.reports();
    assert!(!reports.iter().any(|report| report.contains("Content Security Policy")), "{reports:#?}");
}
