//! Refuses JSON objects with duplicate keys, since parsers differ in which value they use.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

/// Fails if a text is not valid JSON, or contains an object with duplicate keys.
pub fn check(text: &[u8]) -> Result<(), String> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    Keys.deserialize(&mut reader).and_then(|()| reader.end()).map_err(|error| error.to_string())
}

struct Keys;

impl<'de> DeserializeSeed<'de> for Keys {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, value: D) -> Result<(), D::Error> {
        value.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Keys {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        while items.next_element_seed(Self)?.is_some() {}
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<(), A::Error> {
        let mut keys = HashSet::new();
        while let Some(key) = entries.next_key::<String>()? {
            entries.next_value_seed(Self)?;
            if let Some(twice) = keys.replace(key) {
                return Err(A::Error::custom(format!("the key '{}' appears twice", twice.escape_debug())));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_key_that_an_object_has_twice_is_refused_at_any_depth() {
        for sound in ["{}", r#"{"a":1,"b":{"a":[true,null,"a",1.5,-2]}}"#, r#"[{"a":1},{"a":1}]"#, "\"a\""] {
            assert_eq!(check(sound.as_bytes()), Ok(()), "{sound}");
        }
        for twice in [r#"{"a":1,"a":1}"#, r#"{"a":1,"\u0061":2}"#, r#"[[{"b":{"a":1,"c":0,"a":{}}}]]"#] {
            assert!(check(twice.as_bytes()).is_err_and(|why| why.starts_with("the key 'a' appears twice")), "{twice}");
        }
        for malformed in ["", "{", "{} {}", "[1,]"] {
            assert!(check(malformed.as_bytes()).is_err(), "{malformed}");
        }
    }
}
