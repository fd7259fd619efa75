//! Tests of a system without free inotify watches: subscribers are still notified.

use std::time::{Duration, Instant};

use serde_json::json;

use super::imported;
use crate::support::{Client, Wait, skipped};

/// Returns the beginning of a command line that runs a program in a user namespace without inotify's `what` (watches or
/// instances). `None` if this machine does not allow that.
fn without(what: &str) -> Option<Vec<String>> {
    let script = format!("echo 0 > /proc/sys/user/max_inotify_{what} && exec \"$0\" \"$@\"");
    let words = ["unshare", "--user", "--map-root-user", "sh", "-c", &script].map(str::to_owned).to_vec();
    let probed = std::process::Command::new(&words[0]).args(&words[1..]).arg("true").output();
    probed.is_ok_and(|output| output.status.success()).then_some(words)
}

#[test]
fn subscribers_are_notified_even_if_nothing_can_be_watched() {
    if without("watches").is_none() {
        return skipped("a user namespace of its own cannot be made");
    }
    // The tests mostly wait, so run them at the same time.
    std::thread::scope(|scope| {
        for what in ["watches", "instances"] {
            scope.spawn(move || is_told_without(what));
        }
    });
}

fn is_told_without(what: &str) {
    let words = without(what).expect("as for the other one");
    let shop = imported::with_feature();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut command = shop.command_under(&words);
    let mut client = Client::spawn(command.args(["serve", "--as", "smctl"])).shake_hands("2025-11-25");
    client.result("resources/subscribe", json!({ "uri": "smctl://flow/branches" }));
    shop.git(&shop.repo("web"), &["branch", "feature/more"]);
    let began = Instant::now();
    let Wait::Line(told) = client.wait(Duration::from_secs(30)) else { panic!("{what}: nobody was told") };
    assert_eq!(told["method"], "notifications/resources/updated", "{what}: {told}");
    eprintln!("without {what}: told after {:?}", began.elapsed());
    let read = client.result("resources/read", json!({ "uri": "smctl://flow/branches" }));
    assert!(read.to_string().contains("feature/more"), "{read}");
    client.finish();
}
