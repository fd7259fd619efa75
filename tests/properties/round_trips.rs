//! Tests that stored content comes back byte for byte.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use proptest::prelude::*;
use serde_json::json;

use super::run;
use crate::support::{Client, Random, Scratch, config};

/// Returns any text that may be stored: all of Unicode except U+0000.
fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>().prop_filter("U+0000 is refused", |c| *c != '\0'), 1..200)
        .prop_map(String::from_iter)
}

proptest! {
    #![proptest_config(config(16))]

    #[test]
    fn any_text_and_any_bytes_come_back_as_they_were(
        texts in proptest::collection::vec(text(), 1..12),
        blobs in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 1..300), 1..12),
    ) {
        let scratch = Scratch::with_project_here();
        let context = scratch.context();
        for (n, text) in texts.iter().enumerate() {
            let name = format!("t{n}");
            run(&context, &["prompt", "create"], json!({ "name": name, "content": text, "description": text })).expect("made");
            let prompt = run(&context, &["prompt", "show"], json!({ "name": name })).expect("shown");
            prop_assert_eq!(prompt["text"].as_str(), Some(text.as_str()));
            prop_assert_eq!(prompt["description"].as_str(), Some(text.as_str()));
            let made = json!({ "name": name, "uri": format!("t:{n}"), "content": text });
            run(&context, &["resource", "create"], made).expect("made");
            let resource = run(&context, &["resource", "show"], json!({ "uri": name })).expect("shown");
            prop_assert_eq!(resource["text"].as_str(), Some(text.as_str()));
        }
        for (n, bytes) in blobs.iter().enumerate() {
            let content = STANDARD.encode(bytes);
            let made = json!({ "name": format!("b{n}"), "uri": format!("b:{n}"), "content": content, "mime_type": "image/png" });
            run(&context, &["resource", "create"], made).expect("made");
            let resource = run(&context, &["resource", "show"], json!({ "uri": format!("b:{n}") })).expect("shown");
            prop_assert_eq!(resource["blob"].as_str(), Some(content.as_str()));
        }
    }
}

#[test]
fn contents_around_the_size_of_a_chunk_come_back_over_the_real_binary() {
    let scratch = Scratch::with_project();
    let mut random = Random::new();
    let mut client = Client::legacy(&scratch, "2025-06-18");
    for size in [1, (1 << 20) - 1, 1 << 20, (1 << 20) + 1, (2 << 20) + 5, 3 << 20] {
        let uri = format!("file:///{size}");
        let content = STANDARD.encode(random.bytes(size));
        let arguments =
            json!({ "name": format!("b{size}"), "uri": uri, "content": content, "mime_type": "application/pdf" });
        let (text, is_error) = client.call("create_resource", arguments);
        assert!(!is_error, "{text}");
        let read = client.result("resources/read", json!({ "uri": uri }));
        assert!(read["contents"][0]["blob"] == content, "{size} bytes came back as others");
        // A text with characters on the boundaries of chunks, and with everything that JSON escapes.
        let text: String = "a\"\\\n\t\u{1}é\u{1f389}".chars().cycle().skip(size % 8).take(size / 2 + 1).collect();
        let name = format!("t{size}");
        let (said, is_error) = client.call("create_prompt", json!({ "name": name, "content": text }));
        assert!(!is_error, "{said}");
        let got = client.result("prompts/get", json!({ "name": name }));
        assert!(got["messages"][0]["content"]["text"] == text, "{size} bytes came back as others");
    }
    client.finish();
    // Through the shell, from a file and from standard input, with random bytes.
    for size in [1, 70_000, 1_500_000] {
        let bytes = random.bytes(size);
        let file = format!("@{}", scratch.file("in.bin", &bytes).display());
        for (how, content) in [("file", file.as_str()), ("input", "-")] {
            let name = format!("{how}{size}");
            let made =
                ["resource", "create", &name, &format!("{how}:{size}"), content, "-m", "application/octet-stream"];
            let made = scratch.run_with_input(&made, &bytes);
            assert_eq!(made.status, 0, "{made}");
            scratch.ok(&["resource", "show", &name, "-o", "out.bin"]);
            assert!(std::fs::read(scratch.path().join("out.bin")).expect("the file") == bytes, "other bytes came out");
        }
    }
}
