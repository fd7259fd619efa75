//! Secrets that are known by their shape: tokens of well-known services, private keys, and what stands behind a name such as
//! `password`.
//!
//! Programs print them in logs, JSON, settings and command lines alike, so nothing is parsed: whatever looks like a secret is
//! hidden. Each pass jumps from one byte that may begin something to the next, so that a text without secrets costs little.

mod known;
mod named;
mod private_key;
mod span;

use std::borrow::Cow;
use std::ops::Range;

pub(super) use private_key::rest as rest_of_private_key;

use span::Span;

use super::HIDDEN;

/// Returns a text without the secrets that are known by their shape.
pub(super) fn hidden_in(text: &str) -> Cow<'_, str> {
    let (spans, _) = found(text);
    without(text, spans)
}

/// As [`hidden_in`]; says besides whether the text ends inside of a private key.
pub(super) fn hidden_in_piece(text: &str) -> (Cow<'_, str>, bool) {
    let (spans, is_open) = found(text);
    (without(text, spans), is_open)
}

/// As [`hidden_in`], of a text that was cut off: what its last word may be the beginning of goes too.
pub(super) fn hidden_in_beginning(text: &str) -> String {
    let (mut spans, _) = found(text);
    spans.extend(known::begun_at_end(text).map(Span::from));
    without(text, spans).into_owned()
}

/// As [`hidden_in`], of a text whose beginning was cut off: its first word goes, and what may be the rest of a private key.
pub(super) fn hidden_in_end(text: &str) -> String {
    let (mut spans, _) = found(text);
    let hidden = [first_word(text), 0..private_key::left_of(text)];
    spans.extend(hidden.into_iter().filter(|span| !span.is_empty()).map(Span::from));
    without(text, spans).into_owned()
}

/// Returns where the first word of a text is, unless it begins with a line.
pub(super) fn first_word(text: &str) -> Range<usize> {
    let start = text.find(|c: char| !matches!(c, ' ' | '\t')).unwrap_or(text.len());
    let end = text[start..].find(is_delimiter).map_or(text.len(), |at| start + at);
    // What was hidden before is one word.
    if text[start..end].starts_with(HIDDEN) { start..start } else { start..end }
}

/// Returns where the last word of a text begins.
pub(super) fn last_word(text: &str) -> usize {
    text.rfind(is_delimiter).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}

fn is_delimiter(c: char) -> bool {
    c.is_whitespace() || matches!(c, '"' | '\'' | '`' | ',' | ';' | '&' | '<' | '>')
}

fn found(text: &str) -> (Vec<Span>, bool) {
    let mut spans = Vec::new();
    let is_open = private_key::find(text, &mut spans);
    named::find(text, &mut spans);
    known::find(text, &mut spans);
    (spans, is_open)
}

fn without(text: &str, mut spans: Vec<Span>) -> Cow<'_, str> {
    if spans.is_empty() {
        return Cow::Borrowed(text);
    }
    spans.sort_by_key(|span| (span.range.start, std::cmp::Reverse(span.range.end)));
    let mut safe = String::with_capacity(text.len());
    let mut at = 0;
    for Span { range, quotes } in spans {
        // One that lies in another, or goes on behind it.
        if range.start < at {
            at = at.max(range.end);
            continue;
        }
        let quote = quotes.map_or_else(String::new, |slashes| format!("{}\"", "\\".repeat(slashes)));
        safe.extend([&text[at..range.start], &quote, HIDDEN, &quote]);
        at = range.end;
    }
    safe.push_str(&text[at..]);
    Cow::Owned(safe)
}

#[cfg(test)]
mod tests {
    use super::*;

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
            for (before, after) in [
                ("", ""),
                ("got ", " there"),
                ("x=\"", "\","),
                ("\\n", "\\n"),
                ("\u{1b}[31m", "\u{1b}[0m"),
                ("(", ")."),
            ] {
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
    fn what_stands_behind_a_secrets_name_is_hidden() {
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
    fn many_empty_values_on_one_line_cost_little() {
        let begun = std::time::Instant::now();
        for part in ["\"token\":\"\",", "token={", "token=***,", "--token \"\" "] {
            let text = part.repeat((4 << 20) / part.len());
            assert_eq!(hidden_in(&text), text);
        }
        // Of those that look at the rest of the line for each, one takes minutes.
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "{:?}", begun.elapsed());
    }

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
        assert!(hidden_in_piece(&key[..120]).1 && !hidden_in_piece(&key).1);
    }

    #[test]
    fn what_was_cut_leaves_no_half_of_a_secret() {
        assert_eq!(hidden_in_beginning("got ghp_01"), "got ***");
        assert_eq!(hidden_in_beginning("password: hun"), "password: ***");
        assert_eq!(hidden_in_end("ter2 and more"), "*** and more");
        assert_eq!(hidden_in_end("\nnext"), "\nnext");
        let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm";
        assert_eq!(hidden_in_end(&format!("Bcd\n{line}\nab==\n-----END PRIVATE KEY-----\nnext")), "***\nnext");
    }
}
