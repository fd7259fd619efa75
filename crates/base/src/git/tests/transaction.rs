//! Tests moving several refs together.

use super::super::refs;
use super::super::transaction::Transaction;
use super::{Repository, locks};
use crate::error::Code;

#[test]
fn refs_of_two_repositories_are_locked_before_the_first_moves() {
    let (one, two) = (Repository::new(), Repository::new());
    let olds = [&one, &two].map(|repository| {
        let old = repository.at("HEAD");
        repository.run(&["branch", "feature/x"]);
        let new = repository.commit("a.txt", "two\n");
        repository.run(&["branch", "develop", &old]);
        (old, new)
    });
    let gits = [one.git(), two.git()];
    let mut prepared = Vec::new();
    for (git, (old, new)) in gits.iter().zip(&olds) {
        let mut transaction = Transaction::begin(git, "a test").unwrap();
        transaction.update("refs/heads/develop", new, old).unwrap();
        transaction.create("refs/mcpkg/kept/1/develop", old).unwrap();
        transaction.delete("refs/heads/feature/x", old).unwrap();
        transaction.prepare().unwrap();
        prepared.push(transaction);
    }
    for (repository, (old, _)) in [&one, &two].iter().zip(&olds) {
        assert_eq!(repository.at("develop"), *old, "nothing moves before the commit");
        let other = repository.git().run(&["update-ref", "refs/heads/develop", "HEAD"]).unwrap_err();
        assert!(other.message().contains("lock"), "{other}");
    }
    prepared.into_iter().for_each(|transaction| transaction.commit().unwrap());
    for (repository, (old, new)) in [&one, &two].iter().zip(&olds) {
        assert_eq!(repository.at("develop"), *new);
        assert_eq!(repository.at("refs/mcpkg/kept/1/develop"), *old);
        assert_eq!(refs::find(&repository.git(), "refs/heads/feature/x").unwrap(), None);
        assert!(locks(&repository.path(".git")).is_empty());
        assert!(repository.run(&["reflog", "develop"]).contains("a test"));
    }
}

#[test]
fn a_ref_that_moved_is_found_and_nothing_moves() {
    let repository = Repository::new();
    let (git, old) = (repository.git(), repository.at("HEAD"));
    repository.run(&["branch", "other"]);
    let new = repository.commit("a.txt", "two\n");
    let mut transaction = Transaction::begin(&git, "a test").unwrap();
    transaction.update("refs/heads/other", &new, &old).unwrap();
    transaction.update("refs/heads/main", &old, &old).unwrap();
    let error = transaction.prepare().unwrap_err();
    assert_eq!(error.code(), Code::GitFailed);
    assert!(error.message().contains("refs/heads/main"), "{error}");
    drop(transaction);
    assert_eq!((repository.at("other"), repository.at("main")), (old, new));
    assert!(locks(&repository.path(".git")).is_empty());
}

#[test]
fn a_dropped_transaction_moves_nothing() {
    let repository = Repository::new();
    let (git, old) = (repository.git(), repository.at("HEAD"));
    let mut transaction = Transaction::begin(&git, "a test").unwrap();
    transaction.create("refs/heads/new", &old).unwrap();
    transaction.prepare().unwrap();
    drop(transaction);
    assert_eq!(refs::find(&git, "refs/heads/new").unwrap(), None);
    assert!(locks(&repository.path(".git")).is_empty());
}

#[test]
fn a_locked_ref_and_a_cancelled_call_are_errors() {
    let repository = Repository::new();
    let (git, old) = (repository.git(), repository.at("HEAD"));
    let begin = || {
        let mut transaction = Transaction::begin(&git, "a test").unwrap();
        transaction.create("refs/heads/new", &old).unwrap();
        transaction
    };
    let mut first = begin();
    first.prepare().unwrap();
    let mut second = begin();
    let error = second.prepare().unwrap_err();
    assert_eq!(error.code(), Code::GitLocked, "{error}");
    drop(second);
    let mut third = begin();
    repository.never.cancel();
    assert_eq!(third.prepare().unwrap_err().code(), Code::Cancelled);
    // Once prepared, a transaction is committed even if the call is cancelled.
    first.commit().unwrap();
    assert!(repository.path(".git/refs/heads/new").exists());
}
