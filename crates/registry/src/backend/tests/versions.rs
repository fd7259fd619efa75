//! Tests how a version is chosen, and that a changed digest is refused.

use super::*;

#[test]
fn this_database_and_a_folder_behave_alike_as_registries() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        assert!(ground.publish(registry, "a/one@1.0.0", b"1").unwrap());
        assert!(!ground.publish(registry, "a/one@1.0.0", b"1").unwrap(), "it is there already");
        let error = ground.publish(registry, "a/one@1.0.0", b"2").unwrap_err();
        assert_eq!(error.code(), Code::AlreadyExists, "{registry}");
        assert!(ground.publish(registry, "a/one@1.1.0-rc.1", b"3").unwrap());
        let backend = ground.open(registry);
        let name = Name::parse("a/one").unwrap();
        let info = backend.info(&name).unwrap();
        let versions: Vec<String> = info.versions.iter().map(|listed| listed.version.to_string()).collect();
        assert_eq!(
            (versions, info.description.as_str()),
            (vec!["1.1.0-rc.1".to_owned(), "1.0.0".to_owned()], "Does a/one things")
        );
        let version = backend.version(&name, &Version::new(1, 0, 0)).unwrap();
        assert_eq!((version.sha256, version.size, version.published_at), (sha256::of(b"1"), 1, 1_700_000_000_000));
        assert_eq!(backend.archive(&version).unwrap(), b"1".to_vec().into());
        assert_eq!(backend.attestations(&version).unwrap(), ["{\"a\":1}"]);
        backend.attest(&version, "{\"b\":2}").unwrap();
        backend.attest(&version, "{\"b\":2}").unwrap();
        assert_eq!(backend.attestations(&version).unwrap().len(), 2);
        let missing = backend.version(&name, &Version::new(7, 0, 0)).unwrap_err();
        assert_eq!(missing.code(), Code::VersionNotFound);
        assert!(missing.hints()[0].contains("1.1.0-rc.1, 1.0.0"), "{:?}", missing.hints());
        assert_eq!(backend.info(&Name::parse("a/none").unwrap()).unwrap_err().code(), Code::ToolNotFound);
    }
}

#[test]
fn x46_x57_the_highest_version_that_is_neither_yanked_nor_a_pre_release_is_chosen() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        let tool = format!("of/{registry}");
        for (version, bytes) in [("1.9.0", b"a"), ("1.10.0", b"b"), ("2.0.0-rc.1", b"c"), ("1.2.0", b"d")] {
            ground.publish(registry, &format!("{tool}@{version}"), bytes).unwrap();
        }
        let resolved = |wanted: &str| ground.resolved(&format!("{tool}{wanted}"));
        assert_eq!(resolved(""), Ok(format!("{registry}:1.10.0")));
        assert_eq!(resolved("@^1.2, <1.10"), Ok(format!("{registry}:1.9.0")));
        assert_eq!(resolved("@1.2.0"), Ok(format!("{registry}:1.2.0")));
        assert_eq!(resolved("@2.0.0-rc.1"), Ok(format!("{registry}:2.0.0-rc.1")));
        assert_eq!(resolved("@^3"), Err(Code::VersionNotFound));
        ground.yank(registry, &format!("{tool}@1.10.0"), true);
        assert_eq!(resolved(""), Ok(format!("{registry}:1.9.0")));
        let error = ground.resolve(&format!("{tool}@1.10.0")).unwrap_err();
        assert_eq!(error.code(), Code::VersionYanked);
        assert_eq!(error.details().unwrap()["replacement"], "9.0.0");
        let choice = Choice { allow_yanked: true, pre: true, ..Choice::default() };
        let taken = |text: &str| resolve(&ground.context, &Reference::parse(text).unwrap(), choice).unwrap().version;
        assert!(taken(&format!("{tool}@1.10.0")).yank.is_some());
        assert_eq!(taken(&tool).version.to_string(), "2.0.0-rc.1");
    }
}

#[test]
fn a_known_yank_is_remembered_except_in_the_local_registry() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        let tool = format!("of/{registry}@1.0.0");
        ground.publish(registry, &tool, b"a").unwrap();
        ground.yank(registry, &tool, true);
        let choice = Choice { allow_yanked: true, ..Choice::default() };
        let seen = resolve(&ground.context, &Reference::parse(&tool).unwrap(), choice).unwrap();
        assert!(seen.version.yank.is_some());
        ground.yank(registry, &tool, false);
    }
    assert_eq!(ground.resolved("of/local@1.0.0"), Ok("local:1.0.0".to_owned()));
    assert_eq!(ground.resolved("of/team@1.0.0"), Err(Code::VersionYanked));
    assert_eq!(ground.resolved("of/team"), Err(Code::VersionNotFound));
}

#[test]
fn a_digest_that_was_seen_never_changes() {
    let ground = Ground::new();
    let path = ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"good").unwrap();
    assert_eq!(ground.resolved("a/one"), Ok("team:1.0.0".to_owned()));
    let package = path.join("tools/a/one/1.0.0/package.json");
    let text = std::fs::read_to_string(&package).unwrap();
    let (good, evil) = (sha256::hex(b"good"), sha256::hex(b"evil"));
    std::fs::write(&package, text.replace(&good, &evil)).unwrap();
    std::fs::write(path.join("tools/a/one/1.0.0/bundle.tar.gz"), b"evil").unwrap();
    let error = ground.resolve("a/one").unwrap_err();
    assert_eq!(error.code(), Code::DigestChanged);
    assert_eq!(
        (&error.details().unwrap()["expected"], &error.details().unwrap()["actual"]),
        (&json!(good), &json!(evil))
    );
    // A read-only store also refuses the changed digest.
    let reading = Context { store: ground.context.store.reading(), ..ground.context.clone() };
    let reference = Reference::parse("a/one").unwrap();
    assert_eq!(resolve(&reading, &reference, Choice::default()).unwrap_err().code(), Code::DigestChanged);
    // Removing the registry does not clear the recorded digest.
    let row = ground.context.store.read(|db| registries::get(db, "team")).unwrap();
    ground.context.store.write(|db| registries::delete(db, row.id)).unwrap();
    ground.add("team", Kind::Directory, path.to_str().unwrap(), None);
    assert_eq!(ground.resolved("a/one@1.0.0"), Err(Code::DigestChanged));
}

#[test]
fn an_archive_is_compared_with_its_digest_and_its_claims_are_kept() {
    let ground = Ground::new();
    let path = ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"good").unwrap();
    let resolved = ground.resolve("a/one").unwrap();
    let bundle = path.join("tools/a/one/1.0.0/bundle.tar.gz");
    std::fs::write(&bundle, b"evil").unwrap();
    let error = download(&ground.context, &resolved).unwrap_err();
    assert_eq!(error.code(), Code::DigestMismatch, "{error}");
    std::fs::write(&bundle, b"good").unwrap();
    let good = download(&ground.context, &resolved).unwrap();
    assert_eq!(&*good.bytes().unwrap(), b"good");
    // An attestation that was seen once stays, even if the registry deletes it.
    std::fs::remove_dir_all(path.join("tools/a/one/1.0.0/attestations")).unwrap();
    download(&ground.context, &resolved).unwrap();
    assert_eq!(ground.claims(&resolved), ["{\"a\":1}"]);
    std::fs::remove_file(&bundle).unwrap();
    assert_eq!(download(&ground.context, &resolved).unwrap_err().code(), Code::RegistryAnswer);
}
