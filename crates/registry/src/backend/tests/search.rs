//! Tests searches in several registries.

use super::*;

#[test]
fn registries_are_searched_in_order_and_a_missing_one_keeps_its_known_tools() {
    let ground = Ground::new();
    let first = ground.directory("first");
    ground.directory("second");
    ground.publish("first", "a/both@1.0.0", b"1").unwrap();
    ground.publish("second", "a/both@2.0.0", b"2").unwrap();
    ground.publish("second", "a/other@1.0.0", b"3").unwrap();
    assert_eq!(ground.resolved("a/both"), Ok("first:1.0.0".to_owned()));
    assert_eq!(ground.resolved("a/both@^2"), Ok("second:2.0.0".to_owned()));
    let gone = first.with_extension("away");
    std::fs::rename(&first, &gone).unwrap();
    assert_eq!(ground.resolved("a/both"), Err(Code::RegistryUnreachable));
    let other = ground.resolve("a/other").unwrap();
    assert_eq!(other.registry, "second");
    assert!(other.warnings[0].contains("first"), "{:?}", other.warnings);
    assert_eq!(ground.resolved("a/none"), Err(Code::RegistryUnreachable));
    std::fs::rename(&gone, &first).unwrap();
    assert_eq!(ground.resolved("a/none"), Err(Code::ToolNotFound));
}

#[test]
fn an_unapproved_registry_is_not_contacted() {
    let ground = Ground::new();
    let path = ground.folder.path().join("evil");
    Directory::create("evil", &path).unwrap();
    ground.stranger("evil", Kind::Directory, path.to_str().unwrap(), None);
    let flag = ground.folder.path().join("ran");
    let token = format!("command:touch {}", flag.display());
    ground.stranger("host", Kind::Http, "http://127.0.0.1:1", Some(&token));
    assert_eq!(ground.resolved("a/one"), Err(Code::Unapproved));
    let query = Query { text: "x".to_owned(), tags: Vec::new(), limit: 10, offline: false, refresh: false };
    let states: Vec<&str> =
        search(&ground.context, &query, None).unwrap().asked.iter().map(|asked| asked.state.word()).collect();
    assert_eq!(states, ["ok", "unapproved", "unapproved"]);
    assert!(!flag.exists());
    // An approval covers the token's source too: with another token, the registry needs a new approval.
    let place = Place { token: None, ..Known::named(&ground.context, "host").unwrap().place.unwrap() };
    Use(&place).approve(&ground.context).unwrap();
    assert!(Known::named(&ground.context, "host").unwrap().open(&ground.context).is_err());
}

#[test]
fn x58_any_text_is_a_query() {
    let ground = Ground::new();
    ground.publish("local", "alice/pdf-extract@1.0.0", b"1").unwrap();
    ground.publish("local", "bob/csv@1.0.0", b"2").unwrap();
    for text in [
        "\"",
        "'",
        "\"pdf",
        "pdf\"",
        "pdf OR",
        "AND pdf",
        "(pdf",
        "name: pdf",
        "pdf*",
        "^pdf",
        "pdf -csv",
        "NEAR(pdf)",
        "pdf\0",
    ] {
        let (found, _) = ground.found(text, &[], 10);
        assert!(found.iter().any(|found| found == "local:alice/pdf-extract@1.0.0"), "{text:?}: {found:?}");
    }
    assert_eq!(
        ground.found("pdf extra", &[], 10),
        (vec!["local:alice/pdf-extract@1.0.0".to_owned()], 1),
        "a word's beginning"
    );
    assert_eq!(ground.found("csv extract", &[], 10).1, 2, "none has both words");
    assert_eq!(ground.found("", &[], 10).1, 2);
    assert_eq!(ground.found("nothing", &[], 10), (Vec::new(), 0));
}

#[test]
fn x59_the_total_counts_all_matches_and_tags_filter_before_the_limit() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        for n in 0..12 {
            let tags: &[&str] = if n == 11 { &["Rare", "t"] } else { &["t"] };
            let tool = format!("of/{registry}-{n}@1.0.0");
            ground.publish_with(registry, &tool, &[n], Visibility::Public, tags).unwrap();
        }
    }
    assert_eq!(ground.found("things", &[], 3).1, 24);
    assert_eq!(ground.found("things", &[], 3).0.len(), 3);
    let rare = ["local:of/local-11@1.0.0", "team:of/team-11@1.0.0"].map(str::to_owned).to_vec();
    assert_eq!(ground.found("things", &["rare", "T"], 3), (rare.clone(), 2));
    assert_eq!(ground.found("", &["rare"], 1), (rare[..1].to_vec(), 2));
    assert_eq!(ground.found("csv", &["rare"], 3).1, 0);
}

#[test]
fn unlisted_private_and_yanked_tools_are_not_found() {
    let ground = Ground::new();
    ground.directory("team");
    for registry in ["local", "team"] {
        let tool = |version: &str| format!("of/{registry}@{version}");
        ground.publish(registry, &tool("1.0.0"), b"1").unwrap();
        ground.publish_with(registry, &tool("1.1.0"), b"2", Visibility::Unlisted, &[]).unwrap();
        let shown = |version: &str| vec![format!("{registry}:{}", tool(version))];
        assert_eq!(ground.found(registry, &[], 10).0, shown("1.0.0"));
        ground.publish(registry, &tool("1.2.0-rc.1"), b"3").unwrap();
        assert_eq!(ground.found(registry, &[], 10).0, shown("1.0.0"));
        ground.yank(registry, &tool("1.0.0"), true);
        assert_eq!(ground.found(registry, &[], 10).0, shown("1.2.0-rc.1"));
        ground.yank(registry, &tool("1.2.0-rc.1"), true);
        assert_eq!(ground.found(registry, &[], 10), (Vec::new(), 0));
        ground.yank(registry, &tool("1.0.0"), false);
        assert_eq!(ground.found(registry, &[], 10).0, shown("1.0.0"));
    }
    let private = ground.publish_with("team", "a/secret@1.0.0", b"x", Visibility::Private, &[]);
    assert_eq!(private.unwrap_err().code(), Code::InvalidArgument);
}

#[test]
fn an_unreachable_registry_does_not_affect_the_others() {
    let ground = Ground::new();
    ground.publish("local", "a/pdf@1.0.0", b"1").unwrap();
    let path = ground.directory("stick");
    let broken = ground.directory("broken");
    std::fs::rename(&path, path.with_extension("away")).unwrap();
    std::fs::write(broken.join("index.json"), "<html>").unwrap();
    let query = Query { text: "pdf".to_owned(), tags: Vec::new(), limit: 10, offline: false, refresh: false };
    let found = search(&ground.context, &query, None).unwrap();
    assert_eq!(found.hits.len(), 1);
    let states: Vec<&str> = found.asked.iter().map(|asked| asked.state.word()).collect();
    assert_eq!(states, ["ok", "unreachable", "failed"]);
    assert!(matches!(&found.asked[2].state, State::Failed(error) if error.code() == Code::RegistryAnswer));
}

#[test]
fn a_read_only_search_changes_nothing() {
    let ground = Ground::new();
    ground.directory("team");
    ground.publish("team", "a/one@1.0.0", b"1").unwrap();
    let reading = Context { store: ground.context.store.reading(), ..ground.context.clone() };
    let query = Query { text: "one".to_owned(), tags: Vec::new(), limit: 10, offline: false, refresh: false };
    let stale = |context: &Context| {
        let found = search(context, &query, None).unwrap();
        (found.hits.len(), matches!(found.asked[1].state, State::Stale))
    };
    assert_eq!(stale(&reading), (0, true), "the list is not up to date");
    assert_eq!(stale(&ground.context), (1, false));
    assert_eq!(stale(&reading), (1, false));
    let error = ground.local().publish(&Publication {
        name: &Name::parse("a/b").unwrap(),
        version: &Version::new(1, 0, 0),
        archive: &Vec::new().into(),
        sha256: &sha256::of(b""),
        manifest: &json!({}),
        raw_manifest: "",
        visibility: Visibility::Public,
        attestations: &[],
    });
    assert!(error.is_ok());
    let local = Known::local().open(&reading).unwrap();
    assert_eq!(
        local.yank(&Name::parse("a/b").unwrap(), &Version::new(1, 0, 0), None).unwrap_err().code(),
        Code::MayOnlyRead
    );
}
