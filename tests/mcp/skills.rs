//! Tests the skills extension (SEP-2640), and prompts that are also served as resources and skills.

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::{Client, Scratch};

const PDF: &str = "---\nname: pdf\ndescription: Reads PDFs\nlicense: MIT\n---\n# PDF\n";

fn filled() -> Scratch {
    let scratch = Scratch::with_project();
    scratch.file("pdf/SKILL.md", PDF);
    scratch.file("pdf/references/for ms.md", "# Forms\n");
    scratch.file("pdf/logo.png", [0, 159, 146, 150]);
    scratch.ok(&["skill", "create", "pdf", "--from", "pdf"]);
    scratch.ok(&["prompt", "create", "review", "Look for races\n", "-d", "Reviews code"]);
    scratch
}

fn names(listed: &Value) -> Vec<&str> {
    listed["skills"].as_array().expect("skills").iter().filter_map(|s| s["frontmatter"]["name"].as_str()).collect()
}

/// Reads every file of a skill, and compares its digest and size with the skill's entry.
#[track_caller]
fn verify(client: &mut Client, skill: &Value) {
    use base64::Engine;
    for file in skill["resources"].as_array().expect("a manifest") {
        let read = client.result("resources/read", json!({ "uri": file["uri"] }));
        let contents = &read["contents"][0];
        let bytes = match (contents["text"].as_str(), contents["blob"].as_str()) {
            (Some(text), _) => text.as_bytes().to_vec(),
            (None, Some(blob)) => base64::engine::general_purpose::STANDARD.decode(blob).expect("base64"),
            (None, None) => panic!("neither text nor blob: {contents}"),
        };
        let hex: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(file["digest"], format!("sha256:{hex}"), "{file}");
        assert_eq!(file["size"], bytes.len(), "{file}");
    }
}

#[test]
fn skills_are_listed_with_digests_in_both_eras() {
    let scratch = filled();
    for mut client in [Client::legacy(&scratch, "2025-11-25"), Client::modern(&scratch)] {
        let listed = client.result("skills/list", json!({}));
        assert_eq!(names(&listed), ["pdf", "review"]);
        let pdf = &listed["skills"][0];
        assert_eq!(pdf["uri"], "skill://pdf/SKILL.md");
        assert_eq!(pdf["frontmatter"], json!({ "name": "pdf", "description": "Reads PDFs", "license": "MIT" }));
        let uris: Vec<&Value> = pdf["resources"].as_array().expect("files").iter().map(|file| &file["uri"]).collect();
        assert_eq!(uris, ["skill://pdf/SKILL.md", "skill://pdf/logo.png", "skill://pdf/references/for%20ms.md"]);
        for skill in listed["skills"].as_array().expect("skills") {
            verify(&mut client, skill);
            let got = client.result("skills/get", json!({ "uri": skill["uri"] }));
            assert_eq!(&got["skill"], skill);
        }
        for missing in ["skill://nobody/SKILL.md", "skill://pdf/references/SKILL.md"] {
            let error = client.error("skills/get", json!({ "uri": missing }));
            let message = format!("Skill '{missing}' not found in project 'p'");
            assert_eq!((&error["code"], &error["message"]), (&json!(-32602), &json!(message)));
        }
        client.finish();
    }
    let mut client = Client::start(&scratch, &[]);
    let hello =
        json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "t", "version": "1" } });
    let capabilities = &client.result("initialize", hello)["capabilities"];
    assert_eq!(capabilities["extensions"]["io.modelcontextprotocol/skills"], json!({ "directoryRead": true }));
}

#[test]
fn a_prompt_is_also_a_resource_and_a_skill() {
    let scratch = filled();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let text = "Look for races\n";
    assert_eq!(client.result("prompts/get", json!({ "name": "review" }))["messages"][0]["content"]["text"], text);
    assert_eq!(client.call("get_prompt", json!({ "name": "review" })).0, text);
    let read =
        |client: &mut Client, uri: &str| client.result("resources/read", json!({ "uri": uri }))["contents"][0].clone();
    assert_eq!(read(&mut client, "mcpkg://prompt/review")["text"], text);
    let skill = "---\nname: review\ndescription: \"Reviews code\"\n---\n\nLook for races\n";
    assert_eq!(
        read(&mut client, "skill://review/SKILL.md"),
        json!({ "uri": "skill://review/SKILL.md", "mimeType": "text/markdown", "text": skill })
    );
    assert_eq!(client.call("get_skill", json!({ "name": "review" })), (skill.to_owned(), false));
    // A deploy writes the same skill for an agent that has no commands.
    scratch.ok(&["deploy", "--apply", "--yes", "--root", ".", "--target", "codex"]);
    let deployed = std::fs::read_to_string(scratch.path().join(".agents/skills/review/SKILL.md")).expect("a skill");
    assert_eq!(deployed, skill);
    // A stored skill with the same name takes precedence over the prompt.
    scratch.ok(&["skill", "create", "review", "Stored", "-d", "Stored one"]);
    let listed = client.result("skills/list", json!({}));
    assert_eq!(names(&listed), ["pdf", "review"]);
    assert_eq!(listed["skills"][1]["frontmatter"]["description"], "Stored one");
    scratch.ok(&["skill", "delete", "review", "--yes"]);
    assert_eq!(read(&mut client, "skill://review/SKILL.md")["text"], skill);
    client.finish();
}

#[test]
fn a_prompt_of_any_name_is_a_skill_under_the_name_that_a_deploy_gives_it() {
    let scratch = Scratch::with_project();
    let long = format!("{}-{}", "n".repeat(60), "m".repeat(60));
    for (name, text) in [("dotted.name", "Dots"), ("Code__Review", "Case"), ("_", "Nothing"), (&long, "Long")] {
        scratch.ok(&["prompt", "create", name, text]);
    }
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let listed = client.result("skills/list", json!({}));
    let cut = format!("{}-mmm", "n".repeat(60));
    assert_eq!(names(&listed), ["code-review", "command", "dotted-name", cut.as_str()]);
    scratch.ok(&["deploy", "--apply", "--yes", "--root", ".", "--target", "codex"]);
    for skill in listed["skills"].as_array().expect("skills") {
        verify(&mut client, skill);
        assert_eq!(client.result("skills/get", json!({ "uri": skill["uri"] }))["skill"], *skill);
        let name = skill["frontmatter"]["name"].as_str().expect("a name");
        let read = client.result("resources/read", json!({ "uri": skill["uri"] }));
        let deployed = scratch.path().join(".agents/skills").join(name).join("SKILL.md");
        assert_eq!(std::fs::read_to_string(deployed).expect("a skill"), read["contents"][0]["text"]);
    }
    // If several prompts become the same skill, the prompt with exactly that name takes precedence, and otherwise the
    // one whose name sorts first. `skill validate` reports the others.
    scratch.ok(&["prompt", "create", "dotted_name", "Other"]);
    assert_eq!(names(&client.result("skills/list", json!({}))).len(), 4);
    assert!(client.call("get_skill", json!({ "name": "dotted-name" })).0.ends_with("\nDots"));
    let told = scratch.run(&["skill", "validate"]);
    assert_eq!(told.status, 1);
    assert!(
        told.stderr.contains(
            "dotted-name/SKILL.md:1: agents do not see prompt 'dotted_name' as a skill, because prompt 'dotted.name' has the same name"
        ),
        "{}",
        told.stderr
    );
    scratch.ok(&["prompt", "create", "dotted-name", "Own"]);
    assert!(client.call("get_skill", json!({ "name": "dotted-name" })).0.ends_with("\nOwn"));
    let planned = scratch.run(&["plan", "--root", ".", "--target", "codex"]);
    let is_left_out =
        |name: &str| planned.stderr.contains(&format!("module 'command:{name}' is not written for Codex"));
    assert_eq!(
        ["dotted-name", "dotted.name", "dotted_name"].map(is_left_out),
        [false, true, true],
        "{}",
        planned.stderr
    );
    client.finish();
}

#[test]
fn a_template_is_a_skill_that_asks_as_a_command_does() {
    let scratch = Scratch::with_project();
    scratch.ok(&["prompt", "create", "fix", "---\ndescription: Fixes\nargument-hint: [issue]\n---\nFix $1\n"]);
    const SPELLED: &str = "---\nname: fix\ndescription: \"Fixes\"\n---\n\nThe user gives these arguments, written `[issue]`:\n\
         - {arg1}: word 2 of the user's input\n\nFix {arg1}\n";
    scratch.ok(&["prompt", "create", "broken", "{{ who.what }}", "--argument", "who"]);
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let listed = client.result("skills/list", json!({}));
    assert!(names(&listed).contains(&"fix"), "{listed}");
    let read = client.result("resources/read", json!({ "uri": "skill://fix/SKILL.md" }));
    assert_eq!(read["contents"][0]["text"], SPELLED);
    for skill in listed["skills"].as_array().expect("skills") {
        verify(&mut client, skill);
    }
    client.finish();
}

#[test]
fn skills_that_break_a_rule_are_left_out_and_the_rest_is_listed() {
    let scratch = filled();
    for (name, uri, text) in [
        ("a", "skill://other-name/SKILL.md", "---\nname: pfd\ndescription: x\n---\n"),
        ("b", "skill://no-front/SKILL.md", "# None"),
        ("c", "skill://Upper/SKILL.md", "---\nname: Upper\ndescription: x\n---\n"),
        ("d", "skill://a/b/SKILL.md", "---\nname: b\ndescription: x\n---\n"),
        ("e", "skill://no-main/a.md", "x"),
        ("f", "skill://pdf/%6Cogo.png", "the same file twice"),
        ("g", "skill://lenient/SKILL.md", "---\nname: lenient\ndescription: Review: a PR\n---\n"),
    ] {
        scratch.ok(&["resource", "create", name, uri, text]);
    }
    let mut client = Client::legacy(&scratch, "2025-11-25");
    assert_eq!(names(&client.result("skills/list", json!({}))), ["review"]);
    let error = client.error("skills/get", json!({ "uri": "skill://no-front/SKILL.md" }));
    assert!(error["message"].as_str().is_some_and(|text| text.contains("mcpkg skill validate no-front")), "{error}");
    client.finish();
}

#[test]
fn pages_contain_every_skill_once() {
    let scratch = Scratch::with_project();
    let context = scratch.context();
    context
        .write("test", "", |db, project, author| {
            for n in 0..230 {
                let uuid = context.clock.uuid();
                let name = format!("n{n:03}");
                mcpkg_store::prompts::insert(db, author, project, uuid, &name, Default::default(), "x")?;
                if n % 2 == 0 {
                    let file = mcpkg_content::files::File {
                        content: format!("---\nname: {name}\ndescription: stored\n---\n").into_bytes().into(),
                        executable: false,
                    };
                    let clock = &context.clock;
                    mcpkg_content::files::add_to_skill(db, author, project, clock, &name, "SKILL.md", &file)?;
                }
            }
            Ok(())
        })
        .expect("skills");
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let (mut seen, mut params, mut pages) = (Vec::new(), json!({}), 0);
    loop {
        let listed = client.result("skills/list", params);
        seen.extend(names(&listed).into_iter().map(str::to_owned));
        pages += 1;
        match listed.get("nextCursor") {
            Some(cursor) => params = json!({ "cursor": cursor }),
            None => break,
        }
    }
    seen.sort();
    assert_eq!((seen.len(), pages), (230, 3));
    seen.dedup();
    assert_eq!(seen.len(), 230);
    assert_eq!(client.error("skills/list", json!({ "cursor": "x" }))["code"], -32602);
    client.finish();
}

#[test]
fn a_folder_of_a_skill_is_read() {
    let scratch = filled();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let mut children = |uri: &str| {
        let listed = client.result("resources/directory/read", json!({ "uri": uri }));
        let name = |child: &Value| format!("{} {}", child["uri"].as_str().unwrap_or_default(), child["mimeType"]);
        listed["resources"].as_array().expect("children").iter().map(name).collect::<Vec<_>>()
    };
    let top = [
        "skill://pdf/SKILL.md \"text/markdown\"",
        "skill://pdf/logo.png \"image/png\"",
        "skill://pdf/references \"inode/directory\"",
    ];
    assert_eq!(children("skill://pdf"), top);
    assert_eq!(children("skill://pdf/"), top);
    assert_eq!(children("skill://pdf/references"), ["skill://pdf/references/for%20ms.md \"text/markdown\""]);
    for no in ["skill://pdf/SKILL.md", "skill://nobody", "file:///x", "skill://"] {
        assert_eq!(client.error("resources/directory/read", json!({ "uri": no }))["code"], -32602, "{no}");
    }
    client.finish();
}

#[test]
fn agents_create_update_and_delete_skills() {
    let scratch = Scratch::with_project();
    let mut client = Client::legacy(&scratch, "2025-11-25");
    let ok = |text: &str| (text.to_owned(), false);
    let arguments = json!({ "name": "pdf", "content": "# PDF\n", "description": "Reads PDFs" });
    assert_eq!(client.call("create_skill", arguments), ok("Created skill 'pdf' in project 'p'"));
    let (text, failed) = client.call("create_skill", json!({ "name": "Pdf_2", "content": PDF }));
    assert!(failed && text.contains("'Pdf_2' is not a valid skill name"), "{text}");
    let (text, failed) = client.call("update_skill", json!({ "name": "pdf", "content": "no front matter" }));
    assert!(failed && text.contains("SKILL.md:1: it does not begin with front matter"), "{text}");
    assert_eq!(
        client.call("update_skill", json!({ "name": "pdf", "content": "# Forms", "file": "references/forms.md" })),
        ok("Updated skill 'pdf' in project 'p': 1 file changed")
    );
    for bad in ["../x", "/etc/passwd", "a//b", ""] {
        let (text, failed) = client.call("update_skill", json!({ "name": "pdf", "content": "x", "file": bad }));
        assert!(failed && text.contains("is not a valid skill file path"), "{text}");
    }
    let listed = client.result("tools/call", json!({ "name": "list_skills", "arguments": {} }));
    assert_eq!(
        listed["structuredContent"],
        json!({ "skills": [{ "name": "pdf", "description": "Reads PDFs", "uri": "skill://pdf/SKILL.md", "from": "skill", "files": 2 }] })
    );
    let got = client.result(
        "tools/call",
        json!({ "name": "get_skill", "arguments": { "name": "pdf", "file": "references/forms.md" } }),
    );
    assert_eq!(got["content"], json!([{ "type": "text", "text": "# Forms" }]));
    assert_eq!(got["_meta"]["mcpkg/item"]["files"], json!(["skill://pdf/SKILL.md", "skill://pdf/references/forms.md"]));
    let main = client.call("get_skill", json!({ "name": "pdf" })).0;
    assert!(main.ends_with("# PDF\n\nOther files: skill://pdf/references/forms.md"), "{main}");
    assert_eq!(client.call("validate_skills", json!({})), ok("The project's only skill is valid"));
    assert_eq!(
        client.call("delete_skill", json!({ "name": "pdf" })),
        ok("Deleted skill 'pdf' from project 'p' with 2 files")
    );
    let (text, failed) = client.call("delete_skill", json!({ "name": "pdf" }));
    assert!(failed && text.contains("Skill 'pdf' does not exist in project 'p'"), "{text}");
    client.finish();
}
