//! Reads inputs in JSON: an object of tensors, or a plain array if the model takes only one input.

use serde_json::{Map, Value};

use crate::gate::header::{Dim, Port, named_port};
use crate::gate::tensor::{self, Dtype, Named, Tensor};

/// The maximum depth of nested arrays.
const DEEPEST: usize = 32;

/// Reads `{"NAME": {"dtype", "shape", "data"}}`, `{"NAME": [..]}`, or a plain array if the model takes one input.
///
/// # Errors
/// A sentence that says what is wrong with the input.
pub fn read(bytes: &[u8], ports: &[Port]) -> Result<Vec<Named>, String> {
    match serde_json::from_slice(bytes).map_err(|error| format!("it is not valid JSON: {error}"))? {
        Value::Object(tensors) => tensors.into_iter().map(|(name, value)| of_name(name, &value, ports)).collect(),
        array @ Value::Array(_) => match ports {
            [only] => Ok(vec![(Some(only.name.clone()), of_array(&array, Some(only), None, None)?)]),
            _ => Err(format!("the model takes {} inputs, but an array holds only one", ports.len())),
        },
        _ => Err("it is neither an object nor an array".to_owned()),
    }
}

fn of_name(name: String, value: &Value, ports: &[Port]) -> Result<Named, String> {
    let port = Some(named_port(ports, &name)?);
    let said = |why| format!("`{}`: {why}", name.escape_debug());
    let tensor = match value {
        Value::Object(object) => of_object(object, port).map_err(said)?,
        array => of_array(array, port, None, None).map_err(said)?,
    };
    Ok((Some(name), tensor))
}

fn of_object(object: &Map<String, Value>, port: Option<&Port>) -> Result<Tensor, String> {
    const KEYS: [&str; 3] = ["dtype", "shape", "data"];
    if let Some(unknown) = object.keys().find(|key| !KEYS.contains(&key.as_str())) {
        return Err(format!(
            "unknown key in a tensor (expected `dtype`, `shape` or `data`): `{}`",
            unknown.escape_debug()
        ));
    }
    let dtype = match object.get("dtype") {
        None => None,
        Some(name) => {
            let known = name.as_str().and_then(Dtype::named);
            Some(known.ok_or_else(|| format!("{name} is not a supported `dtype`, such as \"float32\""))?)
        }
    };
    let shape = match object.get("shape") {
        None => None,
        Some(shape) => {
            let lengths =
                shape.as_array().and_then(|shape| shape.iter().map(Value::as_u64).collect::<Option<Vec<_>>>());
            Some(lengths.ok_or("`shape` must be a list of whole numbers, 0 or greater")?)
        }
    };
    let data = object.get("data").filter(|data| data.is_array()).ok_or("`data` must be an array")?;
    of_array(data, port, dtype, shape)
}

/// Makes a tensor from a nested or flat array. A missing type comes from the model; so does a missing shape if the
/// array is flat and its length fits.
fn of_array(
    array: &Value,
    port: Option<&Port>,
    dtype: Option<Dtype>,
    shape: Option<Vec<u64>>,
) -> Result<Tensor, String> {
    let dtype = dtype.or_else(|| port.and_then(|port| Dtype::named(&port.dtype)));
    let dtype = dtype.ok_or("`dtype` is missing")?;
    let (mut nested, mut bytes) = (Vec::new(), Vec::new());
    gather(array, 0, &mut nested, dtype, &mut bytes)?;
    let count = (bytes.len() / dtype.size()) as u64;
    let shape = shape.unwrap_or_else(|| match nested.len() {
        1 => port.and_then(|port| of_port(port, count)).unwrap_or(nested),
        _ => nested,
    });
    Tensor::new(dtype, shape, bytes)
}

/// Returns the port's shape for `count` elements. At most one dimension may be variable; its length is computed.
fn of_port(port: &Port, count: u64) -> Option<Vec<u64>> {
    let dims = port.shape.as_ref()?;
    let fixed = dims.iter().filter_map(|dim| match dim {
        Dim::Fixed(length) => Some(*length),
        Dim::Named(_) | Dim::Any => None,
    });
    let known = tensor::count(&fixed.collect::<Vec<_>>())?;
    let open = dims.iter().filter(|dim| !matches!(dim, Dim::Fixed(_))).count();
    let rest = count.checked_div(known).filter(|rest| rest * known == count)?;
    if open > 1 || (open == 0 && rest != 1) {
        return None;
    }
    let length = |dim: &Dim| match dim {
        Dim::Fixed(length) => *length,
        Dim::Named(_) | Dim::Any => rest,
    };
    Some(dims.iter().map(length).collect())
}

/// Appends the elements of an array to `bytes` and records the lengths of nested arrays in `shape`. Arrays at the same
/// depth must have equal lengths.
fn gather(array: &Value, depth: usize, shape: &mut Vec<u64>, dtype: Dtype, bytes: &mut Vec<u8>) -> Result<(), String> {
    let Value::Array(values) = array else {
        return match shape.len() == depth && tensor::push(dtype, bytes, array) {
            true => Ok(()),
            false if shape.len() != depth => Err("the nested arrays differ in depth".to_owned()),
            false => {
                let shown: String = array.to_string().chars().take(40).collect();
                Err(format!("{shown} is not of type {}", dtype.name()))
            }
        };
    };
    let length = values.len() as u64;
    match shape.get(depth) {
        None if depth >= DEEPEST => return Err("the arrays are nested too deeply".to_owned()),
        None if depth == shape.len() && bytes.is_empty() => shape.push(length),
        Some(known) if *known == length => {}
        _ => return Err("the nested arrays differ in length".to_owned()),
    }
    values.iter().try_for_each(|value| gather(value, depth + 1, shape, dtype, bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn port(shape: &[Dim]) -> Port {
        Port { name: "x".to_owned(), dtype: "int32".to_owned(), shape: Some(shape.to_vec()) }
    }

    fn one(value: &Value, shape: &[Dim]) -> Result<Tensor, String> {
        read(value.to_string().as_bytes(), &[port(shape)]).map(|mut found| found.remove(0).1)
    }

    #[test]
    fn arrays_nested_and_flat_are_tensors() {
        let (two, three) = (Dim::Fixed(2), Dim::Fixed(3));
        let shape = |value: Value, shape: &[Dim]| one(&value, shape).map(|tensor| tensor.shape);
        let both = [two.clone(), three.clone()];
        assert_eq!(shape(json!([[1, 2, 3], [4, 5, 6]]), &both), Ok(vec![2, 3]));
        assert_eq!(shape(json!([1, 2, 3, 4, 5, 6]), &both), Ok(vec![2, 3]));
        assert_eq!(shape(json!([1, 2, 3, 4, 5, 6]), &[Dim::Any, three]), Ok(vec![2, 3]));
        // With two variable lengths, the model does not fix the shape, so the array keeps its own.
        assert_eq!(shape(json!([1, 2]), &[Dim::Any, Dim::Any]), Ok(vec![2]));
        assert_eq!(shape(json!([]), &[Dim::Any]), Ok(vec![0]));
        assert_eq!(shape(json!({ "x": 1 }), &[]), Ok(vec![]));
        assert_eq!(shape(json!({ "x": [1, 2] }), std::slice::from_ref(&two)), Ok(vec![2]));
        let whole = json!({ "x": { "dtype": "float32", "shape": [1, 2], "data": [1, "NaN"] } });
        let tensor = one(&whole, &[two]).unwrap();
        assert_eq!((tensor.dtype, tensor.shape), (Dtype::Float32, vec![1, 2]));
    }

    #[test]
    fn invalid_tensors_are_refused_with_a_reason() {
        for (value, why) in [
            (json!("x"), "it is neither an object nor an array"),
            (json!([1, [2]]), "the nested arrays differ in length"),
            (json!([[1], 2]), "the nested arrays differ in depth"),
            (json!([[1, 2], [3]]), "the nested arrays differ in length"),
            (json!([1.5]), "1.5 is not of type int32"),
            (json!([4_294_967_296_u64]), "4294967296 is not of type int32"),
            (json!({ "x": { "data": 1 } }), "`x`: `data` must be an array"),
            (
                json!({ "x": { "data": [], "shpae": [] } }),
                "`x`: unknown key in a tensor (expected `dtype`, `shape` or `data`): `shpae`",
            ),
            (json!({ "x": { "data": [], "dtype": "float" } }), "`x`: \"float\" is not a supported `dtype`"),
            (
                json!({ "x": { "data": [1], "shape": [-1] } }),
                "`x`: `shape` must be a list of whole numbers, 0 or greater",
            ),
            (
                json!({ "x": { "data": [1], "shape": [2] } }),
                "`x`: its shape [2] (int32) does not match its number of elements, 1",
            ),
            (json!({ "y": [1] }), "the model has no input `y`; "),
        ] {
            let told = one(&value, &[Dim::Any]).unwrap_err();
            assert!(told.starts_with(why), "{value}: {told}");
        }
        assert!(read(b"{", &[]).unwrap_err().starts_with("it is not valid JSON: "));
        assert!(read(b"[1]", &[]).unwrap_err().contains("takes 0 inputs"));
        let deep = format!("{}1{}", "[".repeat(50), "]".repeat(50));
        assert!(read(deep.as_bytes(), &[port(&[Dim::Any])]).unwrap_err().contains("nested too deeply"));
    }

    proptest! {
        #![proptest_config(crate::seed::config(256))]

        #[test]
        fn random_texts_are_read_or_refused(text in "[\\[\\]{}\",:x0-9a-z.-]{0,60}") {
            let _ = read(text.as_bytes(), &[port(&[Dim::Any])]);
        }
    }
}
