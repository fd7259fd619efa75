//! Reads YAML, with errors and warnings that give line, column and a suggestion.

use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::Deserialize;
use serde::de::{
    DeserializeOwned, DeserializeSeed, Deserializer, Error as _, IgnoredAny, IntoDeserializer, MapAccess, Visitor,
};
use serde_json::{Map, Value};
use serde_saphyr::{Location, Spanned};

use mcpkg_base::error::{Code, Error, Result, nearest};
use mcpkg_base::yaml;

/// A mapping that keeps the position of each key and the order of the file.
#[derive(Debug)]
pub(super) struct Pairs<T>(pub(super) Vec<(Spanned<String>, T)>);

impl<T> Default for Pairs<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Pairs<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Pairs<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut pairs = Vec::new();
                while let Some(pair) = map.next_entry()? {
                    pairs.push(pair);
                }
                Ok(Pairs(pairs))
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// A struct that also collects the unknown keys of its mapping.
#[derive(Debug, Default)]
pub(super) struct Known<T> {
    pub(super) value: T,
    pub(super) unknown: Vec<Unknown>,
}

#[derive(Debug)]
pub(super) struct Unknown {
    key: Spanned<String>,
    /// The keys that are known in that mapping.
    known: &'static [&'static str],
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Known<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Reader<T> {
            type Value = Known<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("keys and values")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                let mut unknown = Vec::new();
                let value = T::deserialize(Fields { map, known: &[], unknown: &mut unknown })?;
                Ok(Known { value, unknown })
            }
        }
        deserializer.deserialize_map(Reader(PhantomData))
    }
}

/// Passes the entries with known keys to a struct, and collects the other keys.
struct Fields<'u, A> {
    map: A,
    known: &'static [&'static str],
    unknown: &'u mut Vec<Unknown>,
}

impl<'de, A: MapAccess<'de>> Deserializer<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _name: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        visitor.visit_map(Self { known: fields, ..self })
    }

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, A::Error> {
        Err(A::Error::custom("only a struct has known keys"))
    }

    serde::forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit unit_struct
        newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'_, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        while let Some(key) = self.map.next_key::<Spanned<String>>()? {
            if self.known.contains(&key.value.as_str()) {
                return seed.deserialize(key.value.into_deserializer()).map(Some);
            }
            self.map.next_value::<IgnoredAny>()?;
            self.unknown.push(Unknown { key, known: self.known });
        }
        Ok(None)
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        self.map.next_value_seed(seed)
    }
}

impl Unknown {
    /// Returns a warning for the author of the file `path`: where the key is, and which one was probably meant.
    pub(super) fn warning(&self, path: &Path) -> String {
        let at = place(path, Some(self.key.referenced));
        let key = self.key.value.escape_debug();
        match nearest(&self.key.value, self.known.iter().copied()) {
            Some(meant) => format!("`{at}`: unknown key `{key}` is ignored; did you mean `{meant}`?"),
            None => format!("`{at}`: unknown key `{key}` is ignored; the known keys are {}", self.known.join(", ")),
        }
    }
}

/// The maximum number of values that a file's aliases may expand to, so that a few lines cannot become millions.
const MAX_ALIASED: usize = 100_000;

/// Reads the YAML `text` of the file `path`.
///
/// # Errors
/// `E_CONFIG_INVALID` with the details `path`, `error`, `line` and `column` if it is malformed.
pub(super) fn read<T: DeserializeOwned>(path: &Path, text: &str) -> Result<T> {
    // `enabled: yes` is common in these files.
    let mut options = yaml::options(MAX_ALIASED);
    options.strict_booleans = false;
    yaml::read(text, options).map_err(|malformed| {
        let place = malformed.at;
        let (why, meant) = match malformed.unknown {
            Some((value, expected)) => {
                let why = format!("unknown value `{value}`; expected one of {}", expected.join(", "));
                (why, nearest(&value, expected.iter().copied()).map(str::to_owned))
            }
            None => (malformed.why, None),
        };
        let mut details = Map::new();
        details.insert("error".to_owned(), why.clone().into());
        if let Some(meant) = &meant {
            details.insert("did_you_mean".to_owned(), meant.clone().into());
        }
        let error = invalid(path, place, &why, details);
        match meant {
            Some(meant) => error.hint(format!("did you mean `{meant}`?")),
            None => error,
        }
    })
}

/// Returns `E_CONFIG_INVALID` about a place in the file `path`. The details have the keys `path`, `line` and `column`.
pub(super) fn invalid(path: &Path, place: Option<Location>, why: &str, details: Map<String, Value>) -> Error {
    at(Code::ConfigInvalid, path, place, why, details)
}

/// Returns an error with `code` about a place in the file `path`. The details have the keys `path`, `line` and
/// `column`.
pub(super) fn at(
    code: Code,
    path: &Path,
    place: Option<Location>,
    why: &str,
    mut details: Map<String, Value>,
) -> Error {
    details.insert("path".to_owned(), path.display().to_string().into());
    if let Some(place) = known(place) {
        details.insert("line".to_owned(), place.line().into());
        details.insert("column".to_owned(), place.column().into());
    }
    Error::new(code, format!("`{}`: {why}", self::place(path, place))).with_details(Value::Object(details))
}

fn known(place: Option<Location>) -> Option<Location> {
    place.filter(|place| *place != Location::UNKNOWN)
}

/// Returns a place in a file as `path:line:column`.
fn place(path: &Path, place: Option<Location>) -> String {
    match known(place) {
        Some(place) => format!("{}:{}:{}", path.display(), place.line(), place.column()),
        None => path.display().to_string(),
    }
}
