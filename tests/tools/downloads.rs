//! Tests downloads of archives from a server's registry: complete, in ranges, and by slow clients.

use std::io::{BufReader, Read, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use super::team::{Team, body, form, refused, request};
use super::trust::folder;
use crate::support::http::read_response;
use crate::support::{eventually, memory, reset_peak};

const TOOL: &str = "alice/utils/weather";
const VERSION: &str = "/tools/alice/utils/weather/versions/1.0.0";

/// Returns this many MiB of bytes that cannot be compressed.
fn noise(seed: u64, mib: u32) -> Vec<u8> {
    let mut state = seed;
    let byte = |_| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 56) as u8
    };
    (0..mib << 20).map(byte).collect()
}

/// Publishes an archive with this many MiB that cannot be compressed. Returns the archive.
fn large(team: &Team, key: &str, mib: u32) -> Vec<u8> {
    let folder = folder(&team.scratch, TOOL, "Sun");
    team.scratch.file("packages/alice/utils/weather/noise.bin", noise(7, mib));
    assert_eq!(team.publish(&folder, "public", Some(key)).status, 201);
    mcpkg_registry::package::archive::pack(&folder)
        .expect("an archive")
        .opened
        .content
        .bytes()
        .expect("its bytes")
        .into_owned()
}

#[test]
fn an_archive_is_sent_whole_in_ranges_or_not_if_unchanged() {
    let team = Team::start(&[]);
    let key = team.key(&["ci", "--publish", "alice"]);
    let archive = large(&team, &key, 5);
    let download = format!("{VERSION}/download");
    let whole = team.ask("GET", &download, Some(&key));
    assert_eq!((whole.status, whole.body == archive), (200, true));
    let tag = whole.header("etag").expect("an ETag").to_owned();
    assert_eq!(
        tag,
        format!("\"{}\"", body(&team.ask("GET", VERSION, Some(&key)))["bundle"]["hash"].as_str().expect("a hash"))
    );
    assert_eq!(whole.header("content-length"), Some(archive.len().to_string().as_str()));
    assert_eq!(whole.header("content-type"), Some("application/gzip"));
    assert_eq!((whole.header("content-encoding"), whole.header("accept-ranges")), (None, Some("bytes")));
    let unchanged = team.server.send(&request("GET", &download, Some(&key)).with("If-None-Match", &tag));
    assert_eq!((unchanged.status, unchanged.body.len()), (304, 0));
    for (range, expected) in [
        ("bytes=0-0", 0..1),
        ("bytes=1048570-1048580", 1_048_570..1_048_581),
        ("bytes=2097152-", 2_097_152..archive.len()),
        ("bytes=-5", archive.len() - 5..archive.len()),
    ] {
        let part = team.server.send(&request("GET", &download, Some(&key)).with("Range", range));
        let told = format!("bytes {}-{}/{}", expected.start, expected.end - 1, archive.len());
        assert_eq!((part.status, part.header("content-range")), (206, Some(told.as_str())), "{range}");
        assert!(part.body == archive[expected], "{range}");
    }
    let beyond = team.server.send(&request("GET", &download, Some(&key)).with("Range", "bytes=99999999-"));
    assert_eq!(refused(&beyond), (416, "BAD_REQUEST".to_owned()));
    // HEAD has the same headers and no body.
    let mut stream = team.server.connect();
    let head = request("HEAD", &download, Some(&key)).with("Connection", "close");
    stream.write_all(&head.bytes()).expect("sent");
    let mut said = String::new();
    stream.read_to_string(&mut said).expect("a head");
    let said = said.to_ascii_lowercase();
    assert!(said.starts_with("http/1.1 200") && said.contains(&format!("content-length: {}", archive.len())), "{said}");
    assert!(said.ends_with("\r\n\r\n"), "{said}");
    // Each complete download is counted once.
    let total = || body(&team.ask("GET", "/tools/alice/utils/weather", Some(&key)))["total_downloads"].clone();
    eventually("the download is counted", || (total() == 1).then_some(()));
    assert_eq!(team.ask("GET", &download, Some(&key)).status, 200);
    eventually("the next one is counted", || (total() == 2).then_some(()));
}

#[test]
fn a_started_download_is_completed() {
    let mut team = Team::start(&[]);
    let key = team.key(&["ci", "--publish", "alice"]);
    let archive = large(&team, &key, 5);
    let mut stream = team.server.connect();
    stream.write_all(&request("GET", &format!("{VERSION}/download"), Some(&key)).bytes()).expect("sent");
    let mut first = [0; 16];
    stream.read_exact(&mut first).expect("the answer begins");
    team.server.end();
    team.server.wait_until_it_ends();
    let mut rest = BufReader::new((&first[..]).chain(stream));
    let response = read_response(&mut rest).expect("the rest of it");
    assert_eq!((response.status, response.body == archive), (200, true));
    assert!(team.server.ended().success());
}

#[test]
fn clients_that_do_not_read_cost_no_memory() {
    let team = Team::start(&[]);
    let key = team.key(&["ci", "--publish", "alice"]);
    let archive = large(&team, &key, 24);
    let pid = team.server.pid();
    let download = request("GET", &format!("{VERSION}/download"), Some(&key)).bytes();
    let before = memory(pid, "VmRSS");
    reset_peak(pid);
    let streams: Vec<_> = (0..12)
        .map(|_| {
            let mut stream = team.server.connect();
            stream.write_all(&download).expect("sent");
            let mut first = [0; 1];
            stream.read_exact(&mut first).expect("the answer begins");
            (first, stream)
        })
        .collect();
    for (first, stream) in streams {
        let response = read_response(&mut BufReader::new((&first[..]).chain(stream))).expect("an answer");
        assert!(response.body == archive);
    }
    // Twelve complete archives would take 288 MiB.
    let grown = memory(pid, "VmHWM").saturating_sub(before);
    assert!(grown < 96 << 10, "{grown} KiB more than {before} KiB");
}

#[test]
fn concurrent_uploads_wait_for_each_other() {
    let team = Team::start(&[]);
    let key = team.key(&["ci", "--publish", "alice"]);
    std::thread::scope(|scope| {
        for n in 0..6 {
            let (team, key) = (&team, &key);
            scope.spawn(move || {
                let folder = folder(&team.scratch, &format!("alice/tool-{n}"), "Sun");
                std::fs::write(folder.join("noise.bin"), noise(n, 2)).expect("a file");
                let published = team.publish(&folder, "public", Some(key));
                assert_eq!(published.status, 201, "{}", published.text());
            });
        }
    });
    assert_eq!(body(&team.ask("GET", "/tools/search", Some(&key)))["total"], 6);
}

#[test]
fn slow_uploads_of_one_key_do_not_delay_other_keys() {
    let team = Team::start(&["--timeout", "2"]);
    let keys = ["alice", "bob"].map(|name| team.key(&[name, "--publish", name]));
    let promised = form(request("POST", "/tools/alice/slow/versions", Some(&keys[0])), &noise(0, 2), "public");
    let (promised, is_over) = (promised.bytes(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut stream = team.server.connect();
                let (first, rest) = promised.split_at(promised.len() / 2);
                stream.write_all(first).expect("half of it");
                // Send slowly enough to take days, but just fast enough not to time out.
                for byte in rest {
                    if is_over.load(Ordering::Acquire) || stream.write_all(&[*byte]).is_err() {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            });
        }
        let publish = |name: &str, key| team.publish(&folder(&team.scratch, name, "Sun"), "public", Some(key)).status;
        eventually("all places of a key are taken", || (publish("alice/tool", &keys[0]) == 503).then_some(()));
        let published = publish("bob/tool", &keys[1]);
        is_over.store(true, Ordering::Release);
        assert_eq!(published, 201);
    });
}
