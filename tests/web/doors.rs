//! Tests requests that the console refuses, and the security headers of every answer.

use super::browser::forms;
use super::{ground, opened, text};
use crate::console::ground::filled;
use crate::support::Request;

const POLICY: &str = "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; \
                      img-src 'self' data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; \
                      require-trusted-types-for 'script'; trusted-types 'none'";

/// Checks the pages that [`super::Browser::crawl`] finds, the addresses that their forms are sent to, and a few more.
#[test]
fn every_address_checks_host_origin_session_and_secret() {
    let (ground, _client) = filled();
    let mut command = ground.scratch.command();
    command.current_dir(ground.scratch.path().join("root"));
    let Some(browser) = super::Browser::start(command, &[]) else { return crate::support::skipped(super::NO_SCRIPT) };
    let before = ground.scratch.json(&["events", "--limit", "1000"]);
    let pages = browser.crawl();
    assert!(pages.len() > 60, "{} pages", pages.len());
    let kinds = ["/", "/job?id=1", "/image?uri=x", "/help", "/nothing"].map(str::to_owned);
    let mut addresses: Vec<String> = pages.iter().map(|(address, _)| address.clone()).chain(kinds).collect();
    let targets = pages.iter().flat_map(|(_, page)| forms(&page.text())).map(|form| form.action);
    addresses.extend(targets);
    addresses.extend(
        ["/login?token=x", "/logout", "/style.css", "/live.js", "/codemirror.js", "/editor.js"].map(str::to_owned),
    );
    addresses.sort_unstable();
    addresses.dedup();
    // CodeMirror needs a nonce for its styles.
    let nonce = regex::Regex::new(" 'nonce-[0-9a-f]{64}'").expect("a pattern");
    for address in &addresses {
        let is_open = address.starts_with("/login") || address == "/style.css";
        for method in ["GET", "POST"] {
            let good = browser.request(method, address).body(if method == "POST" { "secret=x" } else { "" });
            let status = |request: &Request| {
                let response = browser.send(request);
                let policy = response.header("content-security-policy").expect("a policy");
                let policy = if address.starts_with("/edit") { nonce.replace(policy, "") } else { policy.into() };
                assert_eq!(policy, POLICY, "{address}");
                for (name, value) in [
                    ("x-content-type-options", "nosniff"),
                    ("referrer-policy", "no-referrer"),
                    ("cache-control", "no-store"),
                    ("cross-origin-opener-policy", "same-origin"),
                    ("cross-origin-resource-policy", "same-origin"),
                ] {
                    assert_eq!(response.header(name), Some(value), "{address}");
                }
                response.status
            };
            for host in ["evil.example", "localhost", "127.0.0.1.evil.example", "mcpkg-00000000.localhost", ""] {
                assert_eq!(status(&good.clone().with("Host", host)), 403, "{method} {address} {host}");
            }
            if !is_open {
                assert_eq!(status(&good.clone().without("Cookie")), 401, "{method} {address}");
                assert_eq!(status(&good.clone().with("Cookie", "mcpkg-1=x")), 401, "{method} {address}");
            }
            if method == "POST" {
                let foreign = [
                    good.clone().with("Origin", "http://evil.example").without("Sec-Fetch-Site"),
                    good.clone().with("Origin", "http://127.0.0.1:1").without("Sec-Fetch-Site"),
                    good.clone().with("Origin", "null").without("Sec-Fetch-Site"),
                    good.clone().with("Origin", "http://evil.example"),
                    good.clone().with("Sec-Fetch-Site", "cross-site"),
                    good.clone().with("Sec-Fetch-Site", "same-site").without("Origin"),
                    good.clone().without("Origin").without("Sec-Fetch-Site"),
                ];
                for request in foreign {
                    assert_eq!(status(&request), 403, "{address}");
                }
                if !is_open {
                    assert_eq!(status(&good), 403, "the secret of a form is needed: {address}");
                    assert_eq!(status(&good.clone().body("")), 403, "{address}");
                    let json = good.clone().with("Content-Type", "application/json");
                    assert_eq!(status(&json), 415, "{address}");
                }
            }
        }
        for method in ["PUT", "DELETE", "OPTIONS", "TRACE"] {
            let status = browser.send(&browser.request(method, address)).status;
            assert_eq!(status, 405, "{method} {address}");
        }
    }
    assert_eq!(ground.scratch.json(&["events", "--limit", "1000"]), before, "looking changes nothing");
}

#[test]
fn a_link_signs_one_browser_in_once() {
    let (ground, _client) = ground();
    let Some(mut browser) = opened(&ground, &[]) else { return };
    let (_, token) = browser.link(0);
    let sign_in = |browser: &super::Browser, token: &str| {
        let page = browser.get(&format!("/login?token={token}"));
        browser.press(&page.text(), "Open the console", &[])
    };
    for used in [token.as_str(), "", "x", &"0".repeat(64)] {
        let response = sign_in(&browser, used);
        assert_eq!((response.status, response.header("set-cookie")), (401, None), "{used}");
        assert!(text(&response.text()).contains("This link was used before"), "{}", response.text());
    }
    browser.terminal().keys("\r");
    let (_, other) = browser.link(1);
    assert_ne!(token, other);
    // Opening the link is not enough to use it up.
    browser.get(&format!("/login?token={other}"));
    let response = sign_in(&browser, &other);
    let second = response.header("set-cookie").expect("a cookie").split(';').next().expect("a pair").to_owned();
    assert_ne!(second, browser.cookie);
    // Signing out ends only this session.
    let page = browser.page("/inbox");
    browser.press(&page, "Sign out", &[]);
    assert_eq!(browser.get("/inbox").status, 401);
    let own_secret = forms(&page)[0].fields.iter().find(|(name, _)| name == "secret").expect("a secret").1.clone();
    browser.cookie = second;
    let page = browser.page("/inbox");
    // The secret of one session is not valid in another one.
    assert!(!page.contains(&own_secret));
    let response = browser.press(&page, "Sign out", &[("secret", &own_secret)]);
    assert_eq!(response.status, 403);
    assert_eq!(browser.get("/inbox").status, 200);
}

#[test]
fn a_session_is_valid_only_for_its_own_console() {
    let (ground, _client) = ground();
    let Some(one) = opened(&ground, &[]) else { return };
    let Some(other) = opened(&ground, &[]) else { return };
    assert_ne!(one.host.split(':').next(), other.host.split(':').next(), "each console has a host of its own");
    let value = one.cookie.split_once('=').expect("a pair").1;
    let name = other.cookie.split_once('=').expect("a pair").0;
    for cookie in [one.cookie.clone(), format!("{name}={value}")] {
        let page = other.send(&other.request("GET", "/inbox").with("Cookie", &cookie));
        assert_eq!(page.status, 401);
        assert!(text(&page.text()).contains("mcpkg console --web"), "{}", page.text());
    }
    // Another server on the host may set a cookie of the same name, which comes first.
    let both = format!("{name}=x; {}", other.cookie);
    assert_eq!(other.send(&other.request("GET", "/inbox").with("Cookie", &both)).status, 200);
}

#[test]
fn without_a_terminal_there_is_no_console() {
    let (ground, _client) = ground();
    let ran = ground.scratch.run(&["console", "--web"]);
    assert_eq!(ran.status, 1);
    assert!(ran.stderr.contains("needs a terminal"), "{}", ran.stderr);
}

#[test]
fn ctrl_c_ends_it() {
    let (ground, _client) = ground();
    let Some(mut browser) = opened(&ground, &[]) else { return };
    browser.terminal().keys("\u{3}");
    // The status may also be that of the interrupted shell that started the console.
    assert!(matches!(browser.screen.take().expect("a terminal").end(), 0 | 130));
}
