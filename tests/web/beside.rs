//! Tests the console of a server (`mcpkg serve --http --console`), which is opened with a link from `mcpkg console --link`.

use regex::Regex;

use super::{Browser, ground, text};
use crate::support::http::Http;
use crate::support::{Request, Scratch, Screen, skipped};
use crate::workflow::runs::{code, create, execute, with_nonce};

/// Gets a link to the server's console at a terminal, and signs a browser in with it. `None` without a terminal.
fn signed_in(scratch: &Scratch, server: &Http) -> Option<Browser> {
    let mut command = scratch.command();
    command.env("TERM", "xterm-256color").args(["console", &format!("--link=http://{}", server.address)]);
    let Some(terminal) = Screen::start((220, 40), &command) else {
        skipped(super::NO_SCRIPT);
        return None;
    };
    let link = Regex::new(r"/login\?token=([0-9a-f]{64})\b").expect("a pattern");
    let shown = terminal.wait_until(|text| link.is_match(text), "a link");
    let token = link.captures(&shown).expect("a link")[1].to_owned();
    let mut browser = Browser { screen: Some(terminal), host: server.address.to_string(), cookie: String::new() };
    browser.sign_in(&token);
    // The link works only once.
    let page = browser.get(&format!("/login?token={token}"));
    assert_eq!(browser.press(&page.text(), "Open the console", &[]).status, 401);
    Some(browser)
}

#[test]
fn a_request_is_approved_in_the_console_of_a_server() {
    let (ground, mut client) = ground();
    let asked = execute(&mut client, create());
    let server = Http::start(&ground.scratch, &["--console"]);
    let Some(browser) = signed_in(&ground.scratch, &server) else { return };
    let question = browser.pressed(&browser.page("/inbox"), "Approve", &[]);
    assert!(text(&question).contains("Consent to it?"), "{}", text(&question));
    let done = text(&browser.pressed(&question, "Yes", &[]));
    assert!(done.contains("Approved once"), "{done}");
    assert_eq!(code(&execute(&mut client, with_nonce(&create(), &asked))), "ok");
    // The browser is notified of changes until it signs out.
    let events = server.open(&browser.request("GET", "/events"));
    let first = events.data();
    ground.scratch.ok(&["prompt", "create", "review", "Look for missing tests."]);
    assert_ne!(events.data(), first);
    // The health page of a server shows its requests.
    let health = text(&browser.page("/database"));
    assert!(health.contains("Requests since the server started") && health.contains("console"), "{health}");
    browser.press(&browser.page("/inbox"), "Sign out", &[]);
    assert_eq!(browser.get("/inbox").status, 401);
    ground.scratch.ok(&["prompt", "create", "other", "Look for missing tests."]);
    assert_eq!(events.raw(), None, "the stream of a session ends with it");
}

#[test]
fn neither_a_key_nor_another_page_opens_it() {
    let (ground, _client) = ground();
    let made = ground.scratch.json(&["access", "create", "ci"]);
    let key = made["key"].as_str().unwrap_or_else(|| panic!("a key: {made}")).to_owned();
    let server = Http::start(&ground.scratch, &["--console"]);
    let Some(browser) = signed_in(&ground.scratch, &server) else { return };
    let good = browser.request("GET", "/inbox");
    let status = |request: &Request| server.send(request).status;
    assert_eq!(status(&good), 200);
    let bearer = ("Authorization", format!("Bearer {key}"));
    let with_key = good.clone().without("Cookie").with(bearer.0, &bearer.1);
    let page = server.send(&with_key);
    assert_eq!(page.status, 401);
    assert!(text(&page.text()).contains("mcpkg console --link"), "{}", page.text());
    assert_eq!(status(&good.clone().with("Host", "evil.example")), 403);
    let post = browser.request("POST", "/inbox").body("secret=x");
    for (name, value) in [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "same-site")] {
        assert_eq!(status(&post.clone().with(name, value)), 403, "{name}");
    }
    // A session of the console gives no access to `/metrics`. An access key does.
    let metrics = Request::new("GET", "/metrics").with("Host", &server.address.to_string());
    assert_eq!(status(&metrics.clone().with("Cookie", &browser.cookie)), 401);
    assert_eq!(status(&metrics.with(bearer.0, &bearer.1)), 200);
}

#[test]
fn it_is_off_unless_asked_for_and_needs_tls_on_a_network() {
    let (ground, _client) = ground();
    let server = Http::start(&ground.scratch, &[]);
    let host = server.address.to_string();
    assert_eq!(server.send(&Request::new("GET", "/inbox").with("Host", &host)).status, 404);
    ground.scratch.ok(&["access", "create", "ci"]);
    for (arguments, why) in [
        (&["serve", "--console"][..], "--console needs --http"),
        (&["serve", "--http", "--console", "--host", "0.0.0.0", "--port", "0"], "--console needs TLS"),
        (&["console", "--link=x"], "needs a terminal"),
    ] {
        let ran = ground.scratch.run(arguments);
        assert!(ran.status != 0 && ran.stderr.contains(why), "{ran}");
    }
}
