//! Represents tensors, the inputs and outputs of a model.

use half::f16;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value, json};

/// The field number of the tensor's name in ONNX's TensorProto.
pub const NAME: u32 = 8;

/// The number of the field that states where the tensor's values are stored.
pub const LOCATION: u32 = 14;

/// The value of the [`LOCATION`] field if the values are in another file.
pub const EXTERNAL: u64 = 1;

/// The allowed difference from expected numbers: `absolute` plus `relative` times the expected number.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// `rtol` in NumPy's `allclose`.
    pub relative: f64,
    /// `atol` in NumPy's `allclose`.
    pub absolute: f64,
}

impl Default for Tolerance {
    fn default() -> Self {
        Self { relative: 1e-3, absolute: 1e-5 }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dtype {
    Float16,
    Float32,
    Float64,
    Int8,
    Int16,
    Int32,
    Int64,
    Uint8,
    Uint16,
    Uint32,
    Uint64,
    Bool,
}

/// The supported types: each with its number in ONNX, its NumPy type code, and its size in bytes.
const DTYPES: [(Dtype, u64, &str, usize); 12] = [
    (Dtype::Float16, 10, "f2", 2),
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
    /// Returns the type's NumPy name: `float16`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Float16 => "float16",
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

    /// Finds a type by its name.
    pub fn named(name: &str) -> Option<Self> {
        DTYPES.into_iter().map(|(dtype, ..)| dtype).find(|dtype| dtype.name() == name)
    }

    /// Finds a type by its number in ONNX.
    pub fn of_code(code: u64) -> Option<Self> {
        DTYPES.into_iter().find(|(_, known, ..)| *known == code).map(|(dtype, ..)| dtype)
    }

    /// Returns the name of any ONNX type number, even of types that the gate does not support.
    pub fn name_of_code(code: u64) -> &'static str {
        match code {
            8 => "string",
            14 => "complex64",
            15 => "complex128",
            16 => "bfloat16",
            17 => "float8e4m3fn",
            18 => "float8e4m3fnuz",
            19 => "float8e5m2",
            20 => "float8e5m2fnuz",
            21 => "uint4",
            22 => "int4",
            23 => "float4e2m1",
            24 => "float8e8m0",
            25 => "uint2",
            26 => "int2",
            code => Self::of_code(code).map_or("unknown", Self::name),
        }
    }

    /// Finds a type by its NumPy code without the byte-order character: `f4`.
    pub fn of_numpy(kind: &str) -> Option<Self> {
        DTYPES.into_iter().find(|(_, _, known, _)| *known == kind).map(|(dtype, ..)| dtype)
    }

    /// Returns the size of an element in bytes.
    pub fn size(self) -> usize {
        DTYPES.into_iter().find(|(dtype, ..)| *dtype == self).map_or(1, |(.., size)| size)
    }
}

/// A tensor. The elements are in row-major order and little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tensor {
    pub dtype: Dtype,
    pub shape: Vec<u64>,
    pub bytes: Vec<u8>,
}

/// A tensor from a file, with the input's name if the file has one.
pub type Named = (Option<String>, Tensor);

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Element {
    Half(f16),
    Single(f32),
    Double(f64),
    Whole(i128),
    Bool(bool),
}

impl Tensor {
    /// Makes a tensor from its bytes.
    ///
    /// # Errors
    /// A sentence if the number of bytes does not match the shape.
    pub fn new(dtype: Dtype, shape: Vec<u64>, bytes: Vec<u8>) -> Result<Self, String> {
        let size = count(&shape).and_then(|count| count.checked_mul(dtype.size() as u64));
        match size {
            Some(size) if size == bytes.len() as u64 => Ok(Self { dtype, shape, bytes }),
            _ => Err(format!(
                "its shape {} ({}) does not match its number of elements, {}",
                shown(&shape),
                dtype.name(),
                bytes.len() / dtype.size()
            )),
        }
    }

    /// Returns the number of elements.
    pub(super) fn len(&self) -> usize {
        self.bytes.len() / self.dtype.size()
    }

    /// Returns the elements in order.
    pub fn elements(&self) -> impl Iterator<Item = Element> + '_ {
        self.bytes.chunks_exact(self.dtype.size()).map(|bytes| element(self.dtype, bytes))
    }

    /// Returns the tensor as JSON: its first `most` elements, and statistics of all elements.
    pub fn data(&self, most: usize) -> Value {
        let data: Vec<Value> = self.elements().take(most).map(value).collect();
        let mut shown =
            json!({ "dtype": self.dtype.name(), "shape": self.shape, "data": data, "truncated": self.len() > most });
        if let Some(range) = Range::of(self.elements().map(number)) {
            let is_short = matches!(self.dtype, Dtype::Float16 | Dtype::Float32);
            let element = |number| if is_short { value(Element::Single(number as f32)) } else { float(number) };
            range.write(&mut shown, element);
        }
        shown
    }

    /// Describes how the tensor differs from the expected one; `None` if every element is within the tolerance.
    pub fn differs(&self, expected: &Self, tolerance: Tolerance) -> Option<String> {
        if (self.dtype, &self.shape) != (expected.dtype, &expected.shape) {
            let one = |tensor: &Self| format!("{} {}", tensor.dtype.name(), shown(&tensor.shape));
            return Some(format!("it is {} instead of {}", one(self), one(expected)));
        }
        let pairs = self.elements().zip(expected.elements());
        let (mut count, mut first, mut largest) = (0_usize, None, 0_f64);
        for (at, (is, expected)) in pairs.enumerate().filter(|(_, (is, expected))| !is_near(*is, *expected, tolerance))
        {
            count += 1;
            let (is_number, expected_number) = (number(is), number(expected));
            // A difference of NaN counts as infinite: only one of the two numbers is NaN.
            let distance = (is_number - expected_number).abs();
            largest = if distance.is_nan() { f64::INFINITY } else { largest.max(distance) };
            first.get_or_insert_with(|| format!("element {at} is {} instead of {}", value(is), value(expected)));
        }
        let first = first?;
        let largest = if largest.is_finite() { format!("{largest:.3e}") } else { "infinite".to_owned() };
        Some(format!("{count} of {} elements differ; {first}; the largest difference is {largest}", self.len()))
    }
}

/// Statistics of all elements of a tensor. A NaN makes the mean NaN; the other statistics ignore it.
pub struct Range {
    min: f64,
    max: f64,
    mean: f64,
    /// The index of the largest element, counted from 0; the first one if several are equal.
    argmax: Option<usize>,
}

impl Range {
    /// Computes the statistics; `None` if there are no elements.
    pub fn of(elements: impl Iterator<Item = f64>) -> Option<Self> {
        let mut range = Self { min: f64::NAN, max: f64::NAN, mean: 0.0, argmax: None };
        let mut count = 0_u64;
        for (at, number) in elements.enumerate() {
            count += 1;
            range.mean += number;
            range.min = range.min.min(number);
            if number > range.max || (range.max.is_nan() && !number.is_nan()) {
                (range.max, range.argmax) = (number, Some(at));
            }
        }
        range.mean /= count as f64;
        (count > 0).then_some(range)
    }

    /// Adds the statistics to a JSON object. `element` converts an element to JSON.
    pub fn write(&self, object: &mut Value, element: impl Fn(f64) -> Value) {
        object["min"] = element(self.min);
        object["max"] = element(self.max);
        object["mean"] = float(self.mean);
        object["argmax"] = json!(self.argmax);
    }
}

/// Returns the number of elements of a shape; `None` if it overflows.
pub fn count(shape: &[u64]) -> Option<u64> {
    shape.iter().try_fold(1_u64, |count, length| count.checked_mul(*length))
}

/// Formats a shape for people: `[1, 3, 224, 224]`.
pub fn shown(shape: &[u64]) -> String {
    format!("{shape:?}")
}

/// Appends a JSON value as an element of this type. Returns false if the value does not fit the type.
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
        // Numbers in JSON are rounded to the precision of the tensor's type.
        Dtype::Float16 => put!(number().map(f16::from_f64)),
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
        Dtype::Float16 => Element::Half(read!(f16)),
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

/// Converts an element to JSON. Numbers that JSON lacks become the strings that [`push`] accepts.
fn value(element: Element) -> Value {
    match element {
        // Go through the shortest decimal text. A direct conversion to f64 would show meaningless digits.
        Element::Half(number) => float(number.to_string().parse().unwrap_or(f64::from(number))),
        Element::Single(number) => float(number.to_string().parse().unwrap_or(f64::from(number))),
        Element::Double(number) => float(number),
        Element::Whole(number) => match i64::try_from(number) {
            Ok(number) => number.into(),
            Err(_) => u64::try_from(number).map_or(Value::Null, Value::from),
        },
        Element::Bool(is) => is.into(),
    }
}

/// Converts a number to JSON, or to a string such as `NaN`.
pub fn float(number: f64) -> Value {
    match Number::from_f64(number) {
        Some(number) => Value::Number(number),
        None if number.is_nan() => "NaN".into(),
        None if number > 0.0 => "Infinity".into(),
        None => "-Infinity".into(),
    }
}

/// Converts an element to f64; true is 1. Integers of more than 53 bits are rounded.
fn number(element: Element) -> f64 {
    match element {
        Element::Half(number) => number.into(),
        Element::Single(number) => number.into(),
        Element::Double(number) => number,
        Element::Whole(number) => number as f64,
        Element::Bool(is) => f64::from(u8::from(is)),
    }
}

fn is_near(is: Element, expected: Element, tolerance: Tolerance) -> bool {
    if matches!(is, Element::Whole(_) | Element::Bool(_)) {
        return is == expected;
    }
    let (is, expected) = (number(is), number(expected));
    is == expected
        || (is.is_nan() && expected.is_nan())
        || (is - expected).abs() <= tolerance.absolute + tolerance.relative * expected.abs()
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
        assert_eq!((Dtype::name_of_code(16), Dtype::name_of_code(99)), ("bfloat16", "unknown"));
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
    fn the_first_elements_are_shown_with_statistics_of_all_elements() {
        let tensor = floats(&[5], &[0.1, -2.0, f32::NAN, f32::INFINITY, 4.5]);
        let shown = tensor.data(5);
        assert_eq!(shown["data"], json!([0.1, -2.0, "NaN", "Infinity", 4.5]));
        assert_eq!(
            (&shown["dtype"], &shown["shape"], &shown["truncated"]),
            (&json!("float32"), &json!([5]), &json!(false))
        );
        let range = [&shown["min"], &shown["max"], &shown["mean"], &shown["argmax"]];
        assert_eq!(range, [&json!(-2.0), &json!("Infinity"), &json!("NaN"), &json!(3)]);
        let shown = floats(&[4], &[1.0, 3.0, 3.0, 2.0]).data(1);
        assert_eq!((&shown["data"], &shown["truncated"]), (&json!([1.0]), &json!(true)));
        assert_eq!([&shown["mean"], &shown["argmax"]], [&json!(2.25), &json!(1)]);
        let empty = json!({ "dtype": "float32", "shape": [0], "data": [], "truncated": false });
        assert_eq!(floats(&[0], &[]).data(1), empty);
        let half = Tensor::new(Dtype::Float16, vec![1], f16::from_f32(0.1).to_le_bytes().to_vec()).unwrap();
        assert_eq!(half.data(1)["data"], json!([0.099975586]));
    }

    #[test]
    fn differences_within_the_tolerance_are_accepted() {
        let expected = floats(&[3], &[1.0, f32::NAN, 5.0]);
        let differs = |values: &[f32], tolerance| floats(&[3], values).differs(&expected, tolerance);
        let near = Tolerance::default();
        assert_eq!(differs(&[1.0005, f32::NAN, 5.0], near), None);
        let why = "2 of 3 elements differ; element 0 is 1.5 instead of 1.0; the largest difference is 1.000e0";
        assert_eq!(differs(&[1.5, f32::NAN, 6.0], near).unwrap(), why);
        assert!(differs(&[1.0, 0.0, 5.0], near).unwrap().ends_with("the largest difference is infinite"));
        assert_eq!(differs(&[1.5, f32::NAN, 6.0], Tolerance { relative: 0.0, absolute: 1.0 }), None);
        let other = floats(&[1, 2], &[1.0, 1.0]).differs(&expected, near);
        assert_eq!(other.unwrap(), "it is float32 [1, 2] instead of float32 [3]");
        let one = Tensor::new(Dtype::Int64, vec![1], 1_i64.to_le_bytes().to_vec()).unwrap();
        let two = Tensor::new(Dtype::Int64, vec![1], 2_i64.to_le_bytes().to_vec()).unwrap();
        assert!(one.differs(&two, Tolerance { relative: 1.0, absolute: 1.0 }).is_some(), "whole numbers are exact");
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn elements_round_trip(at in 0..DTYPES.len(), bytes in prop::collection::vec(any::<u8>(), 0..64)) {
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
            prop_assert_eq!(again.differs(&tensor, Tolerance::default()), None);
        }
    }
}
