//! Tests of `mcpkg search`.

use insta::assert_snapshot;

use crate::support::Scratch;

/// Texts whose words are not all separated by spaces: the name, the text, and parts of the text to search for.
const SPACELESS: [(&str, &str, &[&str]); 6] = [
    ("zh", "请把季度报告翻译成英文，并检查术语表。", &["报告", "季度报告", "术语表", "翻译成英文", "告"]),
    (
        "ja",
        "この機能はデータベースのバックアップを復元します。",
        &["復元", "バックアップ", "データベースのバックアップ", "機能は"],
    ),
    ("ko", "데이터베이스를 백업하고 복원하세요", &["베이스", "데이터", "복원", "원하세요"]),
    ("th", "กรุณาสำรองฐานข้อมูลทุกวันก่อนเที่ยงคืน", &["ฐานข้อมูล", "ข้อมูล", "เที่ยงคืน"]),
    ("mixed", "Der Server 第3章の設定をreadmeに書く", &["設定", "readme", "server 設定", "第3章", "readmeに"]),
    ("rare", "𠮷野家の注文を受ける", &["𠮷野", "注文"]),
];

#[test]
fn words_inside_a_text_without_spaces_are_found_with_their_surroundings() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "latin", "a report, a backup and nothing else"]);
    for (name, text, _) in SPACELESS {
        let text = format!("{}{text}{}", "前置き。".repeat(30), "、続き".repeat(30));
        scratch.ok(&["prompt", "create", name, &text]);
    }
    let found = |query: &str| -> Vec<(String, String)> {
        let found = scratch.json(&["search", query]);
        let hits = found["hits"].as_array().expect("hits").iter();
        hits.map(|hit| {
            (hit["name"].as_str().expect("a name").to_owned(), hit["snippet"].as_str().expect("a snippet").to_owned())
        })
        .collect()
    };
    for (name, _, queries) in SPACELESS {
        for query in queries {
            let hits = found(query);
            let named: Vec<&str> = hits.iter().map(|(name, _)| name.as_str()).collect();
            assert!(named.contains(&name), "{query}: {named:?}");
            let (_, snippet) = hits.iter().find(|(hit, _)| hit == name).expect("it is found");
            let shown = query.split(' ').next_back().expect("a word");
            assert!(
                snippet.contains(shown) && snippet.starts_with('…') && snippet.ends_with('…'),
                "{query}: {snippet}"
            );
        }
    }
    // The same characters in another order do not match. Neither does a word that only begins like one in the text.
    assert!(found("告报").is_empty() && found("季度会议").is_empty());
    assert_eq!(found("report").len(), 1);
    // Descriptions are searched too, and text that an update removed is no longer found.
    scratch.ok(&["prompt", "create", "told", "x", "-d", "議事録を要約する"]);
    assert_eq!(found("要約"), [("told".to_owned(), "x".to_owned())]);
    scratch.ok(&["prompt", "update", "told", "--description", "y"]);
    assert!(found("要約").is_empty());
    scratch.ok(&["check", "--deep"]);
}

#[test]
fn searches_are_ranked_and_stay_in_the_project() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "needle-in-name", "hay"]);
    scratch.ok(&["prompt", "create", "other", "a needle in the hay", "-d", "x"]);
    scratch.ok(&["resource", "create", "doc", "file:///doc", "needles everywhere"]);
    scratch.ok(&["project", "create", "q"]);
    scratch.ok(&["-p", "q", "prompt", "create", "far", "needle"]);
    assert_snapshot!(scratch.run(&["search", "needle"]), @r#"
    status: 0
    --- stdout
    prompt	needle-in-name	hay
    resource	doc	needles everywhere
    prompt	other	a needle in the hay
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["search", "--all", "need", "hay"]), @r#"
    status: 0
    --- stdout
    prompt	p/needle-in-name	hay
    prompt	p/other	a needle in the hay
    --- stderr
    "#);
    assert_snapshot!(scratch.run(&["search", "\"(* OR"]), @r#"
    status: 0
    --- stdout
    --- stderr
    No matches for '"(* OR'
    "#);
    assert_snapshot!(scratch.run(&["search", "***"]), @r#"
    status: 2
    --- stdout
    --- stderr
    error: The query contains no words
    "#);
}
