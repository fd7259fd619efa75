//! Converts the names in Sigstore certificates to identities.
//!
//! A certificate names its owner in its SAN (subject alternative name), and the issuer that authenticated the owner in
//! an extension. Both are parsed strictly, and the issuer must match exactly: the same name from another issuer is
//! another identity.

use sigstore_verify::SubjectAltName;
use sigstore_verify::crypto::FulcioCiClaims;

use crate::trust::pattern;
use mcpkg_base::error::{Code, Error, Result};

/// Sign-in providers, and the issuer of each in a certificate.
const PROVIDERS: [(&str, &str); 3] = [
    (GITHUB, "https://github.com/login/oauth"),
    ("google", "https://accounts.google.com"),
    ("microsoft", "https://login.microsoftonline.com"),
];

const GITHUB: &str = "github";

/// The prefix of the identity of a GitHub Actions workflow.
const WORKFLOW: &str = "github-workflow";

/// The issuer of GitHub Actions workflows.
const WORKFLOWS: &str = "https://token.actions.githubusercontent.com";

/// The prefix of the SAN of a workflow, and of repository URLs.
const AT_GITHUB: &str = "https://github.com/";

/// The domain of the private email addresses that GitHub gives its users; such an address contains the user name.
const NO_REPLY: &str = "users.noreply.github.com";

/// The folder for GitHub Actions workflows.
const WORKFLOW_FOLDER: [&str; 2] = [".github", "workflows"];

/// The prefixes of the Git references that a workflow runs for. Certificates always contain the full reference.
const REFERENCES: [&str; 3] = ["refs/heads/", "refs/tags/", "refs/pull/"];

/// The maximum length of a name in bytes.
const LONGEST: usize = 512;

/// Returns the canonical form of an identity that only Sigstore can attest; `None` for any other text.
///
/// # Errors
/// `E_INVALID_ARGUMENT` if the text starts like such an identity but is malformed.
pub fn name(text: &str) -> Result<Option<String>> {
    let Some((kind, rest)) = text.split_once(':') else { return Ok(None) };
    let (name, form) = match kind {
        WORKFLOW => (
            workflow_pattern(rest).then(|| text.to_owned()),
            "`github-workflow:OWNER/REPO/.github/workflows/FILE.yml@REFERENCE`, where REFERENCE is refs/heads/BRANCH or refs/tags/TAG \
                and can contain `*`, as in github-workflow:alice/kit/.github/workflows/release.yml@refs/tags/*",
        ),
        GITHUB => (person(kind, rest), "`github:USER`, or `github:MAIL`"),
        _ if PROVIDERS.iter().any(|(provider, _)| *provider == kind) => {
            (person(kind, rest), "`PROVIDER:MAIL`, such as google:alice@example.com")
        }
        _ => return Ok(None),
    };
    match name {
        Some(name) => Ok(Some(name)),
        None => Err(Error::new(Code::InvalidArgument, format!("'{}' matches no identity", text.escape_debug()))
            .hint(format!("write {form}"))
            .hint("`mcpkg tool verify TOOL` shows the identities that signed a tool")),
    }
}

/// Returns the identity of a certificate's owner. The error text can be shown to people.
pub(super) fn of_certificate(san: &SubjectAltName, issuer: &str, claims: &FulcioCiClaims) -> Result<String, String> {
    let provider = PROVIDERS.iter().find(|(_, known)| *known == issuer).map(|(provider, _)| *provider);
    let odd = || {
        format!(
            "the certificate for '{}' comes from the unknown issuer '{}'",
            san.as_str().escape_debug(),
            issuer.escape_debug()
        )
    };
    match (san, provider) {
        (SubjectAltName::Email(mail), Some(provider)) if is_mail(mail) => person(provider, mail).ok_or_else(odd),
        (SubjectAltName::Uri(uri), None) if issuer == WORKFLOWS => {
            let rest = uri.strip_prefix(AT_GITHUB).ok_or_else(odd)?;
            let repository = workflow(rest).ok_or_else(odd)?;
            // For a reusable workflow, the SAN names the repository of the workflow file, whichever repository
            // called it.
            match called_by(claims) {
                Some(caller) if caller.eq_ignore_ascii_case(repository) => Ok(format!("{WORKFLOW}:{rest}")),
                Some(caller) => Err(format!(
                    "the certificate names the workflow '{}', but the repository '{}' called it; since any repository can call a \
                        workflow, this proves nothing",
                    rest.escape_debug(),
                    caller.escape_debug()
                )),
                None => Err("the certificate does not name the repository that the workflow ran for".to_owned()),
            }
        }
        _ => Err(odd()),
    }
}

/// Returns whether a trusted identity covers a signer's identity. The Git reference of a workflow may be a pattern,
/// and case is ignored in GitHub owners and repositories. Everything else must match exactly.
pub fn covers(trusted: &str, signer: &str) -> bool {
    let parts = |text: &'_ str| -> Option<(usize, usize)> {
        let rest = text.strip_prefix(WORKFLOW)?.strip_prefix(':')?;
        let before = text.len() - rest.len();
        Some((before + workflow(rest)?.len(), before + rest.find('@')?))
    };
    let (Some((repository, at)), Some((signers_repository, signers_at))) = (parts(trusted), parts(signer)) else {
        return trusted == signer;
    };
    trusted[..repository].eq_ignore_ascii_case(&signer[..signers_repository])
        && trusted[repository..at] == signer[signers_repository..signers_at]
        && pattern::matches(&trusted[at..], &signer[signers_at..])
}

/// Returns the repository that a workflow ran for, as `OWNER/REPO`.
fn called_by(claims: &FulcioCiClaims) -> Option<&str> {
    match &claims.source_repository_uri {
        Some(uri) => uri.strip_prefix(AT_GITHUB),
        None => claims.deprecated_github.workflow_repository.as_deref(),
    }
}

/// Returns the identity of a person: by email address, or for GitHub by user name where possible.
fn person(provider: &str, rest: &str) -> Option<String> {
    let user = match is_mail(rest) {
        false => (provider == GITHUB && is_user(rest)).then_some(rest)?,
        true => match (provider, user_of(rest)) {
            (GITHUB, Some(user)) => user,
            _ => return Some(format!("{provider}:{rest}")),
        },
    };
    // GitHub ignores case in user names.
    Some(format!("{GITHUB}:{}", user.to_ascii_lowercase()))
}

/// Returns the user name in a private email address from GitHub: `ID+USER@...` or `USER@...`.
fn user_of(mail: &str) -> Option<&str> {
    let (local, domain) = mail.split_once('@')?;
    let user = match local.split_once('+') {
        Some((id, user)) if !id.is_empty() && id.bytes().all(|byte| byte.is_ascii_digit()) => user,
        Some(_) => return None,
        None => local,
    };
    (domain.eq_ignore_ascii_case(NO_REPLY) && is_user(user)).then_some(user)
}

/// Returns the repository in `OWNER/REPO/PATH@REF`.
fn workflow(rest: &str) -> Option<&str> {
    let (path, reference) = rest.split_once('@')?;
    let segments: Vec<&str> = path.split('/').collect();
    let is_sound = segments.len() >= 3
        && segments.iter().all(|segment| !matches!(*segment, "" | "." | ".."))
        && segments[..2]
            .iter()
            .all(|segment| segment.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)))
        && !reference.is_empty()
        && rest.len() <= LONGEST
        && rest.bytes().all(|byte| byte.is_ascii_graphic() && byte != b'\\');
    is_sound.then(|| &path[..segments[0].len() + 1 + segments[1].len()])
}

/// Returns whether a certificate could match `OWNER/REPO/PATH@REFERENCE`; the reference may contain `*` for any
/// characters.
fn workflow_pattern(rest: &str) -> bool {
    let Some((repository, (path, reference))) = workflow(rest).zip(rest.split_once('@')) else { return false };
    let segments: Vec<&str> = path[repository.len() + 1..].split('/').collect();
    let is_file = match segments[..] {
        [github, workflows, file] => {
            [github, workflows] == WORKFLOW_FOLDER
                && [".yml", ".yaml"].iter().any(|ending| file.strip_suffix(ending).is_some_and(|name| !name.is_empty()))
        }
        _ => false,
    };
    let name = REFERENCES.iter().find_map(|beginning| reference.strip_prefix(beginning));
    is_file && !path.contains('*') && name.is_some_and(is_reference)
}

/// Returns whether a text, with `*` for any characters, follows Git's rules for the rest of a reference name.
fn is_reference(name: &str) -> bool {
    !name.is_empty()
        && !name.starts_with('/')
        && !name.ends_with(['/', '.'])
        && !["..", "//", "/.", "@{", ".lock/"].iter().any(|odd| name.contains(odd))
        && !name.starts_with('.')
        && !name.ends_with(".lock")
        && !name.contains([' ', '~', '^', ':', '?', '[', '\\'])
}

fn is_user(text: &str) -> bool {
    (1..=39).contains(&text.len())
        && !text.starts_with('-')
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
}

fn is_mail(text: &str) -> bool {
    let Some((local, domain)) = text.split_once('@') else { return false };
    !local.is_empty()
        && !domain.is_empty()
        && text.len() <= 254
        && !domain.contains('@')
        && text.bytes().all(|byte| byte.is_ascii_graphic() && !b"\"(),:;<>[\\]".contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = "alice/kit/.github/workflows/release.yml@refs/heads/main";

    fn mail(text: &str) -> SubjectAltName {
        SubjectAltName::Email(text.to_owned())
    }

    fn uri(text: &str) -> SubjectAltName {
        SubjectAltName::Uri(text.to_owned())
    }

    /// Returns the claims of a workflow that ran for a repository.
    fn ran_for(repository: &str) -> FulcioCiClaims {
        let mut claims = FulcioCiClaims::default();
        claims.source_repository_uri = Some(format!("https://github.com/{repository}"));
        claims
    }

    #[test]
    fn an_identity_has_one_form() {
        for (text, expected) in [
            ("github:alice", "github:alice"),
            ("github:Alice-B", "github:alice-b"),
            ("github:12345+Alice@users.noreply.github.com", "github:alice"),
            ("github:alice@users.noreply.github.com", "github:alice"),
            ("github:alice@example.com", "github:alice@example.com"),
            ("google:Alice@example.com", "google:Alice@example.com"),
            ("google:alice@users.noreply.github.com", "google:alice@users.noreply.github.com"),
            ("microsoft:alice@example.com", "microsoft:alice@example.com"),
        ] {
            assert_eq!(name(text).expect(text).as_deref(), Some(expected));
            assert_eq!(name(expected).expect(expected).as_deref(), Some(expected), "the form of the form");
        }
        let workflow = format!("github-workflow:{FILE}");
        assert_eq!(name(&workflow).expect("a workflow"), Some(workflow));
        for other in ["alice", "ed25519:SHA256:abc", "SHA256:abc", "", "gitlab:alice@example.com", "GitHub:alice"] {
            assert_eq!(name(other).expect(other), None);
        }
    }

    #[test]
    fn a_malformed_identity_is_refused() {
        for text in [
            "github:",
            "github:-alice",
            "github:a b",
            "github:alice*",
            "github:.*",
            "google:alice",
            "google:alice@",
            "google:@example.com",
            "google:a@b@c",
            "google:<alice@example.com>",
            "github-workflow:alice/kit@refs/heads/main",
            "github-workflow:alice/kit/ci.yml",
            "github-workflow:alice/kit/ci.yml@",
            "github-workflow:alice//ci.yml@main",
            "github-workflow:alice/../ci.yml@main",
            "github-workflow:al ice/kit/ci.yml@main",
            "github-workflow:alice/k?t/ci.yml@main",
            // Workflow files are below `.github/workflows`, and references must be complete.
            "github-workflow:alice/kit/.github/workflows/release.yml@main",
            "github-workflow:alice/kit/.github/workflows/release.yml@v1.*",
            "github-workflow:alice/kit/.github/workflows/release.yml@*",
            "github-workflow:alice/kit/.github/workflows/release.yml@refs/*",
            "github-workflow:alice/kit/.github/workflows/release.yml@refs/tags/",
            "github-workflow:alice/kit/.github/workflows/release.yml@refs/tags/a..b",
            "github-workflow:alice/kit/.github/workflows/release.yml@refs/tags/a:b",
            "github-workflow:alice/kit/.github/workflows/release@refs/tags/*",
            "github-workflow:alice/kit/.github/workflows/.yml@refs/tags/*",
            "github-workflow:alice/kit/.github/workflows/more/release.yml@refs/tags/*",
            "github-workflow:alice/kit/workflows/release.yml@refs/tags/*",
            "github-workflow:alice/kit/.github/workflows/*.yml@refs/tags/*",
            "github-workflow:alice/*/.github/workflows/release.yml@refs/tags/*",
        ] {
            assert_eq!(name(text).expect_err(text).code(), Code::InvalidArgument, "{text}");
        }
    }

    #[test]
    fn a_trusted_workflow_covers_its_references_and_either_case_of_its_repository() {
        let workflow = |rest: &str| format!("github-workflow:{rest}");
        let file = ".github/workflows/release.yml";
        for (trusted, signer, expected) in [
            ("alice/kit/F@refs/tags/*", "alice/kit/F@refs/tags/v1.2.0", true),
            ("alice/kit/F@refs/tags/*", "Alice/Kit/F@refs/tags/a/b", true),
            ("Alice/kit/F@refs/tags/v1.*", "alice/KIT/F@refs/tags/v1.9", true),
            ("alice/kit/F@refs/heads/main", "ALICE/kit/F@refs/heads/main", true),
            ("alice/kit/F@refs/heads/main", "alice/kit/F@refs/heads/Main", false),
            ("alice/kit/F@refs/heads/main", "alice/kit/F@refs/heads/main2", false),
            ("alice/kit/F@refs/tags/*", "alice/kit/F@refs/heads/v1.2.0", false),
            ("alice/kit/F@refs/tags/v1.*", "alice/kit/F@refs/tags/v2.0", false),
            ("alice/kit/F@refs/tags/*", "alice/kit2/F@refs/tags/v1", false),
            ("alice/kit/F@refs/tags/*", "alicek/it/F@refs/tags/v1", false),
            ("alice/kit/F@refs/tags/*", "alice/kit/.github/workflows/Release.yml@refs/tags/v1", false),
        ] {
            let [trusted, signer] = [trusted, signer].map(|text| workflow(&text.replace('F', file)));
            assert_eq!(covers(&trusted, &signer), expected, "{trusted} {signer}");
            assert_eq!(name(&trusted).expect("a pattern"), Some(trusted));
        }
        assert!(covers("github:alice", "github:alice"));
        // Only the Git reference of a workflow can be a pattern.
        for trusted in
            ["github:*", "*", "google:alice", "github:Alice", &workflow("alice/kit/.github/workflows/release.yml@*")]
        {
            assert!(!covers(trusted, "github:alice"), "{trusted}");
        }
    }

    #[test]
    fn a_certificate_names_whom_its_issuer_vouches_for() {
        let none = FulcioCiClaims::default();
        for (san, issuer, expected) in [
            (mail("alice@example.com"), "https://accounts.google.com", "google:alice@example.com"),
            (mail("alice@example.com"), "https://github.com/login/oauth", "github:alice@example.com"),
            (mail("7+alice@users.noreply.github.com"), "https://github.com/login/oauth", "github:alice"),
            (mail("alice@example.com"), "https://login.microsoftonline.com", "microsoft:alice@example.com"),
        ] {
            assert_eq!(of_certificate(&san, issuer, &none).as_deref(), Ok(expected));
        }
        let san = uri(&format!("https://github.com/{FILE}"));
        assert_eq!(of_certificate(&san, WORKFLOWS, &ran_for("alice/kit")), Ok(format!("github-workflow:{FILE}")));
        let mut old = FulcioCiClaims::default();
        old.deprecated_github.workflow_repository = Some("alice/kit".to_owned());
        assert_eq!(of_certificate(&san, WORKFLOWS, &old), Ok(format!("github-workflow:{FILE}")));
    }

    /// A check that only searches for a known name or issuer would accept many of these.
    #[test]
    fn x8_a_certificate_that_only_looks_like_somebodys_is_nobodys() {
        let (google, github) = ("https://accounts.google.com", "https://github.com/login/oauth");
        for (san, issuer) in [
            // Names of a different kind than the issuer uses.
            (uri("alice@example.com"), google),
            (uri("mailto:alice@example.com"), google),
            (mail(&format!("https://github.com/{FILE}")), WORKFLOWS),
            (mail("alice@example.com"), WORKFLOWS),
            (uri(&format!("https://github.com/{FILE}")), github),
            // Issuers that only resemble a known issuer.
            (mail("alice@example.com"), "https://accounts.google.com.example.com"),
            (mail("alice@example.com"), "https://accounts.google.com/"),
            (mail("alice@example.com"), "http://accounts.google.com"),
            (mail("alice@example.com"), "https://example.com/?https://accounts.google.com"),
            (mail("alice@example.com"), "HTTPS://ACCOUNTS.GOOGLE.COM"),
            (mail("alice@example.com"), ""),
            // Names with extra characters.
            (mail("alice@example.com@example.org"), google),
            (mail("eve@example.org,alice@example.com"), google),
            (mail("alice@example.com\n"), google),
            (mail("alice@example.com\0.example.org"), google),
            (mail("alice"), github),
            (mail(""), google),
            // Workflows at other URLs.
            (uri(&format!("https://github.com.example.com/{FILE}")), WORKFLOWS),
            (uri(&format!("http://github.com/{FILE}")), WORKFLOWS),
            (uri(&format!("https://example.com/https://github.com/{FILE}")), WORKFLOWS),
            (uri("https://github.com/alice/kit/../../eve/kit/ci.yml@refs/heads/main"), WORKFLOWS),
        ] {
            assert!(of_certificate(&san, issuer, &ran_for("alice/kit")).is_err(), "{san:?} {issuer}");
        }
        // The same address from two issuers gives two identities.
        let none = FulcioCiClaims::default();
        let by = |issuer| of_certificate(&mail("7+alice@users.noreply.github.com"), issuer, &none).expect("a name");
        assert_ne!(by(google), by(github));
        // An address that only resembles a private GitHub address does not give a user name.
        let near = of_certificate(&mail("alice@users.noreply.github.com.example.org"), github, &none);
        assert_eq!(near.as_deref(), Ok("github:alice@users.noreply.github.com.example.org"));
        let odd = of_certificate(&mail("eve+alice@users.noreply.github.com"), github, &none);
        assert_eq!(odd.as_deref(), Ok("github:eve+alice@users.noreply.github.com"));
    }

    #[test]
    fn x8_a_workflow_that_somebody_else_calls_is_not_its_owners() {
        let san = uri(&format!("https://github.com/{FILE}"));
        for claims in [ran_for("eve/kit"), ran_for("alice/kit2"), ran_for("alice/kit/more"), FulcioCiClaims::default()]
        {
            assert!(of_certificate(&san, WORKFLOWS, &claims).is_err());
        }
        let mut elsewhere = ran_for("alice/kit");
        elsewhere.source_repository_uri = Some("https://example.com/alice/kit".to_owned());
        elsewhere.deprecated_github.workflow_repository = Some("alice/kit".to_owned());
        assert!(of_certificate(&san, WORKFLOWS, &elsewhere).is_err());
    }
}
