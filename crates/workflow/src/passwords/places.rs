//! Places inside a value, as JSON pointers with wildcards. `*` stands for any key or index, and `**` for any number of them.

use crate::expression::Segment;

/// Matches any key or index.
pub const ANY: &str = "*";

/// Matches any number of keys and indices, including none.
pub const ANY_DEPTH: &str = "**";

/// A set of places inside a value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Places(Vec<Vec<String>>);

impl Places {
    /// Parses JSON pointers. An empty pointer stands for the whole value.
    pub fn of(pointers: &[String]) -> Self {
        let part = |part: &str| part.replace("~1", "/").replace("~0", "~");
        let of = |pointer: &String| pointer.split('/').skip(1).map(part).collect();
        Self(pointers.iter().map(of).collect())
    }

    pub fn whole() -> Self {
        Self(vec![Vec::new()])
    }

    pub fn at(paths: Vec<Vec<String>>) -> Self {
        Self(paths)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether the set contains the whole value.
    pub fn is_whole(&self) -> bool {
        self.0.iter().any(|path| path.iter().all(|part| part == ANY_DEPTH))
    }

    /// Returns the places inside the value of a key, relative to that value.
    pub fn within(&self, key: &str) -> Self {
        let mut within = Vec::new();
        self.0.iter().for_each(|path| after(path, key, &mut within));
        Self(within)
    }

    /// Returns the same places, relative to an outer value that contains this value at `segments`.
    pub fn below(&self, segments: &[Segment]) -> Self {
        let above: Vec<String> = segments.iter().map(key).collect();
        Self(self.0.iter().map(|path| [above.as_slice(), path].concat()).collect())
    }

    /// Like [`Places::below`], for a single key.
    pub fn below_key(&self, key: &str) -> Self {
        self.below(&[Segment::Key(key.to_owned())])
    }

    pub fn add(&mut self, other: Self) {
        let new: Vec<_> = other.0.into_iter().filter(|path| !self.0.contains(path)).collect();
        self.0.extend(new);
    }

    /// Returns the places as JSON pointers, sorted and without duplicates.
    pub fn pointers(&self) -> Vec<String> {
        let part = |part: &String| format!("/{}", part.replace('~', "~0").replace('/', "~1"));
        let mut pointers: Vec<String> = self.0.iter().map(|path| path.iter().map(part).collect()).collect();
        pointers.sort_unstable();
        pointers.dedup();
        pointers
    }
}

fn key(segment: &Segment) -> String {
    match segment {
        Segment::Key(key) => key.clone(),
        Segment::Index(index) => index.to_string(),
    }
}

/// If `path` leads through `key`, appends what remains of it to `left`. A path that already ended leaves an empty path,
/// because a place includes everything inside it.
fn after(path: &[String], key: &str, left: &mut Vec<Vec<String>>) {
    match path.split_first() {
        None => left.push(Vec::new()),
        Some((first, rest)) if first == ANY_DEPTH => {
            left.push(path.to_vec());
            after(rest, key, left);
        }
        Some((first, rest)) if first == ANY || first == key => left.push(rest.to_vec()),
        Some(_) => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pointer_covers_its_value_and_everything_inside() {
        let is_at = |pointer: &str, way: &[&str]| {
            let places = Places::of(&[pointer.to_owned()]);
            way.iter().fold(places, |places, key| places.within(key)).is_whole()
        };
        for (pointer, way, expected) in [
            ("", &[][..], true),
            ("", &["a", "b"], true),
            ("/a/b", &["a", "b"], true),
            ("/a/b", &["a", "b", "c"], true),
            ("/a/b", &["a"], false),
            ("/a/b", &["b"], false),
            ("/a~1b/~0", &["a/b", "~"], true),
            ("/*/b", &["7", "b"], true),
            ("/*/b", &["b"], false),
            ("/a/**/b", &["a", "b"], true),
            ("/a/**/b", &["a", "x", "0", "b"], true),
            ("/a/**/b", &["a", "x"], false),
        ] {
            assert_eq!(is_at(pointer, way), expected, "{pointer} {way:?}");
        }
    }

    #[test]
    fn places_move_with_their_value() {
        let places = Places::of(&["/x".to_owned()]);
        let above = [Segment::Key("a/b".to_owned()), Segment::Index(3)];
        assert_eq!(places.below(&above).pointers(), ["/a~1b/3/x"]);
        assert_eq!(places.below(&above).within("a/b").within("3"), places);
        assert!(places.within("y").is_empty());
    }
}
