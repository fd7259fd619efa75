//! Tests reading the files of a folder registry.

use super::*;

#[test]
fn an_index_is_made_from_the_files_and_used_only_for_searches() {
    let ground = Ground::new();
    let path = ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"1").unwrap();
    ground.publish("team", "a/one/deep/er@1.0.0", b"2").unwrap();
    assert_eq!(ground.found("", &[], 10).1, 2);
    // Copy a version into the folder by hand.
    let (from, to) = (path.join("tools/a/one/1.0.0"), path.join("tools/b/two/3.0.0"));
    std::fs::create_dir_all(&to).unwrap();
    for file in ["bundle.tar.gz", "manifest.json"] {
        std::fs::copy(from.join(file), to.join(file)).unwrap();
    }
    let package = std::fs::read_to_string(from.join("package.json")).unwrap();
    let package = package.replace("a/one", "b/two").replace("1.0.0", "3.0.0");
    std::fs::write(to.join("package.json"), package).unwrap();
    assert_eq!(ground.found("", &[], 10).1, 2);
    assert_eq!(Directory::new(&ground.context, "team", &path).index().unwrap(), 3);
    assert_eq!(ground.found("", &[], 10).1, 3);
    // Searches find a made-up entry in the index.
    let index = std::fs::read_to_string(path.join("index.json")).unwrap().replace("b/two", "b/evil");
    std::fs::write(path.join("index.json"), index).unwrap();
    assert_eq!(ground.found("evil", &[], 10).1, 1);
    // The tool of this entry cannot be resolved.
    assert_eq!(ground.resolved("b/evil"), Err(Code::ToolNotFound));
    assert_eq!(ground.resolved("b/two"), Ok("team:3.0.0".to_owned()));
    std::fs::remove_file(path.join("index.json")).unwrap();
    ground.publish("team", "a/three@1.0.0", b"5").unwrap();
    assert_eq!(ground.found("", &[], 10).1, 4, "publishing makes a lost index again");
}

#[cfg(unix)]
#[test]
fn x60_nothing_but_regular_files_below_the_root_is_read() {
    use std::os::unix::fs::symlink;
    let ground = Ground::new();
    let path = ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"1").unwrap();
    let secret = ground.folder.path().join("secret");
    std::fs::create_dir_all(secret.join("1.0.0")).unwrap();
    std::fs::copy(path.join("tools/a/one/1.0.0/package.json"), secret.join("1.0.0/package.json")).unwrap();
    symlink(&secret, path.join("tools/a/linked")).unwrap();
    let name = Name::parse("a/linked").unwrap();
    assert_eq!(ground.open("team").info(&name).unwrap_err().code(), Code::InvalidPath);
    let bundle = path.join("tools/a/one/1.0.0/bundle.tar.gz");
    std::fs::remove_file(&bundle).unwrap();
    symlink(secret.join("1.0.0/package.json"), &bundle).unwrap();
    let resolved = ground.resolve("a/one").unwrap();
    let error = download(&ground.context, &resolved).unwrap_err();
    assert!(error.message().contains("not a regular file"), "{error}");
    std::fs::remove_file(&bundle).unwrap();
    rustix::fs::mknodat(
        rustix::fs::CWD,
        &bundle,
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::from_raw_mode(0o600),
        0,
    )
    .unwrap();
    let error = download(&ground.context, &resolved).unwrap_err();
    assert!(error.message().contains("not a regular file"), "{error}");
    std::fs::remove_file(&bundle).unwrap();
    std::fs::File::create(&bundle).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(download(&ground.context, &resolved).unwrap_err().code(), Code::RegistryAnswer);
}

#[test]
fn remains_of_a_killed_publish_are_invisible_and_removed() {
    let ground = Ground::new();
    let path = ground.directory("team");
    let left = path.join("tools/.publishing-0123/attestations");
    std::fs::create_dir_all(&left).unwrap();
    std::fs::write(path.join("tools/.publishing-0123/bundle.tar.gz"), "half").unwrap();
    assert_eq!(Directory::new(&ground.context, "team", &path).index().unwrap(), 0);
    ground.publish("team", "a/one@1.0.0", b"1").unwrap();
    assert!(!left.exists());
    assert_eq!(ground.found("", &[], 10).1, 1);
}
