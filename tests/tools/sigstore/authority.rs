//! Provides our own instance of Sigstore: a certificate authority, a certificate log and a signature log.
//!
//! It makes bundles in the same way as the public instance, for version 1 of the log. The code that checks public
//! bundles can thus be tested with our own statements.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mcpkg_base::sha256;
use mcpkg_registry::trust::bundle::Bundle;
use mcpkg_registry::trust::dsse;
use mcpkg_registry::trust::sigstore::{Replaced, Root};
use rcgen::{
    BasicConstraints, CertificateParams, CustomExtension, DistinguishedName, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData as _, SanType, SigningKey as _, date_time_ymd,
};
use serde_json::{Value, json};

/// The first second of 2026. All times in this file are relative to it.
const EPOCH: i64 = 1_767_225_600;

/// The lifetime of a certificate in seconds.
pub const LIFE: i64 = 600;

pub const GITHUB: &str = "https://github.com/login/oauth";
pub const GOOGLE: &str = "https://accounts.google.com";
pub const WORKFLOWS: &str = "https://token.actions.githubusercontent.com";

/// The name in a certificate.
#[derive(Clone, Copy)]
pub enum Name {
    Mail(&'static str),
    Uri(&'static str),
}

/// The description of a bundle to make.
#[derive(Clone, Copy)]
pub struct Order<'a> {
    pub statement: &'a str,
    pub names: &'a [Name],
    pub issuer: &'a str,
    /// The repository of a workflow.
    pub repository: Option<&'a str>,
    /// The time when the signature was logged, in seconds after the certificate's start.
    pub logged: i64,
    /// Whether the certificate log contains the certificate.
    pub is_listed: bool,
}

impl<'a> Order<'a> {
    /// Returns the order for a bundle in which alice at GitHub signs a statement.
    pub fn by_alice(statement: &'a str) -> Self {
        Self {
            statement,
            names: &[Name::Mail("7+Alice@users.noreply.github.com")],
            issuer: GITHUB,
            repository: None,
            logged: 60,
            is_listed: true,
        }
    }
}

pub struct Authority {
    params: CertificateParams,
    key: KeyPair,
    certificate: Vec<u8>,
    certificates_log: KeyPair,
    log: KeyPair,
}

impl Authority {
    pub fn new() -> Self {
        let [key, certificates_log, log] = [(); 3].map(|()| KeyPair::generate().expect("a key"));
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        let certificate = params.self_signed(&key).expect("a certificate").der().to_vec();
        Self { params, key, certificate, certificates_log, log }
    }

    /// Returns the text of a root that trusts this instance from this second on.
    pub fn root_from(&self, from: i64) -> String {
        let valid = json!({ "start": time(from) });
        let log = |key: &KeyPair, place: &str| {
            let public = key.subject_public_key_info();
            json!({
                "baseUrl": place,
                "hashAlgorithm": "SHA2_256",
                "publicKey": { "rawBytes": STANDARD.encode(&public), "keyDetails": "PKIX_ECDSA_P256_SHA_256", "validFor": valid },
                "logId": { "keyId": STANDARD.encode(sha256::of(&public)) },
            })
        };
        let root = json!({
            "mediaType": "application/vnd.dev.sigstore.trustedroot+json;version=0.1",
            "tlogs": [log(&self.log, "https://log.example.com")],
            "certificateAuthorities": [{
                "subject": { "organization": "example.com", "commonName": "example" },
                "uri": "https://certificates.example.com",
                "certChain": { "certificates": [{ "rawBytes": STANDARD.encode(&self.certificate) }] },
                "validFor": valid,
            }],
            "ctlogs": [log(&self.certificates_log, "https://listed.example.com")],
            "timestampAuthorities": [],
        });
        root.to_string()
    }

    /// Returns the text of a root that trusts this instance.
    pub fn root_text(&self) -> String {
        self.root_from(0)
    }

    /// Returns a root that trusts this instance.
    pub fn root(&self) -> Root {
        Root::Replaced(Arc::new(Replaced { text: self.root_text(), since: 0 }))
    }

    /// Checks a bundle against this instance.
    pub fn read(&self, bundle: &Value) -> Bundle {
        Bundle::read(&bundle.to_string(), &self.root())
    }

    /// Makes a bundle.
    pub fn bundle(&self, order: &Order<'_>) -> Value {
        let key = KeyPair::generate().expect("a key");
        let certificate = self.certificate(order, &key);
        let payload = order.statement.as_bytes();
        let signature = key.sign(&dsse::pre_authentication(dsse::STATEMENT, payload)).expect("a signature");
        let envelope = json!({
            "payload": STANDARD.encode(payload),
            "payloadType": dsse::STATEMENT,
            "signatures": [{ "sig": STANDARD.encode(&signature) }],
        });
        json!({
            "mediaType": "application/vnd.dev.sigstore.bundle.v0.3+json",
            "verificationMaterial": {
                "certificate": { "rawBytes": STANDARD.encode(&certificate) },
                "tlogEntries": [self.logged(&certificate, payload, &signature, &envelope, EPOCH + order.logged)],
            },
            "dsseEnvelope": envelope,
        })
    }

    /// Makes a certificate for a key. If `is_listed` is set, it contains the promise of the certificate log.
    fn certificate(&self, order: &Order<'_>, key: &KeyPair) -> Vec<u8> {
        let issuer = Issuer::from_params(&self.params, &self.key);
        let mut params = CertificateParams::new(Vec::new()).expect("parameters");
        params.distinguished_name = DistinguishedName::new();
        params.serial_number = Some(7.into());
        params.not_before = date_time_ymd(2026, 1, 1);
        params.not_after = params.not_before + Duration::from_secs(LIFE as u64);
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::CodeSigning];
        let text = |text: &str| text.to_owned().try_into().expect("ASCII");
        let san = |name: &Name| match name {
            Name::Mail(mail) => SanType::Rfc822Name(text(mail)),
            Name::Uri(uri) => SanType::URI(text(uri)),
        };
        params.subject_alt_names = order.names.iter().map(san).collect();
        let extension =
            |number: u64, content| CustomExtension::from_oid_content(&[1, 3, 6, 1, 4, 1, 57264, 1, number], content);
        params.custom_extensions.push(extension(8, tlv(0x0c, order.issuer.as_bytes())));
        if let Some(repository) = order.repository {
            let uri = format!("https://github.com/{repository}");
            params.custom_extensions.push(extension(12, tlv(0x0c, uri.as_bytes())));
        }
        let signed = |params: &CertificateParams| params.signed_by(key, &issuer).expect("a certificate").der().to_vec();
        if order.is_listed {
            let promise = self.listed(&signed(&params));
            let number = [1, 3, 6, 1, 4, 1, 11129, 2, 4, 2];
            params.custom_extensions.push(CustomExtension::from_oid_content(&number, tlv(0x04, &promise)));
        }
        signed(&params)
    }

    /// Returns the certificate log's promise for a certificate that does not contain the promise yet (RFC 6962, section
    /// 3.2), as a list of one.
    fn listed(&self, certificate: &[u8]) -> Vec<u8> {
        let inner = content(certificate);
        let body = &inner[..header(inner) + length(inner)];
        let at = ((EPOCH + 1) * 1_000).to_be_bytes();
        let mut data = vec![0, 0];
        data.extend(at);
        data.extend([0, 1]);
        data.extend(sha256::of(self.key.subject_public_key_info()));
        data.extend(&(body.len() as u32).to_be_bytes()[1..]);
        data.extend(body);
        data.extend([0, 0]);
        let signature = self.certificates_log.sign(&data).expect("a signature");
        let mut promise = vec![0];
        promise.extend(sha256::of(self.certificates_log.subject_public_key_info()));
        promise.extend(at);
        promise.extend([0, 0, 4, 3]);
        promise.extend(sized(&signature));
        sized(&sized(&promise))
    }

    /// Returns the log entry of a signature. It is the only entry in the log.
    fn logged(&self, certificate: &[u8], payload: &[u8], signature: &[u8], envelope: &Value, at: i64) -> Value {
        let pem = format!(
            "-----BEGIN CERTIFICATE-----\n{}\n-----END CERTIFICATE-----\n",
            lines(&STANDARD.encode(certificate))
        );
        let sha256 =
            |bytes: &[u8]| json!({ "algorithm": "sha256", "value": mcpkg_base::hex::encode(&sha256::of(bytes)) });
        let body = json!({
            "apiVersion": "0.0.1",
            "kind": "dsse",
            "spec": {
                "envelopeHash": sha256(envelope.to_string().as_bytes()),
                "payloadHash": sha256(payload),
                "signatures": [{ "signature": STANDARD.encode(signature), "verifier": STANDARD.encode(pem) }],
            },
        })
        .to_string();
        let id = sha256::of(self.log.subject_public_key_info());
        // The fields in alphabetical order without spaces: RFC 8785.
        let promised = format!(
            r#"{{"body":"{}","integratedTime":{at},"logID":"{}","logIndex":0}}"#,
            STANDARD.encode(&body),
            mcpkg_base::hex::encode(&id)
        );
        let promise = self.log.sign(promised.as_bytes()).expect("a signature");
        let root = sha256::of([&[0], body.as_bytes()].concat());
        let note = format!("log.example.com - 1\n1\n{}\n", STANDARD.encode(root));
        let signed = [&id[..4], &self.log.sign(note.as_bytes()).expect("a signature")].concat();
        json!({
            "logIndex": "0",
            "logId": { "keyId": STANDARD.encode(id) },
            "kindVersion": { "kind": "dsse", "version": "0.0.1" },
            "integratedTime": at.to_string(),
            "inclusionPromise": { "signedEntryTimestamp": STANDARD.encode(promise) },
            "inclusionProof": {
                "logIndex": "0",
                "rootHash": STANDARD.encode(root),
                "treeSize": "1",
                "hashes": [],
                "checkpoint": { "envelope": format!("{note}\n— log.example.com {}\n", STANDARD.encode(signed)) },
            },
            "canonicalizedBody": STANDARD.encode(&body),
        })
    }
}

fn time(seconds: i64) -> String {
    mcpkg_base::clock::rfc3339((EPOCH + seconds) * 1_000)
}

/// Splits Base64 into lines, as in PEM.
fn lines(text: &str) -> String {
    let lines: Vec<&str> = text.as_bytes().chunks(64).map(|line| std::str::from_utf8(line).expect("ASCII")).collect();
    lines.join("\n")
}

/// Prefixes bytes with their length as two bytes.
fn sized(bytes: &[u8]) -> Vec<u8> {
    let number = u16::try_from(bytes.len()).expect("few").to_be_bytes();
    [&number[..], bytes].concat()
}

/// Encodes a value in DER.
fn tlv(tag: u8, content: &[u8]) -> Vec<u8> {
    let length = match u8::try_from(content.len()) {
        Ok(length @ 0..=127) => vec![length],
        Ok(length) => vec![0x81, length],
        Err(_) => [&[0x82][..], &u16::try_from(content.len()).expect("few").to_be_bytes()].concat(),
    };
    [&[tag][..], &length, content].concat()
}

/// Returns the number of bytes for tag and length of a DER value.
fn header(value: &[u8]) -> usize {
    match value[1] {
        0..=127 => 2,
        longer => 2 + usize::from(longer & 0x7f),
    }
}

/// Returns the length of the content of a DER value.
fn length(value: &[u8]) -> usize {
    match value[1] {
        short @ 0..=127 => usize::from(short),
        _ => value[2..header(value)].iter().fold(0, |length, byte| length << 8 | usize::from(*byte)),
    }
}

/// Returns the content of a DER value.
fn content(value: &[u8]) -> &[u8] {
    &value[header(value)..][..length(value)]
}
