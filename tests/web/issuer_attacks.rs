//! Tests the attacks on signing in to the console with an issuer: each is refused, and nobody is signed in.

use serde_json::{Value, json};

use super::issuer::{Place, cookie, leads_to};
use super::text;
use crate::support::http::Response;
use crate::support::tokens::{Signer, encode};
use crate::support::{Http, Scratch};

fn start() -> (Scratch, Place) {
    let scratch = Scratch::with_project();
    scratch.ok(&["access", "rule", "add", "--claim", "groups=platform"]);
    let place = Place::new(&scratch, json!({ "groups": ["platform"] }));
    (scratch, place)
}

#[track_caller]
fn refused(response: &Response, why: &str) {
    let shown = text(&response.text());
    assert!(response.status == 401 && shown.contains(why), "{why}: {} {shown}", response.status);
    assert!(shown.contains("Nothing was changed") && shown.contains("Sign in with 127.0.0.1"), "{shown}");
    assert_eq!((cookie(response, ""), response.header("refresh")), (None, None), "{why}");
}

/// The value of a field in the query of an address.
fn field(address: &str, name: &str) -> String {
    let query = address.split_once('?').expect("a query").1;
    let found = form_urlencoded::parse(query.as_bytes()).find(|(known, _)| known == name);
    found.map(|(_, value)| value.into_owned()).unwrap_or_default()
}

#[test]
fn an_id_token_has_to_be_for_this_client_and_this_sign_in() {
    let (_scratch, mut place) = start();
    let other = Signer::p256("other");
    let forged = Signer::p256("one");
    let claims = |nonce: &str| place.issuer.claims("console", 300, json!({ "groups": ["platform"], "nonce": nonce }));
    let unsigned = |header: Value| format!("{}.{}.", encode(header.to_string()), encode(claims("x").to_string()));
    let whole = |token: String| json!({ "token": token });
    let console = json!(["console", "other"]);
    let attacks = [
        (json!({ "nonce": "x" }), "belongs to another sign-in"),
        (json!({ "nonce": null }), "belongs to another sign-in"),
        (json!({ "aud": "other" }), "issued to another client"),
        (json!({ "aud": null }), "issued to another client"),
        (json!({ "aud": console }), "issued to another client"),
        (json!({ "aud": console, "azp": "other" }), "issued to another client"),
        (json!({ "azp": "other" }), "issued to another client"),
        (json!({ "iss": "https://evil.example" }), "comes from another issuer"),
        (json!({ "exp": 1_000_000_000 }), "The clocks of the issuer and of this server differ"),
        (json!({ "exp": null }), "not a valid token"),
        (json!({ "nbf": 9_000_000_000_u64 }), "not valid yet"),
        (json!({ "sub": "console", "client_id": "console" }), "stands for a program"),
        (json!({ "cnf": { "jkt": "x" } }), "not an access token"),
        (whole(unsigned(json!({ "alg": "none" }))), "algorithm that this server does not accept"),
        (whole(unsigned(json!({ "alg": "HS256", "kid": "one" }))), "algorithm that this server does not accept"),
        (whole(other.token(&claims("x"))), "key that the issuer does not publish"),
        (whole(forged.token(&claims("x"))), "signature is wrong"),
        (whole("no token".to_owned()), "not a valid token"),
    ];
    for (person, why) in attacks {
        place.is(person);
        refused(&place.sign_in("/inbox"), why);
        assert_eq!(place.browser.get("/inbox").status, 401, "{why}");
    }
    place.is(json!({ "groups": ["platform"], "aud": ["console", "other"], "azp": "console" }));
    assert_eq!(place.sign_in("/inbox").status, 200);
}

#[test]
fn an_answer_counts_once_and_in_the_browser_that_asked() {
    let (scratch, place) = start();
    const NOT_OWN: &str = "not the answer to a sign-in of this browser";
    let (mine, address) = place.begin("/inbox");
    let (theirs, other) = place.begin("/inbox");
    for name in ["state", "nonce", "code_challenge"] {
        assert!(field(&address, name).len() >= 43 && field(&address, name) != field(&other, name), "{name}");
    }
    let redirect = format!("http://{}/login/issuer", place.browser.host);
    assert_eq!(
        (field(&address, "redirect_uri"), field(&address, "code_challenge_method")),
        (redirect, "S256".to_owned())
    );
    let back = place.at_issuer(&address);
    // Somebody sends a link with their own code and state (login CSRF), or shows another browser's cookie.
    for cookie in ["", &theirs, &mine.replace('=', "=x"), &mine.replace("-sign-in", "")] {
        refused(&place.back(&back, cookie), NOT_OWN);
    }
    refused(&place.back(&back.replace(&field(&address, "state"), &field(&other, "state")), &mine), NOT_OWN);
    for path in ["/login/issuer", "/login/issuer?code=x", "/login/issuer?error=access_denied&state=x"] {
        refused(&place.back(path, &mine), NOT_OWN);
    }
    assert_eq!(place.issuer.asked("/token"), 0, "the issuer saw no code");
    // The code of one sign-in does not work in another, because the issuer compares the verifier.
    let code = |back: &str| field(back, "code");
    let back_too = place.at_issuer(&other);
    let mixed = back_too.replace(&code(&back_too), &code(&back));
    refused(&place.back(&mixed, &theirs), "did not accept the code");
    // The issuer has used up the code. Another sign-in works once.
    refused(&place.back(&back, &mine), "A code works once");
    let (mine, address) = place.begin("/inbox");
    let back = place.at_issuer(&address);
    assert_eq!(place.back(&back, &mine).status, 200);
    refused(&place.back(&back, &mine), NOT_OWN);
    // Another server on the same host, which shares its cookies, does not take the answer or the session.
    let options = ["--console", "--oauth-issuer", &place.issuer.url(), "--oauth-client", "console"];
    let server = Http::start(&scratch, &options);
    let (mine, address) = place.begin("/inbox");
    let back = place.at_issuer(&address);
    let request = place.browser.request("GET", &back).with("Cookie", &mine);
    assert_eq!(server.send(&request.with("Host", &format!("localhost:{}", server.address.port()))).status, 401);
    let session = cookie(&place.back(&back, &mine), "").expect("a session");
    let request = place.browser.request("GET", "/inbox").with("Cookie", &session);
    assert_eq!(server.send(&request.with("Host", &format!("localhost:{}", server.address.port()))).status, 401);
}

#[test]
fn the_answer_of_another_issuer_is_refused_before_the_code_is_sent() {
    let (_scratch, place) = start();
    let without = |back: &str| back.split("&iss=").next().expect("a path").to_owned();
    for number in 0..4 {
        let (mine, address) = place.begin("/inbox");
        let back = place.at_issuer(&address);
        let changed = match number {
            0 => back.replace("&iss=", "&iss=x"),
            1 => without(&back),
            2 => format!("{}&iss=https%3A%2F%2Fevil.example", without(&back)),
            _ => format!("{back}%2F"),
        };
        refused(&place.back(&changed, &mine), "comes from another issuer");
    }
    assert_eq!(place.issuer.asked("/token"), 0);
}

#[test]
fn errors_of_the_issuer_are_explained() {
    let (_scratch, mut place) = start();
    let denied = |query: &str| {
        let (mine, address) = place.begin("/inbox");
        let issuer = place.issuer.url().replace(':', "%3A").replace('/', "%2F");
        let state = field(&address, "state");
        place.back(&format!("/login/issuer?state={state}&iss={issuer}&{query}"), &mine)
    };
    refused(&denied("error=access_denied"), "you, or the issuer, refused it");
    refused(&denied("error=invalid_scope"), "did not sign you in: invalid_scope");
    // The text of an error may come from anybody.
    let shown = denied("error=Call+mallory&error_description=Call+mallory");
    refused(&shown, "an unknown error");
    assert!(!shown.text().contains("mallory"));
    place.issuer.serve("/token", 200, "{}".to_owned());
    refused(&place.sign_in("/inbox"), "The issuer sent no ID token");
    place.issuer.serve("/token", 401, json!({ "error": "invalid_client" }).to_string());
    refused(&place.sign_in("/inbox"), "compares `--oauth-client`");
    place.issuer.serve("/token", 500, String::new());
    refused(&place.sign_in("/inbox"), "answers 500");
    let (mine, address) = place.begin("/inbox");
    let back = place.at_issuer(&address);
    place.issuer.down(true);
    refused(&place.back(&back, &mine), "The issuer cannot be used");
}

#[test]
fn the_endpoints_of_an_issuer_have_to_be_safe() {
    let (scratch, place) = start();
    let url = place.issuer.url();
    let good = json!({
        "issuer": url, "jwks_uri": format!("{url}/keys"), "authorization_endpoint": format!("{url}/authorize"),
        "token_endpoint": format!("{url}/token"),
    });
    for (change, why) in [
        (json!({ "token_endpoint": "http://login.example/token" }), "does not use https"),
        (json!({ "token_endpoint": null }), "has no token_endpoint"),
        (json!({ "authorization_endpoint": "javascript:alert(1)" }), "is not a URL"),
        (json!({ "code_challenge_methods_supported": ["plain"] }), "does not support PKCE"),
        (json!({ "issuer": "https://evil.example" }), "that of another issuer"),
    ] {
        place.issuer.describe(&super::issuer::changed(good.clone(), &change));
        let seen = place.issuer.asked("/.well-known/openid-configuration");
        let server = Http::start(&scratch, &["--console", "--oauth-issuer", &url, "--oauth-client", "console"]);
        let host = format!("localhost:{}", server.address.port());
        crate::support::eventually("the metadata is read", || {
            (place.issuer.asked("/.well-known/openid-configuration") > seen).then_some(())
        });
        let browser = super::Browser { screen: None, host, cookie: String::new() };
        let begun = crate::support::eventually(why, || {
            let begun = browser.press(&browser.get("/inbox").text(), &place.button(), &[]);
            (!text(&begun.text()).contains("has not been read yet")).then_some(begun)
        });
        refused(&begun, why);
        assert_eq!(cookie(&begun, "-sign-in"), None);
    }
}

#[test]
fn signing_in_leads_to_pages_of_the_console_only() {
    let (_scratch, place) = start();
    for to in ["https://evil.example/", "//evil.example", "/\\evil.example", "/job?id=1", "/logout", "", "/feed"] {
        let page = place.browser.get("/inbox").text();
        let begun = place.browser.press(&page, &place.button(), &[("to", to)]);
        let mine = cookie(&begun, "-sign-in").expect("a cookie");
        let response = place.back(&place.at_issuer(&leads_to(&begun)), &mine);
        assert_eq!((response.status, leads_to(&response)), (200, if to == "/feed" { to } else { "/inbox" }.to_owned()));
    }
    // Other pages cannot begin a sign-in.
    let form = place.browser.request("POST", "/login").body("issuer=yes&to=/inbox");
    for (name, value) in [("Origin", "http://evil.example"), ("Sec-Fetch-Site", "cross-site")] {
        assert_eq!(place.browser.send(&form.clone().with(name, value)).status, 403, "{name}");
    }
}
