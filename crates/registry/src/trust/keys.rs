//! Signing keys: OpenSSH files with ed25519 keys, in the user's data folder or at a given path. Keys are never
//! stored in a database.

use std::path::{Path, PathBuf};
use std::time::Duration;

use ed25519_dalek::{SigningKey, VerifyingKey};
use etcetera::BaseStrategy;
use ssh_key::private::{Ed25519Keypair, KeypairData};
use ssh_key::{LineEnding, PrivateKey, PublicKey};
use zeroize::Zeroizing;

use super::identity::{self, Identity};
use super::{dsse, ssh};
use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::file;
use mcpkg_base::process::{Environment, Failure, Limits, Program};
use mcpkg_core::op::{Confirmation, Context};

/// The maximum size of a key file in bytes.
const LARGEST: u64 = 64 << 10;

/// The name of the key that signs by default if there are several keys.
const USUAL: &str = "default";

/// The timeout of `ssh-keygen` if it does not ask for a passphrase.
const SIGN: Duration = Duration::from_secs(30);

#[derive(Debug)]
pub struct Key {
    /// The name, for a key in the user's data folder.
    pub name: Option<String>,
    pub path: PathBuf,
    /// The identity of the signer.
    pub identity: Identity,
    /// The public key as an OpenSSH line.
    pub line: String,
    secret: Secret,
}

/// The ways in which a key signs.
#[derive(Debug)]
enum Secret {
    Open(Box<SigningKey>),
    /// `ssh-keygen` signs and asks for the passphrase.
    Locked,
    /// `ssh-keygen` signs through an ssh-agent that holds the key; the file contains only the public key.
    Agent,
}

impl Secret {
    const fn word(&self) -> &'static str {
        match self {
            Secret::Open(_) => "open",
            Secret::Locked => "passphrase",
            Secret::Agent => "agent",
        }
    }
}

/// Returns the folder of the user's keys: `mcpkg/keys` in the data folder.
///
/// # Errors
/// `E_ROOT_REQUIRED` if the user has no home folder.
pub fn folder() -> Result<PathBuf> {
    let strategy = etcetera::base_strategy::choose_native_strategy().map_err(|_| {
        Error::new(Code::RootRequired, "Cannot find your home folder: HOME is not set").hint("set HOME")
    })?;
    Ok(strategy.data_dir().join("mcpkg").join("keys"))
}

/// Creates a key in the user's key folder, which other users cannot read.
///
/// # Errors
/// `E_INVALID_ARGUMENT` for an invalid name, `E_ALREADY_EXISTS` if the user has a key with this name, `E_ROOT_REQUIRED`
/// if the user has no home folder, and the errors of writing files.
pub fn make(name: &str) -> Result<Key> {
    let path = path_of(name)?;
    let folder = folder()?;
    disk::make_private(&folder)?;
    if disk::metadata(&path)?.is_some() {
        return Err(name_taken(name));
    }
    let mut seed = Zeroizing::new([0; 32]);
    getrandom::fill(seed.as_mut())
        .map_err(|error| Error::internal("the system returned no random bytes").with_source(error))?;
    let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&seed));
    let odd = |error: ssh_key::Error| Error::internal("a key cannot be encoded").with_source(error);
    let private = PrivateKey::new(pair, name).map_err(odd)?;
    let text = private.to_openssh(LineEnding::LF).map_err(odd)?;
    write(&path, text.as_bytes(), 0o600).map_err(|error| match error.code() {
        Code::AlreadyExists => name_taken(name),
        _ => error,
    })?;
    let line = private.public_key().to_openssh().map_err(odd)?;
    let public = public_path(&path);
    // A public key may be left from a private key that was deleted. It is useless alone, so it is replaced.
    disk::remove(&public)?;
    write(&public, format!("{line}\n").as_bytes(), 0o644)?;
    disk::sync_folder(&folder);
    load(&path, Some(name))
}

pub fn remove(name: &str) -> Result<()> {
    exists(name)?;
    let path = path_of(name)?;
    disk::remove(&path)?;
    disk::remove(&public_path(&path))?;
    disk::sync_folder(&folder()?);
    Ok(())
}

pub fn exists(name: &str) -> Result<()> {
    match disk::metadata(&path_of(name)?)? {
        Some(_) => Ok(()),
        None => Err(missing(name)),
    }
}

/// Returns the sorted names of the user's keys.
pub fn names() -> Result<Vec<String>> {
    let folder = folder()?;
    let entries = match std::fs::read_dir(&folder) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(|error| disk::failed("read", &folder, error))?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|error| disk::failed("read", &folder, error))?;
        names.extend(entry.file_name().into_string().ok().filter(|name| is_name(name)));
    }
    names.sort_unstable();
    Ok(names)
}

/// Returns the key to sign with: the user's key with this name, or a key file. Without a name, it is the only key, or
/// the key named `default`.
pub fn choose(named: Option<&str>) -> Result<Key> {
    let names = names()?;
    match named {
        Some(name) if names.iter().any(|known| known == name) => load(&path_of(name)?, Some(name)),
        Some(name) if disk::metadata(Path::new(name))?.is_some() => load(Path::new(name), None),
        Some(name) => Err(missing(name)),
        None => match names.as_slice() {
            [] => Err(Error::new(Code::NotFound, "No signing key exists")
                .hint("make a key with `mcpkg tool key new`, or pass an OpenSSH key with `--key FILE`")),
            [only] => load(&path_of(only)?, Some(only)),
            several if several.iter().any(|name| name == USUAL) => load(&path_of(USUAL)?, Some(USUAL)),
            several => Err(Error::new(Code::InvalidArgument, format!("Several keys can sign: {}", several.join(", ")))
                .hint("choose a key with `--key`")),
        },
    }
}

pub fn of_user(name: &str) -> Result<Key> {
    exists(name)?;
    load(&path_of(name)?, Some(name))
}

/// Reads a key file. It contains a private key, or the public half of a key that an ssh-agent holds.
pub fn load(path: &Path, name: Option<&str>) -> Result<Key> {
    let read = |why: std::io::Error| {
        Error::new(Code::KeyInvalid, format!("Cannot use the key `{}`: {why}", path.display())).with_source(why)
    };
    let made = |public: &PublicKey, secret| -> Result<Key> {
        let key = identity::verifying_key(public.key_data())?;
        let line = public
            .to_openssh()
            .map_err(|error| Error::internal("a public key cannot be encoded").with_source(error))?;
        let name = name.map(str::to_owned);
        Ok(Key { name, path: path.to_owned(), identity: Identity::of(&key), line, secret })
    };
    if path.extension().is_some_and(|extension| extension == "pub") {
        let text = file::read_text(path, LARGEST).map_err(read)?;
        let public = PublicKey::from_openssh(text.trim()).map_err(|error| odd(path, error))?;
        return made(&public, Secret::Agent);
    }
    let text = Zeroizing::new(file::read_private(path, LARGEST).map_err(read)?);
    let private = PrivateKey::from_openssh(text.as_bytes()).map_err(|error| odd(path, error))?;
    let secret = match private.key_data() {
        KeypairData::Ed25519(pair) => Secret::Open(Box::new(SigningKey::from_bytes(&pair.private.to_bytes()))),
        KeypairData::Encrypted(_) => Secret::Locked,
        _ => return made(private.public_key(), Secret::Locked),
    };
    made(private.public_key(), secret)
}

/// Returns the public key from a file with a public or a private key.
pub fn public(path: &Path) -> Result<VerifyingKey> {
    let unreadable = |why: std::io::Error| {
        Error::new(Code::KeyInvalid, format!("Cannot use the key `{}`: {why}", path.display())).with_source(why)
    };
    let text = Zeroizing::new(file::read_text(path, LARGEST).map_err(unreadable)?);
    if text.starts_with("-----BEGIN") {
        let private = PrivateKey::from_openssh(text.as_bytes()).map_err(|error| odd(path, error))?;
        return identity::verifying_key(private.public_key().key_data());
    }
    identity::public_key(&text)
}

impl Key {
    /// Returns how the key is protected: `open`, `passphrase` or `agent`.
    pub const fn protection(&self) -> &'static str {
        self.secret.word()
    }

    /// Signs a statement and returns the attestation as text. If the key has a passphrase or is in an ssh-agent,
    /// `ssh-keygen` signs; it also asks for the passphrase.
    ///
    /// # Errors
    /// `E_TERMINAL_REQUIRED` if a passphrase is needed and there is no terminal; `E_KEY_INVALID` if `ssh-keygen` does
    /// not sign with the key; `E_CANCELLED`.
    pub fn sign(&self, context: &Context, statement: &str) -> Result<String> {
        match &self.secret {
            Secret::Open(key) => dsse::sign(statement.as_bytes(), key),
            Secret::Locked if context.confirmation != Confirmation::Ask => {
                let message = format!(
                    "The key `{}` has a passphrase, which cannot be entered without a terminal",
                    self.path.display()
                );
                Err(Error::new(Code::TerminalRequired, message).hint(
                    "run the command at a terminal, or add the key to an ssh-agent and pass its `.pub` file with `--key`",
                ))
            }
            Secret::Locked | Secret::Agent => self.sign_elsewhere(context, statement),
        }
    }

    fn sign_elsewhere(&self, context: &Context, statement: &str) -> Result<String> {
        let folder = tempfile::tempdir().map_err(|error| disk::failed("make", &std::env::temp_dir(), error))?;
        let path = folder.path().join("statement.json");
        std::fs::write(&path, statement).map_err(|error| disk::failed("write", &path, error))?;
        let key = std::path::absolute(&self.path).map_err(|error| disk::failed("read", &self.path, error))?;
        let mut program = Program::new("ssh-keygen").args(["-q", "-Y", "sign", "-n", ssh::NAMESPACE, "-f"]);
        program = program.args([key.as_os_str(), path.as_os_str()]);
        let why = if matches!(self.secret, Secret::Locked) {
            let status = program.environment(Environment::Whole).run_in_terminal();
            let status = status.map_err(|error| refused(&self.path, &format!("it did not start: {error}")))?;
            (!status.success()).then(|| "it exited with an error".to_owned())
        } else {
            let limits = Limits::new(SIGN, &context.cancelled);
            let output =
                program.environment(Environment::Inherited).run(&[], &limits).map_err(|failure| match failure {
                    Failure::Cancelled => Error::new(Code::Cancelled, "Cancelled; nothing was signed"),
                    Failure::TimedOut => refused(&self.path, "it took too long"),
                    Failure::NotStarted(error) | Failure::Lost(error) => refused(&self.path, &error.to_string()),
                })?;
            (!output.status.success()).then(|| output.stderr.text().trim().to_owned())
        };
        if let Some(why) = why {
            return Err(refused(&self.path, &why));
        }
        let signature = folder.path().join("statement.json.sig");
        let signature =
            file::read_text(&signature, LARGEST).map_err(|error| disk::failed("read", &signature, error))?;
        let bundle = ssh::bundle(statement.as_bytes(), &signature);
        match ssh::read(&bundle).map(|signed| signed.signer) {
            Ok(Ok(identity)) if identity == self.identity => Ok(bundle),
            Ok(Ok(_)) => Err(refused(&self.path, "it signed with a different key")),
            Ok(Err(why)) | Err(why) => Err(refused(&self.path, &why)),
        }
    }
}

fn path_of(name: &str) -> Result<PathBuf> {
    if !is_name(name) {
        return Err(Error::new(Code::InvalidArgument, format!("'{}' is not a valid key name", name.escape_debug()))
            .hint("use only letters, digits, hyphens and underscores"));
    }
    Ok(folder()?.join(name))
}

fn is_name(name: &str) -> bool {
    (1..=64).contains(&name.len()) && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_-".contains(&byte))
}

fn public_path(path: &Path) -> PathBuf {
    path.with_extension("pub")
}

fn write(path: &Path, bytes: &[u8], mode: u32) -> Result<()> {
    let temporary = path.with_file_name(format!(".mcpkg-{}", uuid::Uuid::now_v7().simple()));
    disk::write_beside(path, &temporary, bytes, mode)?;
    disk::put_in_place(path, &temporary, true)
}

fn odd(path: &Path, error: ssh_key::Error) -> Error {
    Error::new(Code::KeyInvalid, format!("Cannot use the key `{}`: {error}", path.display()))
        .with_source(error)
        .hint("use an ed25519 key, made with `mcpkg tool key new` or `ssh-keygen -t ed25519`")
}

fn refused(path: &Path, why: &str) -> Error {
    Error::new(Code::KeyInvalid, format!("ssh-keygen did not sign with the key `{}`: {why}", path.display()))
}

fn name_taken(name: &str) -> Error {
    Error::new(Code::AlreadyExists, format!("The key '{name}' already exists"))
        .hint(format!("`mcpkg tool key show {name}` shows the key"))
}

fn missing(name: &str) -> Error {
    let known = names().unwrap_or_default();
    Error::new(Code::NotFound, format!("There is no key '{}'", name.escape_debug())).suggest(
        name,
        known.iter().map(String::as_str),
        "`mcpkg tool key list` lists the keys; `--key` also takes a file",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_name_is_never_a_path() {
        assert!(["default", "a-b_C9"].iter().all(|name| is_name(name)));
        assert!(["", ".", "..", "a/b", "a.pub", "a b", "é", &"a".repeat(65)].iter().all(|name| !is_name(name)));
    }

    #[cfg(unix)]
    #[test]
    fn a_key_that_others_may_read_signs_nothing() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("key");
        let pair = KeypairData::Ed25519(Ed25519Keypair::from_seed(&[7; 32]));
        let text = PrivateKey::new(pair, "").expect("a key").to_openssh(LineEnding::LF).expect("a text");
        std::fs::write(&path, text.as_bytes()).expect("written");
        for (mode, good) in [(0o644, false), (0o640, false), (0o600, true), (0o400, true)] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).expect("a mode");
            assert_eq!(load(&path, None).is_ok(), good, "{mode:o}");
        }
        let key = load(&path, None).expect("a key");
        assert_eq!(key.identity, Identity::of(&public(&path).expect("its public half")));
        for text in ["", "-----BEGIN OPENSSH PRIVATE KEY-----\n", "ssh-ed25519 AAAA"] {
            std::fs::write(&path, text).expect("written");
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).expect("a mode");
            assert_eq!(load(&path, None).expect_err(text).code(), Code::KeyInvalid);
            assert_eq!(public(&path).expect_err(text).code(), Code::KeyInvalid);
        }
    }
}
