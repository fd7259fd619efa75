//! Shared code of `mcpkg tool sign` and `mcpkg tool audit`.

use std::path::{Path, PathBuf};

use schemars::JsonSchema;
use semver::Version;
use serde::Deserialize;
use serde_json::json;

use super::key::KEYS;
use crate::backend::known::Known;
use crate::package::Name;
use crate::trust::bundle::{Bundle, LONGEST};
use crate::trust::identity::Identity;
use crate::trust::sigstore::Root;
use crate::trust::statement::{self, About, Assertion, Says, Statement};
use crate::trust::subject::Subject;
use crate::trust::target::{SignableArchive, Target};
use crate::trust::verdict::Form;
use crate::trust::{keys, ssh};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::hex;
use mcpkg_core::op::{Body, Context, Names, Reply};
use mcpkg_store::tools::attestations;
use mcpkg_store::tools::registries;

/// The registries, for shell completion.
const REGISTRIES: Names = Names::Stored(|typed| {
    let rows = registries::list(typed.db)?;
    Ok(typed.matching(rows.into_iter().map(|row| row.place.name)))
});

/// The arguments for signing: what to sign, with which key, and what to do with the signature.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub(super) struct Signing {
    #[command(flatten)]
    #[serde(flatten)]
    target: Target,
    /// Key to sign with: a key name or an OpenSSH file [default: your only key, or the key `default`]
    #[arg(long, add = KEYS, conflicts_with = "with")]
    key: Option<String>,
    /// Print the unsigned statement, which you can sign with `ssh-keygen -Y sign -n mcpkg-tool -f KEY FILE`
    #[arg(long, conflicts_with_all = ["with", "key"])]
    #[serde(default)]
    print: bool,
    /// Also send the signature to this registry, which must already have exactly this archive
    #[arg(long, value_name = "REGISTRY", add = REGISTRIES, conflicts_with = "print")]
    to: Option<String>,
    /// Store a signature made elsewhere: either the file from --print with ssh-keygen's FILE.sig next to it, or a Sigstore bundle
    #[arg(long, value_name = "FILE")]
    with: Option<PathBuf>,
}

impl Signing {
    /// Returns the user's input, for the audit trail.
    pub(super) fn name(&self) -> String {
        self.target.name()
    }

    /// Signs a statement, or reads one that was signed elsewhere, and stores it. With `--print`, only returns the
    /// unsigned statement. `kind` is the name of the event.
    pub(super) fn run(self, context: &Context, kind: &str, says: Option<&Says>) -> Result<Reply> {
        let SignableArchive { subject, manifest } = self.target.open(context)?;
        let signed = match (&self.with, says) {
            (Some(path), says) => taken_over(context, path, &subject, kind == "tool.audit", says)?,
            (None, Some(says)) if self.print => {
                let statement = statement::write(&subject, manifest, says, None, context.clock.now());
                let data = json!({ "tool": subject.name, "version": subject.version, "statement": statement });
                return Ok(Reply::new(Body::Text(format!("{statement}\n")), data));
            }
            (None, Some(says)) => {
                let key = keys::choose(self.key.as_deref())?;
                let form = if key.protection() == "open" { "dsse" } else { "ssh" };
                if matches!(says, Says::Made)
                    && let Some(bundle) = signed_before(context, &subject, &key.identity, form)?
                {
                    return self.finish(context, kind, &subject, (bundle, key.identity, form));
                }
                let statement = statement::write(&subject, manifest, says, Some(&key.identity), context.clock.now());
                let bundle = key.sign(context, &statement)?;
                (bundle, key.identity, form)
            }
            (None, None) => {
                return Err(Error::new(Code::InvalidArgument, "The audit needs a result")
                    .hint("pass `--result passed`, `--result passed-with-warnings` or `--result failed`"));
            }
        };
        self.finish(context, kind, &subject, signed)
    }

    /// Stores an attestation, and posts it to a registry if requested.
    fn finish(
        &self,
        context: &Context,
        kind: &str,
        subject: &Subject,
        (bundle, identity, form): (String, Identity, &'static str),
    ) -> Result<Reply> {
        let author = context.author();
        let added = context.store.write(|db| {
            let added = attestations::insert(db, &subject.sha256, &bundle, None, author.now)?;
            if added {
                context.event(db, author, None, kind, &subject.reference())?;
            }
            Ok(added)
        })?;
        if let Some(registry) = &self.to {
            send(context, registry, subject, &bundle)?;
        }
        let done = if added { "Signed" } else { "Already signed" };
        let what = if kind == "tool.audit" { "an audit of " } else { "" };
        let there = self.to.as_ref().map(|registry| format!(", also in registry '{registry}'")).unwrap_or_default();
        let sentence = format!("{done} {what}{} as {identity}{there}", subject.reference());
        let data = json!({
            "tool": subject.name,
            "version": subject.version,
            "sha256": subject.digest(),
            "identity": identity.as_str(),
            "kind": form,
            "added": added,
            "registry": self.to,
            "bundle": bundle,
        });
        Ok(Reply::sentence(sentence, data))
    }
}

/// Returns an existing signature by this identity on this archive, if it has the given form. Signing again would only
/// add another date.
fn signed_before(context: &Context, subject: &Subject, identity: &Identity, form: &str) -> Result<Option<String>> {
    let root = Root::of_user(&context.approved)?;
    let stored = context.store.read(|db| attestations::of(db, &subject.sha256))?;
    let mut bundles = stored.into_iter().map(|attestation| attestation.bundle);
    Ok(bundles.find(|text| {
        let bundle = Bundle::read(text, &root);
        let signed = bundle.signers.iter().flatten().any(|signer| signer == identity);
        let says_so = |said: &Statement| {
            said.about(subject) == About::This
                && said.predicate_names(subject)
                && matches!(said.assertion(), Assertion::Made)
        };
        bundle.form.word() == form && signed && bundle.statement.as_ref().is_ok_and(says_so)
    }))
}

/// Posts an attestation to a registry, if the registry has the same archive.
fn send(context: &Context, registry: &str, subject: &Subject, bundle: &str) -> Result<()> {
    let odd = |error| Error::internal("an archive has an invalid version").with_source(error);
    let (name, version) = (Name::parse(&subject.name)?, Version::parse(&subject.version).map_err(odd)?);
    let backend = Known::named(context, registry)?.open(context)?;
    let there = backend.version(&name, &version)?;
    if there.sha256 == subject.sha256 {
        return backend.attest(&there, bundle);
    }
    let why = format!("Registry '{registry}' has a different archive of {name}@{version} than the one you signed");
    Err(Error::new(Code::DigestMismatch, why)
        .with_details(
            json!({ "registry": registry, "expected": subject.digest(), "actual": hex::encode(&there.sha256) }),
        )
        .hint("the signature is stored only in this database"))
}

/// Reads an attestation that was signed elsewhere. It must be about this archive and say what the user asked for.
fn taken_over(
    context: &Context,
    path: &Path,
    subject: &Subject,
    is_audit: bool,
    says: Option<&Says>,
) -> Result<(String, Identity, &'static str)> {
    let path = if path.extension().is_some_and(|extension| extension == "sig") {
        path.with_extension("")
    } else {
        path.to_owned()
    };
    let odd = |why: String| {
        Error::new(Code::TrustFailed, format!("Did not store `{}`: {why}", path.display())).hint(
            "print the statement to a file with `--print`, sign that file with ssh-keygen, and pass it with `--with`",
        )
    };
    let (text, mut bundle) = signed_elsewhere(context, &path)?;
    let identity = bundle.signers.remove(0).map_err(odd)?;
    let statement = bundle.statement.map_err(odd)?;
    if statement.about(subject) != About::This || !statement.predicate_names(subject) {
        return Err(odd(format!("the statement is not about this archive of {}", subject.reference())));
    }
    match (statement.assertion(), says) {
        (Assertion::Made, _) if !is_audit => {}
        (Assertion::Audited(_), None) if is_audit => {}
        (Assertion::Audited(found), Some(Says::Audited(audit))) if found == audit.outcome => {}
        _ => return Err(odd("the statement differs from the one you asked to sign".to_owned())),
    }
    Ok((text, identity, bundle.form.word()))
}

/// Reads a Sigstore bundle, or a statement with the `ssh-keygen` signature next to it. Returns it as the text that
/// mcpkg stores, and parsed.
fn signed_elsewhere(context: &Context, path: &Path) -> Result<(String, Bundle)> {
    let read = |path: &Path| file::read_text(path, LONGEST as u64).map_err(|error| disk::failed("read", path, error));
    let (text, root) = (read(path)?, Root::of_user(&context.approved)?);
    let bundle = Bundle::read(&text, &root);
    if bundle.form == Form::Sigstore {
        return Ok((text, bundle));
    }
    let mut signature = path.to_owned().into_os_string();
    signature.push(".sig");
    let text = ssh::bundle(text.as_bytes(), &read(Path::new(&signature))?);
    let bundle = Bundle::read(&text, &root);
    Ok((text, bundle))
}
