//! Tests of git settings and hooks that run programs. Each test plants them in a repository's `.git`, because somebody
//! may copy a repository together with its `.git`. mcpkg runs none of these programs until a person trusts the
//! repository.

use std::path::Path;

use serde_json::json;

use super::foreign::{LINES, everything, program, ran};
use super::shop::Shop;
use crate::support::Client;

/// A way to make git run a program.
struct Way {
    /// The name of the way, for messages.
    name: &'static str,
    /// The settings, in which `EVIL` is replaced with the program.
    settings: &'static [(&'static str, &'static str)],
    /// Prepares what else the settings need.
    prepare: fn(&Shop, &Path),
    /// Whether the program runs in this test once a person trusts the repository. Some programs do not, for example
    /// because they need a server that asks for a password.
    fires: bool,
}

const WAYS: &[Way] = &[
    Way {
        name: "filters",
        settings: &[("filter.evil.clean", "EVIL"), ("filter.evil.smudge", "EVIL")],
        prepare: attributes,
        fires: true,
    },
    Way { name: "a filter process", settings: &[("filter.evil.process", "EVIL")], prepare: attributes, fires: true },
    Way { name: "a merge driver", settings: &[("merge.evil.driver", "EVIL")], prepare: attributes, fires: false },
    Way {
        name: "diffs",
        settings: &[("diff.evil.command", "EVIL"), ("diff.evil.textconv", "EVIL"), ("diff.external", "EVIL")],
        prepare: attributes,
        fires: false,
    },
    Way {
        name: "alternates",
        settings: &[("core.alternateRefsCommand", "EVIL")],
        prepare: |shop, web| {
            let objects = shop.origin("lib").join("objects").display().to_string();
            std::fs::write(web.join(".git/objects/info/alternates"), format!("{objects}\n")).expect("a file");
            news(shop);
        },
        fires: true,
    },
    Way { name: "upload-pack", settings: &[("remote.origin.uploadpack", "EVIL")], prepare: nothing, fires: true },
    Way { name: "receive-pack", settings: &[("remote.origin.receivepack", "EVIL")], prepare: nothing, fires: true },
    Way { name: "a remote helper", settings: &[("remote.origin.vcs", "EVIL")], prepare: nothing, fires: false },
    Way {
        name: "missing objects",
        settings: &[
            ("extensions.partialClone", "lost"),
            ("remote.lost.url", "../origins/lib.git"),
            ("remote.lost.promisor", "true"),
            ("remote.lost.uploadpack", "EVIL"),
        ],
        prepare: |shop, web| {
            // Delete the object of a committed file. To read it, git would have to fetch it from the remote `lost`.
            std::fs::write(web.join("code.txt"), "changed\n").expect("a file");
            shop.git(web, &["commit", "-q", "-a", "-m", "changed"]);
            let blob = shop.git(web, &["rev-parse", "HEAD:code.txt"]);
            std::fs::remove_file(web.join(".git/objects").join(&blob[..2]).join(&blob[2..])).expect("an object");
        },
        fires: false,
    },
    Way {
        name: "ssh",
        settings: &[("core.sshCommand", "EVIL"), ("remote.origin.url", "ssh://nohost.invalid/web.git")],
        prepare: nothing,
        fires: true,
    },
    Way {
        name: "a proxy",
        settings: &[("core.gitProxy", "EVIL"), ("remote.origin.url", "git://nohost.invalid/web.git")],
        prepare: nothing,
        fires: true,
    },
    Way {
        name: "passwords",
        settings: &[
            ("core.askPass", "EVIL"),
            ("credential.helper", "EVIL"),
            ("credential.https://nohost.invalid.helper", "EVIL"),
        ],
        prepare: nothing,
        fires: false,
    },
    Way {
        name: "signed commits",
        settings: &[("gpg.program", "EVIL"), ("commit.gpgSign", "true")],
        prepare: |shop, _| work(shop),
        fires: true,
    },
    Way {
        name: "signed tags",
        settings: &[("gpg.program", "EVIL"), ("tag.gpgSign", "true")],
        prepare: nothing,
        fires: true,
    },
    Way {
        name: "tags signed with a key of ssh's",
        settings: &[("gpg.format", "ssh"), ("gpg.ssh.defaultKeyCommand", "EVIL"), ("tag.gpgSign", "true")],
        prepare: nothing,
        fires: true,
    },
    Way {
        name: "signed pushes",
        settings: &[("gpg.program", "EVIL"), ("push.gpgSign", "if-asked")],
        prepare: |shop, _| {
            shop.git(&shop.origin("web"), &["config", "receive.certNonceSeed", "seed"]);
        },
        fires: true,
    },
    Way {
        name: "signatures of others",
        settings: &[("gpg.openpgp.program", "EVIL"), ("merge.verifySignatures", "true"), ("log.showSignature", "true")],
        prepare: |shop, _| signed_news(shop),
        fires: true,
    },
    Way { name: "a folder of hooks", settings: &[("core.hooksPath", ".git/evil")], prepare: hooks, fires: true },
    Way {
        name: "hooks",
        settings: &[],
        prepare: |shop, web| {
            hooks(shop, web);
            std::fs::remove_dir_all(web.join(".git/hooks")).expect("hooks");
            std::fs::rename(web.join(".git/evil"), web.join(".git/hooks")).expect("hooks");
        },
        fires: true,
    },
    Way {
        name: "the hook of refs",
        settings: &[],
        prepare: |shop, web| {
            work(shop);
            let hook = program(shop, "hook", "exit 0");
            std::fs::create_dir_all(web.join(".git/hooks")).expect("a folder");
            std::fs::copy(hook, web.join(".git/hooks/reference-transaction")).expect("a hook");
        },
        fires: true,
    },
    Way {
        name: "files elsewhere",
        settings: &[("core.worktree", "../../elsewhere")],
        prepare: |shop, _| std::fs::create_dir_all(shop.root().join("elsewhere")).expect("a folder"),
        fires: false,
    },
    Way {
        name: "hooks of the configuration",
        settings: &[("hook.evil.command", "EVIL"), ("hook.evil.event", "reference-transaction")],
        prepare: nothing,
        // Only newer releases of git have these hooks.
        fires: false,
    },
    Way {
        name: "large files",
        settings: &[("lfs.customtransfer.evil.path", "EVIL"), ("lfs.extension.evil.clean", "EVIL")],
        prepare: nothing,
        fires: false,
    },
];

/// Settings that name programs which mcpkg never runs, even in a trusted repository.
const UNUSED: &[(&str, &str)] = &[
    ("core.fsmonitor", "EVIL"),
    ("core.pager", "EVIL"),
    ("pager.status", "EVIL"),
    ("pager.log", "EVIL"),
    ("core.editor", "EVIL"),
    ("sequence.editor", "EVIL"),
    ("alias.status", "!EVIL"),
    ("alias.fetch", "!EVIL"),
    ("alias.merge-tree", "!EVIL"),
    ("trailer.sign.command", "EVIL"),
    ("trailer.sign.cmd", "EVIL"),
    ("interactive.diffFilter", "EVIL"),
    ("difftool.evil.cmd", "EVIL"),
    ("diff.tool", "evil"),
    ("mergetool.evil.cmd", "EVIL"),
    ("merge.tool", "evil"),
    ("man.evil.cmd", "EVIL"),
    ("browser.evil.cmd", "EVIL"),
    ("tar.tgz.command", "EVIL"),
    ("gc.recentObjectsHook", "EVIL"),
    ("gc.auto", "1"),
    ("maintenance.auto", "true"),
    ("uploadpack.packObjectsHook", "EVIL"),
    ("sendemail.sendmailCmd", "EVIL"),
    ("protocol.ext.allow", "always"),
    ("protocol.allow", "always"),
    ("log.showSignature", "true"),
    ("commit.verbose", "true"),
    ("status.submoduleSummary", "true"),
];

fn nothing(_: &Shop, _: &Path) {}

fn attributes(_: &Shop, web: &Path) {
    std::fs::write(web.join(".git/info/attributes"), "* filter=evil diff=evil merge=evil\n").expect("a file");
    // Make the file look changed, so that git has to read it.
    std::fs::write(web.join("code.txt"), "one\ntwo\nthree\n").expect("a file");
}

/// Creates commits to merge, sign and push.
fn work(shop: &Shop) {
    shop.ok(&["flow", "feature", "start", "login"]);
    shop.work("login.txt");
}

/// Creates hooks of many kinds in the folder `.git/evil`.
fn hooks(shop: &Shop, web: &Path) {
    let hook = program(shop, "hook", "exit 0");
    std::fs::create_dir_all(web.join(".git/evil")).expect("a folder");
    for name in [
        "post-checkout",
        "post-commit",
        "post-index-change",
        "post-merge",
        "post-rewrite",
        "pre-auto-gc",
        "pre-commit",
        "pre-merge-commit",
        "pre-push",
        "prepare-commit-msg",
        "commit-msg",
        "reference-transaction",
        "fsmonitor-watchman",
        "sendemail-validate",
    ] {
        std::fs::copy(&hook, web.join(".git/evil").join(name)).expect("a hook");
    }
}

/// Commits to the main branch of `web` at its origin, as another user.
fn news(shop: &Shop) -> std::path::PathBuf {
    let other = shop.scratch.path().join("others/web");
    std::fs::create_dir_all(other.parent().expect("a folder")).expect("a folder");
    let place = other.display().to_string();
    shop.git(shop.scratch.path(), &["clone", "-q", &shop.origin("web").display().to_string(), &place]);
    shop.commit(&other, "theirs.txt", "theirs\n");
    shop.git(&other, &["push", "-q"]);
    other
}

/// Like [`news`], but with a signature that nobody can verify.
fn signed_news(shop: &Shop) {
    let other = news(shop);
    let commit = shop.git(&other, &["cat-file", "commit", "HEAD"]);
    let (head, message) = commit.split_once("\n\n").expect("a message");
    let signature = "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQ==\n -----END PGP SIGNATURE-----";
    std::fs::write(other.join("signed"), format!("{head}\n{signature}\n\n{message}\n")).expect("a file");
    let id = shop.git(&other, &["hash-object", "-t", "commit", "-w", "signed"]);
    shop.git(&other, &["push", "-q", "--force", "origin", &format!("{id}:refs/heads/main")]);
}

fn plant(shop: &Shop, settings: &[(&str, &str)]) {
    let evil = program(shop, "evil", "exit 1");
    for (key, value) in settings {
        shop.git(&shop.repo("web"), &["config", key, &value.replace("EVIL", &evil)]);
    }
}

#[test]
fn no_setting_of_a_repository_runs_a_program_until_a_person_trusts_it() {
    let mut wrong = Vec::new();
    let shop = Shop::new();
    let web = shop.repo("web");
    let pristine = shop.save();
    for way in WAYS {
        shop.bring_back(&pristine);
        (way.prepare)(&shop, &web);
        plant(&shop, way.settings);
        let saved = shop.save();
        let (_, refused) = everything(&shop, way.name);
        if !ran(&shop).is_empty() {
            wrong.push(format!("{}: it ran", way.name));
        }
        // If nothing was refused, no command would have used the setting.
        if !refused {
            wrong.push(format!("{}: nothing was refused", way.name));
        }
        if way.fires {
            shop.bring_back(&saved);
            shop.trust("web");
            let mut done = String::new();
            for line in LINES {
                done.push_str(&format!("{line}: {}\n", shop.run(&line.split(' ').collect::<Vec<_>>())));
                if !ran(&shop).is_empty() {
                    break;
                }
            }
            if ran(&shop).is_empty() {
                wrong.push(format!(
                    "{}: it does not run once it is trusted, so that this shows nothing\n{done}",
                    way.name
                ));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn programs_that_mcpkg_does_not_need_never_run() {
    let shop = Shop::new();
    let web = shop.repo("web");
    work(&shop);
    // Hooks that mcpkg skips even if a merge is supposed to run hooks.
    let hook = program(&shop, "hook", "exit 0");
    std::fs::create_dir_all(web.join(".git/hooks")).expect("a folder");
    for name in ["post-index-change", "post-commit", "pre-commit", "post-rewrite", "pre-auto-gc", "fsmonitor-watchman"]
    {
        std::fs::copy(&hook, web.join(".git/hooks").join(name)).expect("a hook");
    }
    plant(&shop, UNUSED);
    let (done, refused) = everything(&shop, "unused");
    assert!(!refused, "{done}");
    assert_eq!(ran(&shop), "", "{done}");
    // A transport that is a command line, given directly and through `insteadOf`.
    let evil = program(&shop, "ext", "cat");
    for (key, value) in [
        ("remote.origin.url", format!("ext::sh -c {evil}")),
        ("remote.origin.url", "short:web".to_owned()),
        (&*format!("url.ext::sh -c {evil} .insteadOf"), "short:".to_owned()),
    ] {
        shop.git(&web, &["config", key, &value]);
        let sync = shop.run(&["workspace", "sync"]);
        assert_ne!(sync.status, 0, "{sync}");
    }
    assert_eq!(ran(&shop), "");
    let mut client = Client::spawn(shop.command().args(["serve", "--as", "smctl"])).shake_hands("2025-06-18");
    client.result("tools/call", json!({ "name": "smctl_workspace_status", "arguments": {} }));
    client.finish();
    assert_eq!(ran(&shop), "");
}
