use std::fs;
use std::io::Write;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::*;
use mcpkg_base::error::Code;
use mcpkg_base::sha256;

const MANIFEST: &str = "name: a/b\ndescription: x\nversion: 1.0.0\n";

fn open(bytes: Vec<u8>) -> Result<Opened> {
    super::open(bytes.into())
}

/// Creates a folder with a manifest and these files.
fn folder(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, bytes) in [("enact.yaml", MANIFEST.as_bytes())].iter().chain(files) {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
    folder
}

fn gzip(tar: &[u8]) -> Vec<u8> {
    let mut gzip = GzEncoder::new(Vec::new(), Compression::fast());
    gzip.write_all(tar).unwrap();
    gzip.finish().unwrap()
}

/// Builds a tar entry without checking anything, as an attacker would.
fn entry(path: &[u8], kind: u8, content: &[u8]) -> Vec<u8> {
    let mut header = tar::Header::new_gnu();
    header.as_old_mut().name[..path.len()].copy_from_slice(path);
    header.set_entry_type(tar::EntryType::new(kind));
    header.set_mode(0o6755);
    header.set_size(content.len() as u64);
    header.set_cksum();
    let mut bytes = header.as_bytes().to_vec();
    bytes.extend_from_slice(content);
    bytes.resize(bytes.len().next_multiple_of(512), 0);
    bytes
}

/// Builds an archive with a manifest and these entries.
fn archive(entries: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = entry(b"enact.yaml", b'0', MANIFEST.as_bytes());
    tar.extend(entries.iter().flatten());
    tar.extend([0; 1024]);
    gzip(&tar)
}

#[track_caller]
fn assert_refused(bytes: Vec<u8>, rule: &str) {
    let error = open(bytes).expect_err(rule);
    assert_eq!(error.code(), Code::ArchiveInvalid, "{error}");
    assert_eq!(error.details().unwrap()["rule"], rule, "{error}");
}

#[test]
fn x65_the_same_tree_gives_the_same_bytes() {
    let files: [(&str, &[u8]); 3] = [("b/run.sh", b"#!/bin/sh\n"), ("a.txt", b"a"), ("b/a/c", b"")];
    let (first, second) = (folder(&files), folder(&files));
    // Make the two folders differ in times and in modes that do not matter.
    let old = std::time::SystemTime::UNIX_EPOCH + std::time::Duration::from_secs(1);
    fs::File::options().write(true).open(second.path().join("a.txt")).unwrap().set_modified(old).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(first.path().join("a.txt"), fs::Permissions::from_mode(0o600)).unwrap();
        for tree in [&first, &second] {
            fs::set_permissions(tree.path().join("b/run.sh"), fs::Permissions::from_mode(0o700)).unwrap();
        }
    }
    let [first, second] = [first, second].map(|tree| pack(tree.path()).unwrap().opened);
    assert_eq!(first.sha256, second.sha256);
    let paths: Vec<&str> = first.members.iter().map(|member| member.path.as_str()).collect();
    assert_eq!(paths, ["a.txt", "b/a/c", "b/run.sh", "enact.yaml"]);
    assert_eq!(first.members[2].executable, cfg!(unix));
    assert_eq!(first.file("b/run.sh").unwrap().unwrap(), b"#!/bin/sh\n");
    assert_eq!(first.raw_manifest, MANIFEST);
    assert_eq!(first.manifest.reference(), "a/b@1.0.0");
}

#[test]
fn generated_and_secret_files_are_not_packed() {
    let left_out = [
        ".env",
        ".env.local",
        "a.pem",
        "b/c.KEY",
        "d.p12",
        "e.pfx",
        ".git/config",
        ".idea/x",
        "node_modules/x/y",
        "vendor/x",
        "b/__pycache__/x",
        "venv/x",
        "dist/x",
        "build/x",
        "out/x",
        "target/x",
        "a.log",
        ".hidden",
        "ignored.txt",
        "b/secret",
        ".gitignore",
        "b/.gitignore",
        "b/keep.log.bak/x.log",
    ];
    let kept = ["b/build", "a.txt", "log", "b/kept.txt", "b/kept.log", "c/dist/x", "c/.config"];
    let mut files: Vec<(&str, &[u8])> = left_out.iter().chain(&kept).map(|path| (*path, &b"x"[..])).collect();
    for (path, text) in files.iter_mut() {
        match *path {
            ".gitignore" => *text = b"ignored.txt\n*.txt.bak\nb/kept.*\n!.env\n!*.pem\n[bad\n!/c/dist/\n!c/.config\n",
            "b/.gitignore" => *text = b"secret\n!kept.*\n",
            _ => {}
        }
    }
    let packed = pack(folder(&files).path()).unwrap();
    let mut expected: Vec<&str> = kept.iter().copied().chain(["enact.yaml"]).collect();
    expected.sort_unstable();
    let found: Vec<&str> = packed.opened.members.iter().map(|member| member.path.as_str()).collect();
    assert_eq!(found, expected, "{:?}", packed.left_out);
    assert!(packed.left_out.contains(&"node_modules".to_owned()), "a folder is told once: {:?}", packed.left_out);
}

#[test]
#[cfg(unix)]
fn links_and_pipes_are_not_packed() {
    let with_link = folder(&[]);
    std::os::unix::fs::symlink("/etc/passwd", with_link.path().join("link")).unwrap();
    let error = pack(with_link.path()).unwrap_err();
    assert_eq!((error.code(), &error.details().unwrap()["rule"]), (Code::ArchiveInvalid, &"link".into()));
    fs::write(with_link.path().join(".gitignore"), "link\n").unwrap();
    assert!(pack(with_link.path()).is_ok());
    let pipe = folder(&[]);
    let mode = rustix::fs::Mode::from_raw_mode(0o600);
    rustix::fs::mknodat(rustix::fs::CWD, pipe.path().join("p"), rustix::fs::FileType::Fifo, mode, 0).unwrap();
    assert_eq!(pack(pipe.path()).unwrap_err().details().unwrap()["rule"], "special");
    for (files, rule) in [
        (&[("A", &b"x"[..]), ("a", b"x")][..], "case"),
        (&[("a\\b", b"x")], "backslash"),
        (&[("a.", b"x")], "ending"),
        (&[("a\nb", b"x")], "control"),
        (&[("a\u{202e}b", b"x")], "hidden"),
        (&[("zeros", &[0; 1 << 20])], "ratio"),
    ] {
        assert_eq!(pack(folder(files).path()).unwrap_err().details().unwrap()["rule"], rule);
    }
    let bare = tempfile::tempdir().unwrap();
    assert_eq!(pack(bare.path()).unwrap_err().code(), Code::ManifestInvalid);
    fs::write(bare.path().join("enact.yaml"), "name: a/b\ndescription: x\n").unwrap();
    assert!(pack(bare.path()).unwrap_err().message().contains("no version"));
    assert_eq!(pack(&bare.path().join("none")).unwrap_err().code(), Code::NotFound);
}

#[test]
fn x64_names_that_lead_elsewhere_are_refused() {
    let long = "x".repeat(241);
    let deep = vec!["d"; 33].join("/");
    let plain: [(&[u8], &str); 25] = [
        (b"/etc/passwd", "absolute"),
        (b"c:/x", "absolute"),
        (b"../x", "dots"),
        (b"a/../../x", "dots"),
        (b"./x", "dots"),
        (b"a/./x", "dots"),
        (b"a//x", "dots"),
        (b".", "dots"),
        (b"a/", "dots"),
        (b"", "dots"),
        (b"a\\b", "backslash"),
        (b"a\nb", "control"),
        (b"a\x1b[31m", "control"),
        ("a\u{85}b".as_bytes(), "control"),
        ("exe.\u{202e}gnp.sh".as_bytes(), "hidden"),
        ("a\u{2066}b/c".as_bytes(), "hidden"),
        ("a\u{200b}".as_bytes(), "hidden"),
        ("a\u{e0041}".as_bytes(), "hidden"),
        (b"a\xff", "utf8"),
        (b"a.", "ending"),
        (b"a /b", "ending"),
        (b"a\xc2\xa0", "ending"),
        (b"Enact.yaml", "case"),
        (b"enact.yaml", "twice"),
        (b"enact.yaml/x", "twice"),
    ];
    for (path, rule) in plain {
        assert_refused(archive(&[entry(path, b'0', b"x")]), rule);
    }
    let two =
        |first: &str, second: &str| archive(&[entry(first.as_bytes(), b'0', b""), entry(second.as_bytes(), b'0', b"")]);
    assert_refused(two("A/x", "a/y"), "case");
    assert_refused(two("stra\u{df}e", "STRASSE"), "case");
    assert_refused(two("\u{e9}", "e\u{301}"), "case");
    assert_refused(two("a/b", "a"), "twice");
    assert_refused(archive(&[entry(b"a/", b'5', b""), entry(b"a/", b'5', b"")]), "twice");
    // Long names come in an extra entry before the member.
    let long_name =
        |name: &str| [entry(b"././@LongLink", b'L', format!("{name}\0").as_bytes()), entry(b"x", b'0', b"")];
    assert_refused(archive(&long_name(&long)), "length");
    assert_refused(archive(&long_name(&deep)), "depth");
    assert_refused(archive(&long_name("../../x")), "dots");
    assert_refused(archive(&long_name("a\0b")), "control");
    let extended = |records: &str| [entry(b"x.pax", b'x', records.as_bytes()), entry(b"x", b'0', b"y")];
    assert_refused(archive(&extended("16 path=../evil\n")), "dots");
    assert_refused(archive(&extended("22 GNU.sparse.major=1\n")), "sparse");
}

#[test]
fn x64_entries_other_than_plain_files_are_refused() {
    for (kind, rule) in [
        (b'1', "link"),
        (b'2', "link"),
        (b'3', "special"),
        (b'4', "special"),
        (b'6', "special"),
        (b'7', "special"),
        (b'g', "special"),
        (b'V', "special"),
        (b'Z', "special"),
    ] {
        assert_refused(archive(&[entry(b"x", kind, b"")]), rule);
    }
    // A GNU sparse file with a valid field for its real size.
    let mut sparse = entry(b"x", b'S', b"");
    sparse[483..495].copy_from_slice(b"00000000000\0");
    let mut header = tar::Header::new_gnu();
    header.as_mut_bytes().copy_from_slice(&sparse[..512]);
    header.set_cksum();
    assert_refused(archive(&[header.as_bytes().to_vec()]), "sparse");
}

#[test]
fn x64_archives_over_the_limits_are_refused() {
    assert_refused(vec![0; (50 << 20) + 1], "packed_size");
    let many: Vec<Vec<u8>> = (0..=10_000).map(|at| entry(format!("f{at}").as_bytes(), b'0', b"")).collect();
    assert_refused(archive(&many), "members");
    assert_refused(archive(&[entry(b"zeros", b'0', &[0; 1 << 20])]), "ratio");
    // A declared size over the limit is refused before any content is read.
    let said = |size: u64| {
        let mut header = tar::Header::new_gnu();
        header.set_path("x").unwrap();
        header.set_size(size);
        header.set_cksum();
        archive(&[header.as_bytes().to_vec()])
    };
    assert_refused(said((64 << 20) + 1), "member_size");
    assert_refused(said(u64::MAX >> 2), "member_size");
    // A very long name reaches the limit for the whole archive.
    let mut endless = tar::Header::new_gnu();
    endless.set_path("././@LongLink").unwrap();
    endless.set_entry_type(tar::EntryType::new(b'L'));
    endless.set_size(1 << 40);
    endless.set_cksum();
    let mut bomb = GzEncoder::new(Vec::new(), Compression::fast());
    bomb.write_all(endless.as_bytes()).unwrap();
    let block = vec![b'x'; 1 << 20];
    for _ in 0..230 {
        bomb.write_all(&block).unwrap();
    }
    assert_refused(bomb.finish().unwrap(), "unpacked_size");
}

#[test]
fn x64_nothing_hides_behind_the_end() {
    let good = archive(&[entry(b"x", b'0', b"y")]);
    assert!(open(good.clone()).is_ok());
    assert_refused([good.clone(), b"x".to_vec()].concat(), "after_end");
    assert_refused([good.clone(), good.clone()].concat(), "second_member");
    let mut tar = entry(b"enact.yaml", b'0', MANIFEST.as_bytes());
    tar.extend([0; 1024]);
    tar.extend(entry(b"hidden", b'0', b"y"));
    assert_refused(gzip(&tar), "after_end");
    // The zeros that tar pads an archive with are allowed.
    let mut padded = entry(b"enact.yaml", b'0', MANIFEST.as_bytes());
    padded.resize(10_240, 0);
    assert!(open(gzip(&padded)).is_ok());
    for cut in [0, 1, 10, 30, good.len() - 9, good.len() - 1] {
        assert_refused(good[..cut].to_vec(), "malformed");
    }
    assert_refused(gzip(&entry(b"x", b'0', &[b'y'; 2000])[..1024]), "malformed");
    assert_refused(b"<html>Not found</html>".to_vec(), "malformed");
}

#[test]
fn an_archive_without_a_valid_manifest_is_refused() {
    let of = |manifest: &str| {
        let mut tar = entry(b"enact.yaml", b'0', manifest.as_bytes());
        tar.extend([0; 1024]);
        open(gzip(&tar)).unwrap_err()
    };
    let large: String = (0..300_000).map(|number| format!("{number}\n")).collect();
    for manifest in ["name: a/b\ndescription: x\n", "name: b\ndescription: x\nversion: 1.0.0\n", "{{{", &large] {
        let error = of(manifest);
        assert_eq!(error.code(), Code::ManifestInvalid, "{error}");
    }
    let mut deeper = entry(b"a/enact.yaml", b'0', MANIFEST.as_bytes());
    deeper.extend([0; 1024]);
    assert_eq!(open(gzip(&deeper)).unwrap_err().code(), Code::ManifestInvalid);
}

#[test]
fn x35_x60_an_archive_is_unpacked_completely_or_not_at_all() {
    let tree = tempfile::tempdir().unwrap();
    let opened = open(archive(&[entry(b"b/run", b'0', b"y"), entry(b"empty/", b'5', b"")])).unwrap();
    let place = tree.path().join("place");
    opened.unpack(&place).unwrap();
    assert_eq!(fs::read(place.join("b/run")).unwrap(), b"y");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = |path: &str| fs::metadata(place.join(path)).unwrap().permissions().mode() & 0o7777;
        // The archive declared setuid, which unpacking drops.
        assert_eq!((mode("b/run"), mode("")), (0o555, 0o700));
    }
    assert_eq!(opened.unpack(&place).unwrap_err().code(), Code::AlreadyExists);
    assert!(opened.unpack(&tree.path().join("no/where")).is_err());
    let names: Vec<_> = fs::read_dir(tree.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["place"], "nothing else is left");
}

proptest! {
    #![proptest_config(crate::seed::config(64))]

    #[test]
    fn packing_an_unpacked_archive_gives_the_same_bytes(
        files in prop::collection::btree_map("[a-z]{1,3}(/[a-z]{1,3}){0,2}", prop::collection::vec(any::<u8>(), 0..300), 0..8)
    ) {
        let tree = folder(&[]);
        for (path, bytes) in &files {
            let path = tree.path().join(path);
            // An earlier file may already use the path of this file's folder.
            if fs::create_dir_all(path.parent().unwrap()).is_ok() {
                let _ = fs::write(path, bytes);
            }
        }
        let first = pack(tree.path()).unwrap().opened;
        let again = tree.path().with_extension("again");
        first.unpack(&again).unwrap();
        let second = pack(&again).unwrap().opened;
        fs::remove_dir_all(&again).unwrap();
        prop_assert_eq!(first.sha256, second.sha256);
    }

    #[test]
    fn no_bytes_make_the_reader_panic(bytes in prop::collection::vec(any::<u8>(), 0..2000)) {
        prop_assert!(open(bytes.clone()).is_err());
        prop_assert!(open(gzip(&bytes)).is_err());
    }

    #[test]
    fn a_damaged_archive_is_refused_or_has_another_digest(at in any::<prop::sample::Index>(), bit in 0..8u8) {
        let good = archive(&[entry(b"x", b'0', b"y")]);
        let mut bad = good.clone();
        bad[at.index(good.len())] ^= 1u8 << bit;
        if let Ok(opened) = open(bad) {
            prop_assert_ne!(opened.sha256, sha256::of(&good));
        }
    }

    #[test]
    fn a_damaged_header_makes_no_reader_panic(at in 0..1024usize, byte in any::<u8>()) {
        let mut tar = [entry(b"enact.yaml", b'0', MANIFEST.as_bytes()), entry(b"x", b'0', b"y")].concat();
        tar[at] = byte;
        tar.extend([0; 1024]);
        let _ = open(gzip(&tar));
    }
}
