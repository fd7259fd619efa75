use super::*;
use crate::redact::examples::{PLAIN, shapes};
use crate::redact::redact;

#[track_caller]
fn hidden(text: &str, expected: &str) {
    let safe = hidden_in(text).into_owned();
    assert_eq!(safe, expected);
    assert_eq!(hidden_in(&safe), safe, "what is hidden stays as it is");
}

#[test]
fn tokens_of_services_are_hidden() {
    for token in [
        "ghp_0123456789abcdefghijABCDEFGHIJ012345",
        "gho_16C7e42F292c6912E7710c838347Ae178B4a",
        "github_pat_11ABCDEFG0abcdefghijkl_MNOPqrstuvwxyz0123456789",
        "AKIAIOSFODNN7EXAMPLE",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
        "sk-proj-abcdefghij0123456789",
        "sk-abcdefghijklmnopqrstuvwx",
        "xoxb-123456789012-abcdefGHIJ",
        "xoxp-123456789012-abcdefGHIJ",
        "AIzaSyA-1234567890abcdefghijklmnopqrstuv",
        "glpat-abcdefGHIJ0123456789",
        "npm_abcdefghijklmnopqrstuvwxyz0123456789",
    ] {
        for (before, after) in
            [("", ""), ("got ", " there"), ("x=\"", "\","), ("\\n", "\\n"), ("\u{1b}[31m", "\u{1b}[0m"), ("(", ").")]
        {
            hidden(&format!("{before}{token}{after}"), &format!("{before}***{after}"));
        }
    }
    for plain in [
        "npm_lifecycle_event npm_config_user_agent npm_package_devDependencies_typescript",
        "sk-learn sk-container-id-1 secret_key_base hf_transformers ASIAN-PACIFIC-COUNTRIES",
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b 3f2a1b4c-5d6e-4f70-8a9b-0c1d2e3f4a5b",
        "image@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
        "pat-builder.o eyJ xoxo-gossip glpat- AKIA",
    ] {
        hidden(plain, plain);
    }
}

#[test]
fn the_value_after_a_secrets_name_is_hidden() {
    for (text, safe) in [
        ("password: x", "password: ***"),
        ("PASSWORD=hunter2\nnext", "PASSWORD=***\nnext"),
        ("token=abc123&page=2", "token=***&page=2"),
        ("aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "aws_secret_access_key = ***"),
        ("{\"password\": \"a \\\"b\\\" c\", \"x\": 1}", "{\"password\": \"***\", \"x\": 1}"),
        ("\"{\\\"api_key\\\":\\\"s3\\\\\\\"cr\\\",\\\"n\\\":1}\"", "\"{\\\"api_key\\\":\\\"***\\\",\\\"n\\\":1}\""),
        ("{\"password\": 1234, \"n\": 5}", "{\"password\": \"***\", \"n\": 5}"),
        ("says \"password: hunter2\" here", "says \"password: ***\" here"),
        ("\"a\\npassword: hunter2\\\" b\"", "\"a\\npassword: ***\\\" b\""),
        ("spring.datasource.password=a,b;c", "spring.datasource.password=***"),
        ("'password' => 'x y',", "'password' => '***',"),
        ("<password>hunter2</password>", "<password>***</password>"),
        ("API key: abcd", "API key: ***"),
        ("export API_TOKEN='it is'", "export API_TOKEN='***'"),
        (
            "\u{1b}[1mpassword\u{1b}[0m: \u{1b}[32mhunter2\u{1b}[0m",
            "\u{1b}[1mpassword\u{1b}[0m: \u{1b}[32m***\u{1b}[0m",
        ),
        ("curl --password hunter2 -v", "curl --password *** -v"),
        ("curl -H \"Authorization: Bearer abcdef\" https://h", "curl -H \"Authorization: Bearer ***\" https://h"),
        ("Authorization: Basic YWRhOmh1bnRlcjI=", "Authorization: Basic ***"),
        ("authorization: hunter2", "authorization: ***"),
        ("Set-Cookie: sid=1; Path=/", "Set-Cookie: ***"),
        ("sent Bearer 0123456789abcdef, got 401", "sent Bearer ***, got 401"),
        ("sent Basic YWRhOmh1bnRlcjI= there", "sent Basic *** there"),
        ("//registry.npmjs.org/:_authToken=deadbeef", "//registry.npmjs.org/:_authToken=***"),
        ("{\"auths\":{\"h\":{\"auth\":\"YWRhOmh1bnRlcjI=\"}}}", "{\"auths\":{\"h\":{\"auth\":\"***\"}}}"),
        ("password: ü€", "password: ***"),
    ] {
        hidden(text, safe);
    }
}

#[test]
fn long_lines_without_secrets_are_scanned_quickly() {
    for part in HOSTILE {
        let begun = std::time::Instant::now();
        hidden_in(&part.repeat((512 << 10) / part.len()));
        // A pass that scans the rest of the line for each start would take many minutes.
        assert!(begun.elapsed() < std::time::Duration::from_secs(20), "{part:?}: {:?}", begun.elapsed());
    }
}

/// Texts that start a secret over and over, mostly without containing one.
const HOSTILE: &[&str] = &[
    "\"token\":\"\",",
    "token={",
    "token=***,",
    "--token \"\" ",
    "token=A<",
    "token:A",
    "token=A);",
    "token=mcpkg_",
    "token=null:",
    "auth=x",
    "auth=\"x\\\"",
    "token=\"***\\\"",
    "token=\"null\\\"",
    "token=[\"A\",",
    "token=[\"***\\\"",
    "token='''{",
    "token=\"\"\"***",
    "--token \"-\\\" ",
    "--token \"=\\\" ",
    "\"pwd\":\"/\\\"",
    ";pwd=/a",
    "\"d\":\"a\\\"",
    "cookie=basic ***",
    "<token>",
    "<token>\n",
    "token:\n",
    "token: |\n ",
    "token%3D***",
    "sk-a-",
    "eyJ.",
    "AKIA-",
    "-----BEGIN PRIVATE KEY-----",
    "-----BEGIN PRIVATE KEY-----\n",
    "-----BEGIN PRIVATE KEY-----\n\n",
    "Private-Lines: ",
    "Private-Lines:\n",
    "LS0tLS1CRUdJTi",
    "hooks.slack.com/services/",
    "@tcp(",
    "curl -u a ",
    " login a password ",
    "bearer ",
    "\u{1b}[1m",
    "\\u001b[",
    "\\",
    "\"",
    " ",
    "\n",
];

#[test]
fn code_prose_and_references_stay() {
    for plain in [
        "error: expected identifier, found token: `}`",
        "pub token: String, secret: &'a str, password: Option<String>",
        "token::Token == token, password != other, let secret = read(path);",
        "SyntaxError: Unexpected token: punc",
        "password: must have 8 characters; token is required; password = missing",
        "--secret token=env:TOKEN password=file:/run/x api_key=command:pass",
        "PASSWORD=${PASSWORD} TOKEN=$TOKEN token: <TOKEN> password: {{ secret }} TOKEN=%TOKEN%",
        "{\"token\": {\"type\": \"string\"}, \"password\": null, \"secret\": true}",
        "use --token to sign in, --password PASSWORD, --token <TOKEN>, --token-file a",
        "next_page_token=abc token_count: 12 PWD=/home/ada monkey=1 key: value",
        "Basic usage: the Bearer token is sent; basic auth",
        "password:\n  - min",
        "password: \"\"",
    ] {
        hidden(plain, plain);
    }
}

#[test]
fn private_keys_are_hidden_whole() {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm";
    let key = format!("-----BEGIN RSA PRIVATE KEY-----\n{line}\n{line}\nab+/==\n-----END RSA PRIVATE KEY-----");
    hidden(&format!("a\n{key}\nb"), "a\n***\nb");
    hidden(&format!("a {} b", key.replace('\n', "\\n")), "a *** b");
    hidden(&format!("api | {}\napi | b", key.replace('\n', "\napi | ")), "api | ***\napi | b");
    hidden(&format!("{}\nerror: it was cut", &key[..120]), "***\nerror: it was cut");
    let certificate = format!("-----BEGIN CERTIFICATE-----\n{line}\n-----END CERTIFICATE-----");
    hidden(&certificate, &certificate);
    assert_eq!((open_in(&key[..120]), open_in(&key)), (Some(0), None));
}

#[test]
fn a_truncated_secret_is_hidden() {
    assert_eq!(hidden_in_beginning("got ghp_01"), "got ***");
    assert_eq!(hidden_in_beginning("password: hun"), "password: ***");
    assert_eq!(hidden_in_end("ter2 and more"), "*** and more");
    assert_eq!(hidden_in_end("\nnext"), "\nnext");
    assert_eq!(hidden_in_end("battery staple\", \"n\": 1\nnext"), "***\nnext");
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm";
    assert_eq!(hidden_in_end(&format!("Bcd\n{line}\nab==\n-----END PRIVATE KEY-----\nnext")), "***\nnext");
}

#[test]
fn secrets_are_hidden_and_everything_else_is_kept() {
    for (name, text, secret) in shapes() {
        let between = format!("before\n{text}\nafter it");
        for text in [text.clone(), between, format!("{text}\n"), text.replace('\n', "\r\n")] {
            let safe = redact(&text);
            assert!(!safe.contains(secret), "{name}: {safe}");
            assert_eq!(redact(&safe), safe, "{name}: what is hidden stays as it is");
            let is_whole =
                !text.starts_with("before") || (safe.starts_with("before\n") && safe.ends_with("\nafter it"));
            assert!(is_whole, "{name}: {safe}");
        }
    }
    for plain in PLAIN {
        assert_eq!(redact(plain), *plain);
    }
}
