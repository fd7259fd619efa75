//! Lists texts with secrets, and harmless texts that look similar. The tests of redaction use them, including the unit
//! tests in `crates/base/src/redact/`.

/// A line of a private key.
pub const KEY_LINE: &str = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQDabcdefghijklm";

/// Returns texts with secrets as programs print them: a description, the text, and the part that must be hidden.
pub fn shapes() -> Vec<(&'static str, String, &'static str)> {
    let plain = ONE_LINE.iter().chain(LINES).map(|(name, printed, secret)| (*name, (*printed).to_owned(), *secret));
    plain.chain(keys()).collect()
}

/// Returns a private key of this kind, such as `RSA `.
pub fn key(kind: &str) -> String {
    format!("-----BEGIN {kind}PRIVATE KEY-----\n{KEY_LINE}\n{KEY_LINE}\nqvYw==\n-----END {kind}PRIVATE KEY-----")
}

fn keys() -> Vec<(&'static str, String, &'static str)> {
    // This is `key("RSA ")` in Base64, which `base64 -w 76` breaks into lines.
    let encoded = "LS0tLS1CRUdJTiBSU0EgUFJJVkFURSBLRVktLS0tLQpNSUlFdlFJQkFEQU5CZ2txaGtpRzl3MEJB";
    let rest = "UUVGQUFTQ0JLY3dnZ1NqQWdFQUFvSUJBUURhYmNkZWZnaGlqa2xtCnF2WXc9PQotLS0tLUVORCBS";
    vec![
        ("a private key", key("RSA "), "KcwggSjAgEAA"),
        ("a private key, line by line", key(""), "qvYw"),
        ("a private key in a setting", format!("KEY=\"{}\"", key("EC ").replace('\n', "\\n")), "KcwggSjAgEAA"),
        ("a private key behind names", key("OPENSSH ").replace('\n', "\napi-1  | "), "KcwggSjAgEAA"),
        ("a private key with CRLF", key("").replace('\n', "\r\n"), "qvYw"),
        ("a private key in JSON", format!("{{\"private_key\": \"{}\\n\"}}", key("").replace('\n', "\\n")), "qvYw"),
        ("a private key in YAML", format!("key: |\n  {}", key("EC ").replace('\n', "\n  ")), "KcwggSjAgEAA"),
        ("a private key of PGP", key("PGP ").replace("KEY-----\n", "KEY BLOCK-----\n\n"), "KcwggSjAgEAA"),
        (
            "a private key of PuTTY",
            format!("Private-Lines: 2\n{KEY_LINE}\nqvYwqvYwqvYwqvYw==\nPrivate-MAC: 1"),
            "qvYwqvYw",
        ),
        (
            "a private key that was cut",
            format!("-----BEGIN PRIVATE KEY-----\n{KEY_LINE}\nqvYwqvYwqvYwqvYw"),
            "qvYwqvYw",
        ),
        ("a private key in base64", format!("client-key-data: {encoded}{rest}"), "UUVGQUFTQ0"),
        ("a private key in base64, in lines", format!("{encoded}\n{rest}\nU0EgUFJJVkFURQ=="), "UUVGQUFTQ0"),
    ]
}

const ONE_LINE: &[(&str, &str, &str)] = &[
    ("GitHub, classic", "token ghp_0123456789abcdefghijABCDEFGHIJ012345", "ghp_0123456789"),
    ("GitHub, OAuth", "gho_16C7e42F292c6912E7710c838347Ae178B4a", "16C7e42F"),
    ("GitHub, fine-grained", "x=github_pat_11ABCDEFG0abcdefghijkl_MNOPqrstuvwxyz0123456789", "11ABCDEFG0"),
    ("AWS, id", "AKIAIOSFODNN7EXAMPLE", "IOSFODNN7"),
    ("AWS, secret", "aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "wJalrXUtnFEMI"),
    ("AWS, session", "AWS_SESSION_TOKEN=IQoJb3JpZ2luX2VjEJr//session", "IQoJb3JpZ2lu"),
    (
        "AWS, signed",
        "https://b.s3.amazonaws.com/k?X-Amz-Expires=9&X-Amz-Signature=fe5f80f77d5fa3beca",
        "fe5f80f77d5fa3beca",
    ),
    ("JSON Web Token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N", "dozjgNryP4J3"),
    ("a password in YAML", "  password: swordfish1", "swordfish1"),
    ("a variable", "DB_PASSWORD=correct-horse", "correct-horse"),
    ("JSON", "{\"api_key\": \"battery-staple\", \"n\": 1}", "battery-staple"),
    ("a query", "GET /x?token=tok-in-query&b=1", "tok-in-query"),
    ("OpenAI", "sk-proj-abcdefghijklmnop0123456789", "abcdefghijklmnop0123"),
    ("Anthropic", "sk-ant-api03-abcdefghijklmnop0123456789-AA", "api03-abcdefgh"),
    ("Slack", "xoxb-123456789012-slackslack", "slackslack"),
    ("Slack, person", "xoxp-123456789012-personperson", "personperson"),
    ("Slack, webhook", "https://hooks.slack.com/services/T0000/B0000/webhookwebhook", "webhookwebhook"),
    ("Discord, webhook", "POST https://discord.com/api/webhooks/1234/discorddiscord-x", "discorddiscord"),
    ("Google", "AIzaSyA-1234567890abcdefghijklmnopqrstuv", "SyA-1234567890"),
    ("Google, OAuth", "ya29.a0AfB_googlegoogle", "googlegoogle"),
    ("Google, client", "GOCSPX-clientclientclient", "clientclient"),
    ("GitLab", "glpat-gitlabGITLAB0123", "gitlabGITLAB"),
    ("GitLab, deploy", "gldt-deployDEPLOY0123456", "deployDEPLOY"),
    ("GitLab, CI", "glcbt-64_runnerRUNNER0123456", "runnerRUNNER"),
    ("npm", "npm_abcdefghijklmnopqrstuvwxyz0123456789", "abcdefghijklmnopqrstuvwxyz"),
    ("npm, settings", "//registry.npmjs.org/:_authToken=npmrcnpmrc", "npmrcnpmrc"),
    ("PyPI", "pypi-AgEIcHlwaS5vcmcCJGpypipypi", "pypipypi"),
    ("RubyGems", "rubygems_0123456789abcdef0123456789abcdef", "_0123456789abcdef"),
    ("Docker Hub", "dckr_pat_dockerDOCKER0123456789a", "dockerDOCKER"),
    ("Stripe", "sk_live_stripeSTRIPE0123456789", "stripeSTRIPE"),
    ("Stripe, restricted", "rk_test_restrictedRESTRICTED01", "restrictedR"),
    ("Stripe, webhook", "whsec_stripehookSTRIPEHOOK0123", "stripehook"),
    ("Vault", "hvs.CAESIvaultVAULT0123456789", "vaultVAULT"),
    ("Grafana", "glsa_grafanaGRAFANA0123456789_0a1b2c3d", "grafanaGRAFANA"),
    ("age", "AGE-SECRET-KEY-1QQQQQQQQAGEAGEAGE", "AGEAGEAGE"),
    (
        "Azure, storage",
        "DefaultEndpointsProtocol=https;AccountName=a;AccountKey=azureAZURE0123456789+/==;EndpointSuffix=x",
        "azureAZURE",
    ),
    ("Azure, bus", "Endpoint=sb://h/;SharedAccessKeyName=n;SharedAccessKey=busbusBUS0123=", "busbusBUS"),
    ("Azure, signed", "https://a.blob.core.windows.net/c?sv=2022&sig=signedSIGNED%2B1%3D", "signedSIGNED"),
    ("Azure, client", "AZURE_CLIENT_SECRET=abc8Q~azureclientAZURECLIENT", "azureclient"),
    ("SQL Server", "Server=tcp:h,1433;User ID=ada;Password=in-ado-net;Encrypt=True;", "in-ado-net"),
    ("ODBC", "Driver={x};Uid=ada;Pwd=in-odbc;", "in-odbc"),
    ("JDBC", "jdbc:mysql://h:3306/shop?user=ada&password=in-jdbc&ssl=1", "in-jdbc"),
    ("JDBC, Oracle", "jdbc:oracle:thin:ada/in-oracle@//h:1521/shop", "in-oracle"),
    ("Go's MySQL", "ada:in-go-mysql@tcp(127.0.0.1:3306)/shop", "in-go-mysql"),
    ("Redis", "connect redis://:in-redis@h:6379/0", "in-redis"),
    ("MongoDB", "mongodb+srv://ada:in-mongo@h/shop", "in-mongo"),
    ("a variable of PostgreSQL", "+ PGPASSWORD=in-pgpassword psql", "in-pgpassword"),
    ("a variable of MySQL", "MYSQL_PWD=in-mysql-pwd mysql", "in-mysql-pwd"),
    ("a short name", "SMTP_PASS=in-smtp-pass", "in-smtp-pass"),
    ("Rails", "RAILS_MASTER_KEY=0123railsrails", "railsrails"),
    ("a header", "> Authorization: Bearer opaque-credential", "opaque-credential"),
    ("a header of API keys", "x-api-key: in-a-header", "in-a-header"),
    ("HTTP Basic", "Authorization: Basic YWRhOmh1bnRlcjI=", "YWRhOmh1bnRl"),
    ("a proxy's header", "Proxy-Authorization: Basic YWRhOmluLXByb3h5", "YWRhOmluLXByb3h5"),
    ("a signed header", "authorization: AWS4-HMAC-SHA256 Credential=A/b, Signature=in-a-signature", "in-a-signature"),
    ("a cookie", "< Set-Cookie: a=1; session=in-a-cookie; Path=/", "in-a-cookie"),
    ("cookies in JSON", "\"set-cookie\": [\"sid=in-a-list; Path=/\", \"b=second-of-list\"]", "second-of-list"),
    ("headers of Go", "map[Accept:[*/*] Authorization:[Bearer in-go-headers]]", "in-go-headers"),
    ("headers of Node", "{ authorization: [ 'Bearer in-node-headers' ] }", "in-node-headers"),
    ("Rust", "Config { token: Some(\"in-rust-debug\"), n: 1 }", "in-rust-debug"),
    ("Python", "{'password': b'in-python-bytes', 'n': 1}", "in-python-bytes"),
    ("Ruby", "{:password=>\"in-ruby-hash\"}", "in-ruby-hash"),
    ("TOML", "secret-key = \"in-toml\"", "in-toml"),
    ("JSON in JSON", "{\"body\":\"{\\\"client_secret\\\":\\\"in-json-in-json\\\"}\"}", "in-json-in-json"),
    ("HTML", "data=\"{&quot;password&quot;:&quot;in-html&quot;}\"", "in-html"),
    ("an encoded query", "?next=%2Fx%3Faccess_token%3Din-encoded%26b%3D1", "in-encoded"),
    ("encoded JSON", "?q=%7B%22password%22%3A%22in-encoded-json%22%7D", "in-encoded-json"),
    (
        "a key of JSON Web Keys",
        "{\"kty\":\"EC\",\"d\":\"jwkJWK0123456789jwkJWK0123456789jwkJWK0123456\"}",
        "jwkJWK012345",
    ),
    ("an address", "fetch https://ada:in-the-url@example.org/x", "in-the-url"),
    ("an option", "+ deploy --password in-an-option --now", "in-an-option"),
    ("curl", "+ curl -sS -u ada:in-curl https://h", "in-curl"),
    (".netrc", "machine h login ada password in-netrc", "in-netrc"),
    ("XML", "<password>in-an-element</password>", "in-an-element"),
    ("words", "mnemonic: abandon ability in-words", "in-words"),
    ("a quote within", "PASSWORD=in\"quote\"ends-here", "ends-here"),
    ("colours", "\u{1b}[1mpassword\u{1b}[0m: \u{1b}[32min-colour\u{1b}[0m", "in-colour"),
    ("colours within", "pass\u{1b}[1mword: in-\u{1b}[32mcolours-within", "colours-within"),
    ("colours of grep", "\u{1b}[01;31m\u{1b}[Kghp_\u{1b}[m\u{1b}[Kgrepgrep0123456789abcd", "grepgrep"),
    ("colours in JSON", "{\"m\":\"\\u001b[32mglpat-colourJSON0123\\u001b[0m\"}", "colourJSON"),
    ("CRLF", "password: in-crlf\r", "in-crlf"),
];

const LINES: &[(&str, &str, &str)] = &[
    ("a YAML block", "password: |\n  in-a-block\n\n  and-a-line\nnext: 1", "and-a-line"),
    ("a folded YAML block", "- token: >-\n    in-a-fold\n- next", "in-a-fold"),
    ("a YAML value below", "stringData:\n  password:\n    in-the-line-below\n", "in-the-line-below"),
    ("code that was formatted", "const apiKey =\n    \"in-formatted-code\";", "in-formatted-code"),
    ("a TOML text", "password = \"\"\"\nin-a-toml-text\n\"\"\"", "in-a-toml-text"),
    ("an XML text", "<password>\n  in-an-xml-text\n</password>", "in-an-xml-text"),
    ("JSON lists", "{\n  \"tokens\": [\n    \"in-a-json-list\"\n  ]\n}", "in-a-json-list"),
    ("a command in lines", "curl --header 'x: y' \\\n  --password in-a-second-line", "in-a-second-line"),
    (
        "a token at 80 columns",
        "Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNry\nP4J3jVmNHl0w5NwrapWRAP",
        "wrapWRAP",
    ),
    (
        "a token in three lines",
        "  token: ghp_0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ01234\n  0123456789abcdefghijABCDEFGHIJ0123456789abcdefghijABCDEFGHIJ0123456789abcdef\n  lastLAST0",
        "lastLAST0",
    ),
];

/// Texts that redaction must not change.
pub const PLAIN: &[&str] = &[
    "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b\nAuthor: Ada <ada@example.org>\nDate:   Sat Nov 28 17:00:00 2026",
    "9f86d08 fix: tokens are counted\n36dc822c tools: a test of containers",
    "3f2a1b4c-5d6e-4f70-8a9b-0c1d2e3f4a5b",
    "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  empty.tar.gz",
    "docker.io/library/alpine@sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
    "integrity sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg==",
    "checksum = \"9f86d081884c7d659a2feaa0c55ad015a3bf4f1b9f86d081884c7d659a2feaa0\"",
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk",
    "-----BEGIN CERTIFICATE-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBaMQswCQYDVQQGEwJJ\n-----END CERTIFICATE-----",
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIGfrom ada@example.org",
    "certificate-authority-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSURkekNDQWwrZ0F3SUJBZ0lF",
    "test result: ok. 12 passed; 0 failed; tests pass: 12, fail: 0, pass=3",
    "error: expected identifier, found token: `}`\n  --> src/a.rs:12:5",
    "thread 'main' panicked at src/main.rs:4:5:\ncalled `Option::unwrap()` on a `None` value",
    "pub fn sign(token: &str, secret: Secret<String>, password: Option<String>) -> Result<Token, Error> {",
    "let token = tokens.next().expect(\"a token\"); if password.is_empty() { return }",
    "const password = await prompt(message); token = os.environ[KEY]; secret := os.Getenv(name)",
    "if token == other && password != again || key => value",
    "password: must have 8 characters; token is required; the secret is kept",
    "Enter password:\nPassword:\ntoken:\n",
    "password:\n  min: 8\n  required\ntoken:\n  - a\n  - b\n",
    "{\"required\": [\"username\", \"password\"], \"properties\": {\"token\": {\"type\": [\"string\", \"null\"]}}}",
    "secrets: [\"DEPLOY_KEY\", \"NPM_TOKEN\"]",
    "PWD=/home/ada/shop OLDPWD=/home/ada HOME=/home/ada sh: pwd: command not found",
    "{\"PWD\": \"/home/ada/shop\", \"d\": \"0123456789\", \"k\": \"v\", \"p\": 1}",
    "token: ${TOKEN} password: {{ db_password }} API_KEY=$API_KEY secret=env:NAME --token <TOKEN> --password PASSWORD",
    "run: docker run -u 1000:1000 image; git push -u origin main; git log --author ada:",
    "keyboard: monkey, tokenizer: fast, secretary: ada, passage=1, compass=n, next_page_token=abc, token_count: 12",
    "https://example.org:8080/a?b=1&sign=2#c ssh://git@example.org/o/r.git git@github.com:owner/repo.git",
    "npm_config_user_agent sk-learn secret_key_base hf_transformers pat-builder.o data-testid key-value-store",
    "Finished `release` profile [optimized] target(s) in 3m 42s",
    "\u{1b}[32mok\u{1b}[0m \u{1b}[1mpassword\u{1b}[0m is \u{1b}[31mrequired\u{1b}[0m",
    "this line is more than sixty characters wide and ends with a word such as implementation\nPart2 of it",
    "fetch(url, { credentials: \"same-origin\" }) or { credentials: 'include' }",
    "Basic usage: the Bearer token is sent; see token(s) and password/passphrase",
];
