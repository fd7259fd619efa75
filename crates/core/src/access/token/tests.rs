//! Tests which tokens are accepted, and which attacks are refused.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::keys::Keys;
use super::{Claims, Issuer, Refused, is_token};

#[path = "../../../../../tests/support/tokens.rs"]
mod tokens;

use tokens::{Signer, encode};

const ISSUER: &str = "https://login.example/realms/team";
const AUDIENCE: &str = "https://mcp.example/mcp";
/// The current time in these tests, in seconds.
const NOW: i64 = 1_800_000_000;

/// Returns the claims of a valid token. `more` replaces claims; a null in `more` removes the claim.
fn claims(more: Value) -> Value {
    let mut claims = json!({
        "iss": ISSUER, "aud": AUDIENCE, "sub": "u1", "client_id": "c1", "exp": NOW + 300, "iat": NOW, "groups": ["platform"],
    });
    let fields = claims.as_object_mut().expect("claims");
    fields.extend(more.as_object().expect("claims").clone());
    fields.retain(|_, value| !value.is_null());
    claims
}

/// Returns an issuer that published these keys.
fn issuer(signers: &[&Signer]) -> Issuer {
    let issuer = Issuer::new(ISSUER).expect("an issuer");
    publish(&issuer, signers);
    issuer
}

fn publish(issuer: &Issuer, signers: &[&Signer]) {
    let keys: Vec<Value> = signers.iter().map(|signer| signer.public()).collect();
    let keys = Keys::read(json!({ "keys": keys }).to_string().as_bytes());
    issuer.read(keys.ok_or_else(|| "no keys".to_owned()), Instant::now());
}

fn check(issuer: &Issuer, token: &str) -> Result<(), Refused> {
    let claims = issuer.check(token, NOW * 1000)?;
    claims.is_for([AUDIENCE].into_iter()).then_some(()).ok_or(Refused::Audience)
}

#[test]
fn tokens_of_each_algorithm_are_accepted() {
    let signers = [Signer::rsa("r"), Signer::p256("p"), Signer::ed25519("e")];
    let issuer = issuer(&[&signers[0], &signers[1], &signers[2]]);
    for signer in &signers {
        assert_eq!(check(&issuer, &signer.token(&claims(json!({})))), Ok(()), "{}", signer.id);
        for typ in [json!("JWT"), json!("application/at+jwt"), Value::Null] {
            let token = signer.token_with(&json!({ "typ": typ }), &claims(json!({ "aud": ["other", AUDIENCE] })));
            assert_eq!(check(&issuer, &token), Ok(()), "{typ}");
        }
    }
    // A token without the id of its key is accepted if only one key can have signed it.
    let token = signers[1].token_with(&json!({ "kid": null }), &claims(json!({})));
    assert_eq!(check(&issuer, &token), Ok(()));
}

#[test]
fn each_attack_is_refused() {
    let (rsa, key, other) = (Signer::rsa("r"), Signer::p256("p"), Signer::p256("p"));
    let unknown = Signer::p256("unknown");
    let issuer = issuer(&[&rsa, &key]);
    let good = claims(json!({}));
    let unsigned = |header: Value, signature: &str| {
        format!("{}.{}.{signature}", encode(header.to_string()), encode(good.to_string()))
    };
    let with = |more: Value| key.token(&claims(more));
    let header = |more: Value| key.token_with(&more, &good);
    let token = key.token(&good);
    let changed = {
        let mut parts: Vec<&str> = token.split('.').collect();
        let claims = encode(claims(json!({ "groups": ["admin"] })).to_string());
        parts[1] = &claims;
        parts.join(".")
    };
    for (attack, token, why) in [
        ("alg none", unsigned(json!({ "alg": "none" }), ""), Refused::Algorithm),
        ("alg None", unsigned(json!({ "alg": "None", "kid": "p" }), ""), Refused::Algorithm),
        ("HS256 with a public key", unsigned(json!({ "alg": "HS256", "kid": "r" }), "c2ln"), Refused::Algorithm),
        ("another algorithm than the key's", rsa.token_with(&json!({ "alg": "ES256" }), &good), Refused::Algorithm),
        ("a signature without content", unsigned(json!({ "alg": "ES256", "kid": "p" }), ""), Refused::Signature),
        ("another issuer", with(json!({ "iss": "https://evil.example" })), Refused::Issuer),
        ("an issuer with a slash more", with(json!({ "iss": format!("{ISSUER}/") })), Refused::Issuer),
        ("no issuer", with(json!({ "iss": null })), Refused::Issuer),
        ("another audience", with(json!({ "aud": "https://other.example/mcp" })), Refused::Audience),
        ("the endpoint of a project", with(json!({ "aud": "https://mcp.example/projects/p/mcp" })), Refused::Audience),
        ("an audience with a slash more", with(json!({ "aud": format!("{AUDIENCE}/") })), Refused::Audience),
        ("an ID token, whose audience is the client", with(json!({ "aud": "c1" })), Refused::Audience),
        ("no audience", with(json!({ "aud": null })), Refused::Audience),
        ("no expiry", with(json!({ "exp": null })), Refused::Malformed),
        ("an expiry that is a text", with(json!({ "exp": "9999999999" })), Refused::Malformed),
        ("expired", with(json!({ "exp": NOW - 60 })), Refused::Expired),
        ("not yet valid", with(json!({ "nbf": NOW + 61 })), Refused::NotYetValid),
        ("an unknown key", unknown.token(&good), Refused::UnknownKey),
        ("another key under a known id", other.token(&good), Refused::Signature),
        ("changed claims", changed, Refused::Signature),
        ("a key in the header", header(json!({ "kid": "x", "jwk": other.public() })), Refused::UnknownKey),
        (
            "the address of a key",
            header(json!({ "kid": "x", "jku": "https://evil.example/keys" })),
            Refused::UnknownKey,
        ),
        ("an extension", header(json!({ "crit": ["b64"], "b64": false })), Refused::Malformed),
        ("an ID-JAG", header(json!({ "typ": "oauth-id-jag+jwt" })), Refused::Kind),
        ("a logout token", header(json!({ "typ": "logout+jwt" })), Refused::Kind),
        ("a logout token without a type", with(json!({ "events": {} })), Refused::Kind),
        ("a token that is bound to a key", with(json!({ "cnf": { "jkt": "x" } })), Refused::Kind),
        ("no subject and no client", with(json!({ "sub": null, "client_id": null })), Refused::Kind),
        ("too long", with(json!({ "more": "x".repeat(20_000) })), Refused::TooLong),
        ("no token", "abc".to_owned(), Refused::Malformed),
        ("an encrypted token", format!("{token}.x.y"), Refused::Malformed),
        ("padding", format!("{token}=="), Refused::Malformed),
    ] {
        assert_eq!(check(&issuer, &token), Err(why), "{attack}");
        assert_eq!(check(&issuer, &token), Err(why), "{attack}, again");
    }
    assert_eq!(check(&issuer, &token), Ok(()));
}

#[test]
fn tokens_are_accepted_while_the_issuer_publishes_their_key() {
    let (old, new) = (Signer::p256("old"), Signer::ed25519("new"));
    let issuer = issuer(&[&old]);
    let (of_old, of_new) = (old.token(&claims(json!({}))), new.token(&claims(json!({}))));
    assert_eq!((check(&issuer, &of_old), check(&issuer, &of_new)), (Ok(()), Err(Refused::UnknownKey)));
    // Anybody can name an unknown key, so the keys are not read again at once.
    assert!(!issuer.may_help(Refused::UnknownKey) && !issuer.is_due());
    publish(&issuer, &[&new]);
    assert_eq!((check(&issuer, &of_old), check(&issuer, &of_new)), (Err(Refused::UnknownKey), Ok(())));
}

#[test]
fn held_keys_are_used_for_a_day_while_the_issuer_is_down() {
    let key = Signer::p256("p");
    let issuer = issuer(&[&key]);
    let token = key.token(&claims(json!({})));
    issuer.read(Err("no answer".to_owned()), Instant::now());
    assert_eq!(check(&issuer, &token), Ok(()));
    assert!(matches!(issuer.state(), super::State::Stale { why, .. } if why == "no answer"));
    // Machines that have just started cannot express a time a day ago.
    if let Some(long_ago) = Instant::now().checked_sub(Duration::from_secs(24 * 3600)) {
        publish_at(&issuer, &key, long_ago);
        issuer.read(Err("no answer".to_owned()), Instant::now());
        assert_eq!(check(&issuer, &token), Err(Refused::NoKeys));
        assert!(matches!(issuer.state(), super::State::Down(_)));
    }
    let down = Issuer::new(ISSUER).expect("an issuer");
    assert_eq!(check(&down, &token), Err(Refused::NoKeys));
    assert!(down.is_due() && down.may_help(Refused::NoKeys) && !down.may_help(Refused::Expired));
}

#[test]
fn a_server_that_starts_before_its_issuer_asks_again_soon() {
    let down = Issuer::new(ISSUER).expect("an issuer");
    let fail = |ago: Duration| down.read(Err("no answer".to_owned()), Instant::now() - ago);
    assert_eq!(fail(Duration::ZERO).as_deref(), Some("no answer"));
    assert!(!down.is_due() && !down.may_help(Refused::NoKeys));
    assert_eq!(fail(Duration::from_secs(1)), None, "the same reason is not reported twice");
    assert!(down.is_due() && down.may_help(Refused::NoKeys));
    // While there are no keys, the pauses grow to five seconds only.
    (0..40).for_each(|_| drop(fail(Duration::from_secs(4))));
    assert!(!down.is_due() && !down.may_help(Refused::NoKeys));
    fail(Duration::from_secs(5));
    assert!(down.is_due() && down.may_help(Refused::NoKeys) && !down.may_help(Refused::UnknownKey));
    // With keys that still count, they grow to thirty.
    publish(&down, &[&Signer::p256("p")]);
    (0..40).for_each(|_| drop(fail(Duration::from_secs(29))));
    assert!(!down.is_due() && !down.may_help(Refused::UnknownKey));
    fail(Duration::from_secs(30));
    assert!(down.is_due() && down.may_help(Refused::UnknownKey));
}

fn publish_at(issuer: &Issuer, signer: &Signer, at: Instant) {
    let keys = Keys::read(json!({ "keys": [signer.public()] }).to_string().as_bytes());
    issuer.read(keys.ok_or_else(String::new), at);
}

#[test]
fn invalid_keys_in_a_key_set_are_ignored() {
    let good = Signer::p256("p").public();
    let with = |name: &str, value: Value| {
        let mut key = good.clone();
        key[name] = value;
        key
    };
    let count = |keys: Value| Keys::read(json!({ "keys": keys }).to_string().as_bytes()).map_or(0, |keys| keys.len());
    assert_eq!(count(json!([good, Signer::ed25519("e").public()])), 2);
    for bad in [
        with("use", json!("enc")),
        with("x", json!("AAAA")),
        with("crv", json!("P-521")),
        with("kty", json!("oct")),
        with("alg", json!("HS256")),
        json!({ "kty": "oct", "k": "c2VjcmV0", "kid": "p", "alg": "HS256" }),
        json!("x"),
    ] {
        assert_eq!(count(json!([bad])), 0, "{bad}");
        assert_eq!(count(json!([bad, good])), 1, "{bad}");
    }
    assert_eq!(count(json!(vec![good; 1000])), 100);
    for bad in ["", "[]", "{}", "{\"keys\":1}"] {
        assert!(Keys::read(bad.as_bytes()).is_none(), "{bad}");
    }
}

#[test]
fn people_and_programs_have_distinct_names() {
    let name = |more: Value| {
        let all = claims(more);
        Claims::check(all.as_object().expect("claims").clone(), ISSUER, NOW * 1000)
            .ok()
            .map(|claims| claims.name().to_owned())
    };
    assert_eq!(name(json!({})).as_deref(), Some("person:u1"));
    assert_eq!(name(json!({ "sub": "c1" })).as_deref(), Some("program:c1"));
    assert_eq!(name(json!({ "sub": null })).as_deref(), Some("program:c1"));
    let ada = name(json!({ "preferred_username": "ada" })).expect("a name");
    assert!(ada.starts_with("person:ada#") && ada.len() == "person:ada#".len() + 8, "{ada}");
    assert_ne!(name(json!({ "preferred_username": "ada", "sub": "u2" })), Some(ada));
    let odd = name(json!({ "email": "key:ci\n\u{202e}x" })).expect("a name");
    assert!(odd.starts_with("person:key_ci__x#"), "{odd}");
}

#[test]
fn claims_are_found_by_their_name_or_path() {
    let all = claims(json!({
        "realm_access": { "roles": ["admin"] }, "https://example.com/team": "a", "scope": "openid mcp:write", "email_verified": true,
    }));
    let checked = Claims::check(all.as_object().expect("claims").clone(), ISSUER, NOW * 1000);
    let Ok(claims) = checked else { panic!("good claims are accepted") };
    for (name, value) in [
        ("groups", "platform"),
        ("realm_access.roles", "admin"),
        ("https://example.com/team", "a"),
        ("scope", "mcp:write"),
        ("email_verified", "true"),
        ("iss", ISSUER),
    ] {
        assert!(claims.has(name, value), "{name}={value}");
    }
    for (name, value) in
        [("groups", "plat"), ("roles", "admin"), ("scope", "openid mcp:write"), ("scope", "mcp"), ("x", "")]
    {
        assert!(!claims.has(name, value), "{name}={value}");
    }
}

#[test]
fn a_token_is_distinguished_from_a_key() {
    let token = Signer::p256("p").token(&claims(json!({ "exp": 1 })));
    assert!(is_token(&token));
    for other in ["", "a.b.c", "mcpkg_0123456789ab_00", &token[1..], &format!("{token}.x"), "eyJ9.e30.x"] {
        assert!(!is_token(other), "{other}");
    }
}

#[test]
fn an_issuer_is_named_by_a_safe_url() {
    for bad in
        ["", "login", "http://login.example", "https://u:p@login.example", "https://a/?x=1", "https://a/\"b", "ftp://a"]
    {
        assert!(Issuer::new(bad).is_err(), "{bad}");
    }
    let urls = |name: &str| Issuer::new(name).expect("an issuer").metadata_urls();
    assert_eq!(
        urls(ISSUER),
        [
            "https://login.example/.well-known/oauth-authorization-server/realms/team",
            "https://login.example/.well-known/openid-configuration/realms/team",
            "https://login.example/realms/team/.well-known/openid-configuration",
        ]
    );
    assert_eq!(urls("http://127.0.0.1:9/")[0], "http://127.0.0.1:9/.well-known/oauth-authorization-server");
    assert_eq!(urls("http://127.0.0.1:9/").len(), 2);
}
