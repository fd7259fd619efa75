//! Tests cloning, fetching and pushing.

use super::super::remote::{self, Update};
use super::super::{Git, LOCAL, refs};
use super::Repository;
use crate::process::Limits;

#[test]
fn refs_are_pushed_all_or_none() {
    let repository = Repository::new();
    let limits = Limits::new(LOCAL, &repository.never);
    let [bare, mine, theirs] = ["bare.git", "mine", "theirs"].map(|name| repository.top.with_file_name(name));
    repository.run(&["branch", "feature"]);
    repository.run(&["clone", "--quiet", "--bare", ".", &bare.display().to_string()]);
    for place in [&mine, &theirs] {
        remote::clone(&bare.display().to_string(), None, place, &limits, Box::new(|_| {})).unwrap();
    }
    let [mine, theirs] = [&mine, &theirs].map(|place| {
        let git = Git::of(place, &repository.never);
        for (key, value) in [("user.name", "A U Thor"), ("user.email", "author@example.com")] {
            git.run(&["config", key, value]).unwrap();
        }
        git
    });
    let old = repository.at("feature");
    let commit = |git: &Git<'_>, message: &str| {
        git.run(&["commit", "--quiet", "--allow-empty", "-m", message]).unwrap();
        git.text(&["rev-parse", "HEAD"]).unwrap()
    };
    let (one, two) = (commit(&mine, "mine"), commit(&theirs, "theirs"));
    let set = |id: &str| Update::Set { name: "refs/heads/main".to_owned(), id: id.to_owned() };
    let delete = |old: &str| Update::Delete { name: "refs/heads/feature".to_owned(), old: old.to_owned() };
    let pushed = remote::push(&theirs, &[set(&two)]).unwrap();
    assert!(pushed.len() == 1 && !pushed[0].is_refused, "{pushed:?}");

    // One ref cannot be fast-forwarded, so the push does not delete the other ref either.
    let refused = remote::push(&mine, &[set(&one), delete(&old)]).unwrap();
    assert!(refused.iter().any(|row| row.name == "refs/heads/main" && row.is_refused), "{refused:?}");
    let origin = Git::new(&bare, limits);
    assert_eq!(refs::commit(&origin, "refs/heads/feature").unwrap().as_deref(), Some(old.as_str()));

    remote::fetch(&mine, Box::new(|_| {})).unwrap();
    mine.run(&["rebase", "--quiet", "origin/main"]).unwrap();
    let one = mine.text(&["rev-parse", "HEAD"]).unwrap();
    // The expected old value does not match, so the push is refused.
    let refused = remote::push(&mine, &[set(&one), delete(&one)]).unwrap();
    assert!(refused.iter().any(|row| row.name == "refs/heads/feature" && row.is_refused), "{refused:?}");
    assert_eq!(refs::commit(&origin, "refs/heads/main").unwrap(), Some(two));
    let pushed = remote::push(&mine, &[set(&one), delete(&old)]).unwrap();
    assert!(pushed.iter().all(|row| !row.is_refused), "{pushed:?}");
    assert_eq!(refs::commit(&origin, "refs/heads/main").unwrap(), Some(one));
    assert_eq!(refs::find(&origin, "refs/heads/feature").unwrap(), None);

    std::fs::remove_dir_all(&bare).unwrap();
    assert!(remote::push(&mine, &[set(&old)]).is_err());
    assert!(remote::fetch(&mine, Box::new(|_| {})).is_err());
}
