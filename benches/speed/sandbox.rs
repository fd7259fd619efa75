//! Implements the references for installed tools: a plain loop that starts bubblewrap, and one that hashes archives and
//! checks signatures.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ed25519_dalek::{Signature, VerifyingKey};
use mcpkg_base::process::cgroup::{Cgroup, Together};
use mcpkg_base::process::starter::{self, Ceilings, Ended, Meeting, Output, Request, Within};
use mcpkg_base::process::{Environment, Limits};
use mcpkg_core::op::Context;
use mcpkg_registry::run::mount::{OUTPUT, WORKSPACE};
use mcpkg_registry::trust::{self, Status, Subject, dsse};
use mcpkg_store::Store;
use mcpkg_store::projects::Selection;
use mcpkg_store::tools::{attestations, packages};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};
use tokio_util::sync::CancellationToken;

use crate::installed;

/// The number of packages to verify.
const PACKAGES: usize = 100;

/// In a plan, this text stands for the folder with the tool's files.
const OF_TOOL: &str = "the tool's archive";

/// Runs `true` in bubblewrap for each input line, and then answers the line. The command for bubblewrap comes from
/// `plan`, the output of `mcpkg tool run --dry-run`. As in mcpkg, the mcpkg program inside the sandbox sets the limits.
/// `tree` is the folder with the tool's files.
pub fn run(plan: &Path, tree: &Path) {
    let plan: Json = serde_json::from_slice(&std::fs::read(plan).expect("a plan")).expect("JSON");
    let runner = &plan["runners"].as_array().expect("runners").iter().find(|runner| runner["works"] == true);
    let command = runner.expect("a runner that works")["command"].as_array().expect("a command").iter();
    let words: Vec<String> = command
        .map(|word| match word.as_str().expect("a word") {
            OF_TOOL => tree.to_str().expect("a readable name").to_owned(),
            word => word.to_owned(),
        })
        .collect();
    // By default, the starter is the current program. The benchmark program cannot act as the starter, so use mcpkg.
    starter::set_program(installed::mcpkg().into());
    let limits = mcpkg_registry::run::Limits::default();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let token = CancellationToken::new();
    for line in io::stdin().lock().lines() {
        line.expect("a line");
        let group = Cgroup::new(Together {
            memory: limits.memory + 2 * limits.scratch + (16 << 20),
            processes: limits.processes + 4,
        });
        let program = starter::within(group.as_ref(), &words[0]).expect("a program");
        let program = program
            .args(&words[1..])
            .environment(Environment::Exactly(BTreeMap::from([("PATH".into(), path.clone())])))
            .asks_below();
        let request = Request {
            argv: vec!["true".to_owned()],
            variables: BTreeMap::from([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]),
            folder: WORKSPACE.to_owned(),
            ceilings: Ceilings {
                cpu: limits.cpu_seconds(),
                data: limits.memory,
                addressed: limits.addressed(),
                processes: limits.processes,
                files: limits.files,
                file_size: limits.file_size,
            },
            output: Some(Output { folder: OUTPUT.to_owned(), files: 64, bytes: 16 << 20, links: false }),
            copied: None,
            within: Within::Sandbox,
        };
        let limits = Limits::new(Duration::from_secs(60), &token);
        let finished = starter::run(program, request, &Meeting::Stdin, None, &limits).expect("the sandbox runs");
        assert_eq!(finished.ended, Some(Ended::Exited(0)), "{}", finished.stderr.text());
        let mut output = io::stdout().lock();
        output.write_all(b"{}\n").and_then(|()| output.flush()).expect("the answer is taken");
    }
}

/// Returns each package with the signed bundle for it.
fn packages(store: &Store) -> Vec<(Subject, String)> {
    let read = store.read(|db| {
        (0..PACKAGES)
            .map(|n| {
                let name = format!("bench/signed-{n:03}");
                let row = packages::get(db, "local", &name, "1.0.0")?.expect("a package");
                let bundle = attestations::of(db, &row.release.sha256)?.remove(0).bundle;
                Ok((Subject { name, version: "1.0.0".to_owned(), sha256: row.release.sha256 }, bundle))
            })
            .collect()
    });
    read.expect("the packages can be read")
}

/// Verifies each package of a database once, and prints how many nanoseconds that took. Like `tool doctor` and `tool list`, it
/// reads the user's trusted keys only once.
pub fn verify(database: &Path) {
    let context =
        Context::shell(mcpkg::DOMAINS, Store::open(database).expect("the database opens"), Selection::default());
    let subjects = packages(&context.store);
    let start = Instant::now();
    let verified = context.store.read(|db| {
        let rules = trust::rules(db, &context)?;
        for (subject, _) in &subjects {
            let row = packages::with_digest(db, &subject.sha256)?.expect("a package");
            packages::archive(db, &row)?.expect("an archive");
            assert_eq!(trust::judge_by(&rules, db, &context, subject)?.status, Status::Verified);
        }
        Ok(())
    });
    verified.expect("each is verified");
    println!("{}", start.elapsed().as_nanos());
}

/// Hashes the archive of each package of a database and checks its signature, and prints how many nanoseconds that
/// took. Everything is in memory before the measurement begins.
pub fn check(database: &Path) {
    let store = Store::open(database).expect("the database opens");
    let ready: Vec<_> = packages(&store)
        .into_iter()
        .map(|(subject, bundle)| {
            let bytes = store.read(|db| {
                let row = packages::with_digest(db, &subject.sha256)?.expect("a package");
                packages::archive(db, &row)
            });
            let bundle: Json = serde_json::from_str(&bundle).expect("JSON");
            let decode = |value: &Json| STANDARD.decode(value.as_str().expect("a text")).expect("base64");
            let signed = &bundle["signatures"][0];
            let line = signed["publicKey"].as_str().expect("a key").split(' ').nth(1).expect("a key").to_owned();
            // In OpenSSH's format, the last 32 bytes of the key are the public key itself.
            let key = STANDARD.decode(line).expect("base64");
            let key = VerifyingKey::try_from(&key[key.len() - 32..]).expect("a key");
            let signature = Signature::from_slice(&decode(&signed["sig"])).expect("a signature");
            let over = dsse::pre_authentication(dsse::STATEMENT, &decode(&bundle["payload"]));
            (
                bytes.expect("read").expect("an archive").bytes().expect("its bytes").into_owned(),
                subject.sha256,
                key,
                signature,
                over,
            )
        })
        .collect();
    let start = Instant::now();
    for (bytes, sha256, key, signature, over) in &ready {
        assert_eq!(Sha256::digest(bytes)[..], *sha256);
        key.verify_strict(over, signature).expect("a good signature");
    }
    println!("{}", start.elapsed().as_nanos());
}
