//! The values of statements' parameters and of rows.

use std::borrow::Cow;

use uuid::Uuid;

use super::errors::damaged;
use mcpkg_base::error::{Error, Result};

/// A value, borrowed from its owner or from a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Value<'v> {
    Null,
    /// An integer; 0 or 1 for a bool.
    Integer(i64),
    Real(f64),
    /// A text. It is UTF-8, unless the file is damaged.
    Text(&'v [u8]),
    Blob(&'v [u8]),
}

impl<'v> Value<'v> {
    /// Converts the value of column `column` into `T`.
    pub(crate) fn read<T: FromValue<'v>>(self, column: usize) -> Result<T> {
        T::from_value(self).ok_or_else(|| mismatch(column, self))
    }

    /// Returns the bytes of a text in column `column`, without checking that they are UTF-8; `None` for NULL. Use
    /// this only for rows that a checksum has already verified.
    pub(crate) fn text(self, column: usize) -> Result<Option<&'v [u8]>> {
        match self {
            Value::Text(text) => Ok(Some(text)),
            Value::Null => Ok(None),
            _ => Err(mismatch(column, self)),
        }
    }
}

#[cold]
fn mismatch(column: usize, value: Value<'_>) -> Error {
    let holds = match value {
        Value::Null => "nothing",
        Value::Integer(_) => "an unknown integer",
        Value::Real(_) => "a floating-point number",
        Value::Text(text) if std::str::from_utf8(text).is_err() => "a text that is not UTF-8",
        Value::Text(_) => "a text",
        Value::Blob(_) => "unknown bytes",
    };
    damaged(format_args!("column {column} of a row holds {holds}"))
}

/// Types that can be parameters of a statement.
pub(crate) trait ToValue {
    fn to_value(&self) -> Value<'_>;
}

/// Makes the parameters of a statement; `?1` is the first.
macro_rules! params {
    ($($value:expr),* $(,)?) => {
        &[$($crate::engine::ToValue::to_value(&$value)),*]
    };
}
pub(crate) use params;

impl ToValue for Value<'_> {
    fn to_value(&self) -> Value<'_> {
        *self
    }
}

impl<T: ToValue + ?Sized> ToValue for &T {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

impl<T: ToValue> ToValue for Option<T> {
    fn to_value(&self) -> Value<'_> {
        self.as_ref().map_or(Value::Null, T::to_value)
    }
}

impl<T: ToValue + ToOwned + ?Sized> ToValue for Cow<'_, T> {
    fn to_value(&self) -> Value<'_> {
        (**self).to_value()
    }
}

impl ToValue for i64 {
    fn to_value(&self) -> Value<'_> {
        Value::Integer(*self)
    }
}

impl ToValue for u32 {
    fn to_value(&self) -> Value<'_> {
        Value::Integer((*self).into())
    }
}

impl ToValue for bool {
    fn to_value(&self) -> Value<'_> {
        Value::Integer((*self).into())
    }
}

impl ToValue for str {
    fn to_value(&self) -> Value<'_> {
        Value::Text(self.as_bytes())
    }
}

impl ToValue for String {
    fn to_value(&self) -> Value<'_> {
        self.as_str().to_value()
    }
}

impl ToValue for [u8] {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl<const N: usize> ToValue for [u8; N] {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self)
    }
}

impl ToValue for Uuid {
    fn to_value(&self) -> Value<'_> {
        Value::Blob(self.as_bytes())
    }
}

/// Types that can be read from a row. Texts and blobs can be borrowed from the row without a copy.
pub(crate) trait FromValue<'v>: Sized {
    /// Converts a value; `None` if it has another type.
    fn from_value(value: Value<'v>) -> Option<Self>;
}

impl<'v> FromValue<'v> for Value<'v> {
    fn from_value(value: Value<'v>) -> Option<Self> {
        Some(value)
    }
}

impl<'v, T: FromValue<'v>> FromValue<'v> for Option<T> {
    fn from_value(value: Value<'v>) -> Option<Self> {
        match value {
            Value::Null => Some(None),
            value => T::from_value(value).map(Some),
        }
    }
}

impl FromValue<'_> for i64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        if let Value::Integer(integer) = value { Some(integer) } else { None }
    }
}

impl FromValue<'_> for u32 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        i64::from_value(value)?.try_into().ok()
    }
}

impl FromValue<'_> for u64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        i64::from_value(value)?.try_into().ok()
    }
}

impl FromValue<'_> for bool {
    fn from_value(value: Value<'_>) -> Option<Self> {
        i64::from_value(value).map(|integer| integer != 0)
    }
}

impl FromValue<'_> for f64 {
    fn from_value(value: Value<'_>) -> Option<Self> {
        if let Value::Real(real) = value { Some(real) } else { None }
    }
}

impl<'v> FromValue<'v> for &'v str {
    fn from_value(value: Value<'v>) -> Option<Self> {
        if let Value::Text(text) = value { std::str::from_utf8(text).ok() } else { None }
    }
}

impl FromValue<'_> for String {
    fn from_value(value: Value<'_>) -> Option<Self> {
        <&str>::from_value(value).map(str::to_owned)
    }
}

impl<'v> FromValue<'v> for &'v [u8] {
    fn from_value(value: Value<'v>) -> Option<Self> {
        if let Value::Blob(bytes) = value { Some(bytes) } else { None }
    }
}

impl FromValue<'_> for Vec<u8> {
    fn from_value(value: Value<'_>) -> Option<Self> {
        <&[u8]>::from_value(value).map(<[u8]>::to_vec)
    }
}

impl<const N: usize> FromValue<'_> for [u8; N] {
    fn from_value(value: Value<'_>) -> Option<Self> {
        <&[u8]>::from_value(value)?.try_into().ok()
    }
}

impl FromValue<'_> for Uuid {
    fn from_value(value: Value<'_>) -> Option<Self> {
        <[u8; 16]>::from_value(value).map(Uuid::from_bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_read_as_its_own_type_only() {
        assert_eq!(<&str>::from_value(Value::Text(b"a")), Some("a"));
        assert_eq!(<&str>::from_value(Value::Text(b"\xff")), None, "not UTF-8");
        assert_eq!(<&str>::from_value(Value::Blob(b"a")), None);
        assert_eq!(<&[u8]>::from_value(Value::Text(b"a")), None);
        assert_eq!(Option::<&str>::from_value(Value::Null), Some(None));
        assert_eq!(Option::<&str>::from_value(Value::Integer(1)), None);
        assert_eq!(i64::from_value(Value::Null), None);
        assert_eq!(u32::from_value(Value::Integer(-1)), None);
        assert_eq!(bool::from_value(Value::Integer(1)), Some(true));
        assert_eq!(<[u8; 2]>::from_value(Value::Blob(&[1, 2])), Some([1, 2]));
        assert_eq!(<[u8; 2]>::from_value(Value::Blob(&[1])), None);
    }

    #[test]
    fn parameters_become_values() {
        let (text, none, uuid, bytes) = (Cow::Borrowed("a"), None::<String>, Uuid::nil(), [3_u8; 1]);
        let given: &[Value<'_>] = params![1_i64, true, text, none, Some("b"), uuid, bytes];
        assert_eq!(
            given,
            [
                Value::Integer(1),
                Value::Integer(1),
                Value::Text(b"a"),
                Value::Null,
                Value::Text(b"b"),
                Value::Blob(&[0; 16]),
                Value::Blob(&[3]),
            ]
        );
    }
}
