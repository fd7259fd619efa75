use proptest::prelude::*;

use super::super::errno::Errno;
use super::*;

#[test]
fn a_package_is_a_tree_of_folders() {
    let mut tree = Tree::default();
    let root = tree.mount(None);
    for path in ["a/b/c", "a/d", "a/d", "e", "e/f"] {
        tree.give(root, path, Arc::from(path.as_bytes()));
    }
    for (path, holds) in [("a/b/c", "a/b/c"), ("a/d", "a/d"), ("e", "e"), ("a/b/../../e", "e"), ("./a/./d", "a/d")] {
        let found = find(&tree, root, path).expect("there");
        assert_eq!(tree.bytes(found), Ok(holds.as_bytes()));
    }
    for (path, errno) in [
        ("e/f", Errno::NOTDIR),
        ("a/x", Errno::NOENT),
        ("a/x/../d", Errno::NOENT),
        ("..", Errno::NOTCAPABLE),
        ("a/../..", Errno::NOTCAPABLE),
        ("/a", Errno::NOTCAPABLE),
        ("", Errno::NOENT),
        ("a/d/", Errno::NOTDIR),
    ] {
        assert_eq!(find(&tree, root, path), Err(errno), "{path}");
    }
    let inner = find(&tree, root, "a").expect("there");
    assert_eq!(find(&tree, inner, "../e"), Err(Errno::NOTCAPABLE), "a folder bounds what is below it");
    for (path, errno) in
        [(".", Errno::INVAL), ("a/..", Errno::INVAL), ("..", Errno::NOTCAPABLE), ("/", Errno::NOTCAPABLE)]
    {
        assert_eq!(place(&tree, root, path), Err(errno), "{path}");
    }
}

/// A random change of the file system.
#[derive(Clone, Debug)]
enum Step {
    Make(String, bool),
    Write(String, u16, u16),
    Resize(String, u16),
    Remove(String, bool),
    Rename(String, String),
}

fn step() -> impl Strategy<Value = Step> {
    let path = || "[ab](/[ab]){0,2}";
    prop_oneof![
        3 => (path(), any::<bool>()).prop_map(|(path, is_folder)| Step::Make(path, is_folder)),
        3 => (path(), 0_u16..700, 0_u16..700).prop_map(|(path, at, length)| Step::Write(path, at, length)),
        1 => (path(), 0_u16..700).prop_map(|(path, size)| Step::Resize(path, size)),
        2 => (path(), any::<bool>()).prop_map(|(path, is_folder)| Step::Remove(path, is_folder)),
        2 => (path(), path()).prop_map(|(from, to)| Step::Rename(from, to)),
    ]
}

/// Returns the number of bytes below a folder, and the number of files and folders.
fn total(tree: &Tree, folder: Id) -> (u64, usize) {
    tree.entries(folder).into_iter().flatten().fold((0, 0), |(bytes, nodes), (_, id)| {
        let facts = tree.facts(*id).expect("there");
        let inside = if facts.is_folder { total(tree, *id) } else { (facts.size, 0) };
        (bytes + inside.0, nodes + inside.1 + 1)
    })
}

proptest! {
    #![proptest_config(crate::seed::config(256))]

    #[test]
    fn a_file_system_never_exceeds_its_limit(steps in prop::collection::vec(step(), 1..80)) {
        let mut tree = Tree::default();
        let root = tree.mount(Some(Room::new(1000, 600)));
        for step in &steps {
            let before = total(&tree, root);
            let done = match step {
                Step::Make(path, is_folder) => place(&tree, root, path)
                    .and_then(|place| tree.make(place.folder, place.name, *is_folder, 0).map(drop)),
                Step::Write(path, at, length) => find(&tree, root, path)
                    .and_then(|id| tree.write(id, u64::from(*at), &vec![1; usize::from(*length)], 0).map(drop)),
                Step::Resize(path, size) => {
                    find(&tree, root, path).and_then(|id| tree.resize(id, u64::from(*size), 0))
                }
                Step::Remove(path, is_folder) => place(&tree, root, path)
                    .and_then(|place| tree.remove(place.folder, place.name, *is_folder)),
                Step::Rename(from, to) => place(&tree, root, from).and_then(|from| {
                    let to = place(&tree, root, to)?;
                    tree.rename((from.folder, from.name), (to.folder, to.name), 0)
                }),
            };
            let after = total(&tree, root);
            prop_assert!(after.0 <= 1000, "{:?}", after);
            if done.is_err() {
                prop_assert_eq!(before, after, "{:?} failed and changed something", step);
            }
        }
        // After everything is removed, all of the space is free again.
        while let Some((name, id)) = tree.entries(root).expect("a root").iter().next().map(|(n, i)| (n.clone(), *i)) {
            let mut way = vec![(root, name, id)];
            while let Some((folder, name, id)) = way.pop() {
                let inside = tree.entries(id).ok().and_then(|e| e.iter().next().map(|(n, i)| (n.clone(), *i)));
                match inside {
                    Some((inner, inner_id)) => {
                        way.push((folder, name, id));
                        way.push((id, inner, inner_id));
                    }
                    None => {
                        let is_folder = tree.facts(id).expect("there").is_folder;
                        tree.remove(folder, &name, is_folder).expect("removed");
                    }
                }
            }
        }
        let file = tree.make(root, "last", false, 0).expect("made");
        prop_assert_eq!(tree.write(file, 0, &[1; 600], 0), Ok(600));
        let file = tree.make(root, "other", false, 0).expect("made");
        prop_assert_eq!(tree.write(file, 0, &[1; 600], 0), Ok(400));
    }
}
