//! Tensors: what a model takes and gives.

use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

/// The number of the field of ONNX's TensorProto that has the tensor's name.
pub const NAME: u32 = 8;

/// The number of the field that says where the tensor's values lie.
pub const LOCATION: u32 = 14;

/// What that field says of values in another file.
pub const EXTERNAL: u64 = 1;

/// How far a number may differ from the expected one, and by how much of that one, as in ONNX's own tests.
const TOLERANCE: (f64, f64) = (1e-7, 1e-3);

/// The type of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    /// A floating-point number of 32 bits.
    Float32,
    /// A floating-point number of 64 bits.
    Float64,
    /// A whole number of 8 bits.
    Int8,
    /// A whole number of 16 bits.
    Int16,
    /// A whole number of 32 bits.
    Int32,
    /// A whole number of 64 bits.
    Int64,
    /// A whole number of 8 bits, not negative.
    Uint8,
    /// A whole number of 16 bits, not negative.
    Uint16,
    /// A whole number of 32 bits, not negative.
    Uint32,
    /// A whole number of 64 bits, not negative.
    Uint64,
    /// Whether something holds.
    Bool,
}

/// The types that tensors here have: each with its number in ONNX, what NumPy calls it, and its bytes.
const DTYPES: [(Dtype, u64, &str, usize); 11] = [
    (Dtype::Float32, 1, "f4", 4),
    (Dtype::Float64, 11, "f8", 8),
    (Dtype::Int8, 3, "i1", 1),
    (Dtype::Int16, 5, "i2", 2),
    (Dtype::Int32, 6, "i4", 4),
    (Dtype::Int64, 7, "i8", 8),
    (Dtype::Uint8, 2, "u1", 1),
    (Dtype::Uint16, 4, "u2", 2),
    (Dtype::Uint32, 12, "u4", 4),
    (Dtype::Uint64, 13, "u8", 8),
    (Dtype::Bool, 9, "b1", 1),
];

impl Dtype {
    /// Its name, as NumPy has it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float32 => "float32",
            Self::Float64 => "float64",
            Self::Int8 => "int8",
            Self::Int16 => "int16",
            Self::Int32 => "int32",
            Self::Int64 => "int64",
            Self::Uint8 => "uint8",
            Self::Uint16 => "uint16",
            Self::Uint32 => "uint32",
            Self::Uint64 => "uint64",
            Self::Bool => "bool",
        }
    }

    /// Returns the type with this name.
    pub fn named(name: &str) -> Option<Self> {
        DTYPES.into_iter().map(|(dtype, ..)| dtype).find(|dtype| dtype.name() == name)
    }

    /// Returns the type with this number in ONNX.
    pub fn of_code(code: u64) -> Option<Self> {
        DTYPES.into_iter().find(|(_, known, ..)| *known == code).map(|(dtype, ..)| dtype)
    }

    /// Returns the name of the type with this number in ONNX, of those too that no tensor here has.
    pub fn name_of_code(code: u64) -> &'static str {
        match code {
            8 => "string",
            10 => "float16",
            14 => "complex64",
            15 => "complex128",
            16 => "bfloat16",
            code => Self::of_code(code).map_or("unknown", Self::name),
        }
    }

    /// Returns the type that NumPy calls so, without the order of its bytes.
    pub fn of_numpy(kind: &str) -> Option<Self> {
        DTYPES.into_iter().find(|(_, _, known, _)| *known == kind).map(|(dtype, ..)| dtype)
    }

    /// The bytes of an element.
    pub fn size(self) -> usize {
        DTYPES.into_iter().find(|(dtype, ..)| *dtype == self).map_or(1, |(.., size)| size)
    }
}

/// A tensor. Its elements follow each other with the last dimension running fastest, each with its lowest byte first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    /// The type of its elements.
    pub dtype: Dtype,
    /// The lengths of its dimensions.
    pub shape: Vec<u64>,
    /// Its elements.
    pub bytes: Vec<u8>,
}

/// A tensor of a file, with the input that it names.
pub type Named = (Option<String>, Tensor);

/// An element.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    /// A floating-point number of 32 bits.
    Single(f32),
    /// One of 64 bits.
    Double(f64),
    /// A whole number.
    Whole(i128),
    /// Whether something holds.
    Bool(bool),
}

impl Tensor {
    /// Returns a tensor of these bytes.
    ///
    /// # Errors
    /// Why its shape does not go with them.
    pub fn new(dtype: Dtype, shape: Vec<u64>, bytes: Vec<u8>) -> Result<Self, String> {
        let size = count(&shape).and_then(|count| count.checked_mul(dtype.size() as u64));
        match size {
            Some(size) if size == bytes.len() as u64 => Ok(Self { dtype, shape, bytes }),
            _ => Err(format!(
                "its shape {} of {} does not go with {} elements",
                shown(&shape),
                dtype.name(),
                bytes.len() / dtype.size()
            )),
        }
    }

    /// How many elements it has.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Returns its elements in order.
    pub fn elements(&self) -> impl Iterator<Item = Element> + '_ {
        self.bytes.chunks_exact(self.dtype.size()).map(|bytes| element(self.dtype, bytes))
    }

    /// Returns it for programs, with its first `most` elements.
    pub fn data(&self, most: usize) -> Value {
        let data: Vec<Value> = self.elements().take(most).map(value).collect();
        json!({ "dtype": self.dtype.name(), "shape": self.shape, "data": data, "truncated": self.len() > most })
    }

    /// Returns why it is not what was expected; `None` where it is, as nearly as ONNX's own tests ask for.
    pub fn differs(&self, expected: &Self) -> Option<String> {
        if (self.dtype, &self.shape) != (expected.dtype, &expected.shape) {
            let one = |tensor: &Self| format!("{} {}", tensor.dtype.name(), shown(&tensor.shape));
            return Some(format!("it is {}, and not {}", one(self), one(expected)));
        }
        let differing = |(at, (is, expected)): (usize, (Element, Element))| {
            (!is_near(is, expected)).then(|| format!("element {at} is {}, and not {}", value(is), value(expected)))
        };
        self.elements().zip(expected.elements()).enumerate().find_map(differing)
    }
}

/// Returns how many elements a shape has; `None` where there are too many to count.
pub fn count(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |count, length| count.checked_mul(*length))
}

/// Returns a shape as people read it, such as `[1, 3, 224, 224]`.
pub fn shown(shape: &[u64]) -> String {
    format!("{shape:?}")
}

/// Adds an element to bytes; returns whether it is one of this type.
pub fn push(dtype: Dtype, bytes: &mut Vec<u8>, value: &Value) -> bool {
    fn whole<T: TryFrom<i128>>(value: &Value) -> Option<T> {
        let number = value.as_i64().map(i128::from).or_else(|| value.as_u64().map(i128::from))?;
        T::try_from(number).ok()
    }
    let number = || match value {
        Value::String(word) => match word.as_str() {
            "NaN" => Some(f64::NAN),
            "Infinity" => Some(f64::INFINITY),
            "-Infinity" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        value => value.as_f64(),
    };
    macro_rules! put {
        ($value:expr) => {
            $value.map(|value| bytes.extend_from_slice(&value.to_le_bytes()))
        };
    }
    let put = match dtype {
        // JSON's numbers are rounded to what the model takes.
        Dtype::Float32 => put!(number().map(|number| number as f32)),
        Dtype::Float64 => put!(number()),
        Dtype::Int8 => put!(whole::<i8>(value)),
        Dtype::Int16 => put!(whole::<i16>(value)),
        Dtype::Int32 => put!(whole::<i32>(value)),
        Dtype::Int64 => put!(whole::<i64>(value)),
        Dtype::Uint8 => put!(whole::<u8>(value)),
        Dtype::Uint16 => put!(whole::<u16>(value)),
        Dtype::Uint32 => put!(whole::<u32>(value)),
        Dtype::Uint64 => put!(whole::<u64>(value)),
        Dtype::Bool => value.as_bool().map(|is| bytes.push(u8::from(is))),
    };
    put.is_some()
}

fn element(dtype: Dtype, bytes: &[u8]) -> Element {
    macro_rules! read {
        ($number:ty) => {
            <$number>::from_le_bytes(bytes.try_into().unwrap_or_default())
        };
    }
    match dtype {
        Dtype::Float32 => Element::Single(read!(f32)),
        Dtype::Float64 => Element::Double(read!(f64)),
        Dtype::Int8 => Element::Whole(read!(i8).into()),
        Dtype::Int16 => Element::Whole(read!(i16).into()),
        Dtype::Int32 => Element::Whole(read!(i32).into()),
        Dtype::Int64 => Element::Whole(read!(i64).into()),
        Dtype::Uint8 => Element::Whole(read!(u8).into()),
        Dtype::Uint16 => Element::Whole(read!(u16).into()),
        Dtype::Uint32 => Element::Whole(read!(u32).into()),
        Dtype::Uint64 => Element::Whole(read!(u64).into()),
        Dtype::Bool => Element::Bool(bytes != [0]),
    }
}

/// Returns an element as JSON: what JSON has no number for as the words that [`push`] takes.
fn value(element: Element) -> Value {
    let float = |number: f64| match Number::from_f64(number) {
        Some(number) => Value::Number(number),
        None if number.is_nan() => "NaN".into(),
        None if number > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    };
    match element {
        // By its shortest text, since its digits as a double would be noise.
        Element::Single(number) => float(number.to_string().parse().unwrap_or(f64::from(number))),
        Element::Double(number) => float(number),
        Element::Whole(number) => match i64::try_from(number) {
            Ok(number) => number.into(),
            Err(_) => u64::try_from(number).map_or(Value::Null, Value::from),
        },
        Element::Bool(is) => is.into(),
    }
}

fn is_near(is: Element, expected: Element) -> bool {
    let float = |element| match element {
        Element::Single(number) => Some(f64::from(number)),
        Element::Double(number) => Some(number),
        Element::Whole(_) | Element::Bool(_) => None,
    };
    match (float(is), float(expected)) {
        (Some(is), Some(expected)) => {
            let (most, part) = TOLERANCE;
            is == expected
                || (is.is_nan() && expected.is_nan())
                || (is - expected).abs() <= most + part * expected.abs()
        }
        _ => is == expected,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn floats(shape: &[u64], values: &[f32]) -> Tensor {
        let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
        Tensor::new(Dtype::Float32, shape.to_vec(), bytes).unwrap()
    }

    #[test]
    fn types_have_a_name_a_number_and_a_size() {
        for (dtype, code, numpy, size) in DTYPES {
            assert_eq!(Dtype::named(dtype.name()), Some(dtype));
            assert_eq!((Dtype::of_code(code), Dtype::of_numpy(numpy), dtype.size()), (Some(dtype), Some(dtype), size));
            assert_eq!(serde_json::to_value(dtype).unwrap(), dtype.name());
        }
        assert_eq!((Dtype::name_of_code(10), Dtype::name_of_code(99)), ("float16", "unknown"));
    }

    #[test]
    fn a_shape_goes_with_its_elements_or_is_refused() {
        assert_eq!(Tensor::new(Dtype::Int64, vec![], vec![0; 8]).unwrap().len(), 1);
        assert_eq!(Tensor::new(Dtype::Int64, vec![3, 0], vec![]).unwrap().len(), 0);
        for shape in [vec![2], vec![u64::MAX, 2], vec![u64::MAX]] {
            assert!(Tensor::new(Dtype::Float32, shape, vec![0; 4]).is_err());
        }
    }

    #[test]
    fn the_first_elements_are_shown_as_they_are_written() {
        let tensor = floats(&[5], &[0.1, -2.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY]);
        let all = json!([0.1, -2.0, "NaN", "Infinity", "-Infinity"]);
        assert_eq!(tensor.data(5), json!({ "dtype": "float32", "shape": [5], "data": all, "truncated": false }));
        assert_eq!(tensor.data(1), json!({ "dtype": "float32", "shape": [5], "data": [0.1], "truncated": true }));
    }

    #[test]
    fn what_is_near_enough_is_as_expected() {
        let expected = floats(&[2], &[1.0, f32::NAN]);
        assert_eq!(floats(&[2], &[1.0005, f32::NAN]).differs(&expected), None);
        assert_eq!(floats(&[2], &[1.01, f32::NAN]).differs(&expected).unwrap(), "element 0 is 1.01, and not 1.0");
        assert_eq!(
            floats(&[1, 2], &[1.0, 1.0]).differs(&expected).unwrap(),
            "it is float32 [1, 2], and not float32 [2]"
        );
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn elements_come_back(at in 0..DTYPES.len(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
            let (dtype, .., size) = DTYPES[at];
            let mut bytes = bytes;
            bytes.truncate(bytes.len() / size * size);
            if dtype == Dtype::Bool {
                bytes.iter_mut().for_each(|byte| *byte %= 2);
            }
            let tensor = Tensor::new(dtype, vec![(bytes.len() / size) as u64], bytes).unwrap();
            let mut again = Vec::new();
            for element in tensor.elements() {
                prop_assert!(push(dtype, &mut again, &value(element)));
            }
            let again = Tensor { bytes: again, ..tensor.clone() };
            prop_assert_eq!(again.differs(&tensor), None);
        }
    }
}
