//! Shortens the outputs of a model for people and agents. An object detector, for example, returns a hundred thousand
//! numbers.

use serde_json::{Map, Value, json};

use super::tensor::{Range, float};

/// A reply shows at most this many elements of each output, unless the caller wants all of them.
pub const SHOWN: usize = 32;

/// The maximum total size of all outputs as JSON, in bytes.
const MAX_BYTES: usize = 14 << 10;

/// The maximum number of characters of a string in an output.
const MAX_TEXT: usize = 1 << 10;

/// Shortens the outputs of a model to [`MAX_BYTES`]: first by showing fewer elements of each output, then by dropping
/// the last outputs. Returns how many outputs were dropped. If `output` is not an object, only its size may be left.
pub fn cut(output: &mut Value) -> usize {
    let whole = std::mem::take(output);
    for shown in [SHOWN, 4, 0] {
        *output = shortened(&whole, shown);
        if output.to_string().len() <= MAX_BYTES {
            return 0;
        }
    }
    let Value::Object(outputs) = std::mem::take(output) else {
        *output = json!({ "bytes": whole.to_string().len(), "truncated": true });
        return 0;
    };
    let (count, mut bytes, mut kept) = (outputs.len(), 0, Map::new());
    for (name, value) in outputs {
        bytes += name.len() + value.to_string().len();
        if bytes > MAX_BYTES {
            break;
        }
        kept.insert(name, value);
    }
    let left_out = count - kept.len();
    *output = kept.into();
    left_out
}

/// Returns a copy of a value with long arrays and strings shortened.
fn shortened(value: &Value, shown: usize) -> Value {
    match value {
        Value::Array(_) => array(value, shown).unwrap_or_else(|| value.clone()),
        Value::String(text) => match text.char_indices().nth(MAX_TEXT) {
            Some((end, _)) => format!("{}... ({} bytes)", &text[..end], text.len()).into(),
            None => value.clone(),
        },
        Value::Object(object) => {
            let mut short: Map<String, Value> = Map::new();
            for (key, value) in object {
                match (key.as_str(), value) {
                    // `shape` holds lengths, not elements.
                    ("shape", _) => drop(short.insert(key.clone(), value.clone())),
                    ("data", Value::Array(data)) if data.len() > shown => {
                        short.insert(key.clone(), data[..shown].into());
                        short.insert("truncated".to_owned(), true.into());
                        // A remote gate may send only the elements, so compute the statistics here.
                        for (name, figure) in array(value, shown).and_then(figures).into_iter().flatten() {
                            short.entry(name).or_insert(figure);
                        }
                    }
                    _ => {
                        if key != "truncated" || !short.contains_key(key) {
                            short.insert(key.clone(), shortened(value, shown));
                        }
                    }
                }
            }
            short.into()
        }
        _ => value.clone(),
    }
}

/// Returns the first elements of a nested or flat array with statistics of all elements; `None` if the array is short
/// enough.
fn array(value: &Value, shown: usize) -> Option<Value> {
    let (mut shape, mut level) = (Vec::new(), value);
    while let Value::Array(items) = level {
        shape.push(items.len());
        level = items.first()?;
    }
    let mut elements = Vec::new();
    flatten(value, &mut elements);
    if elements.len() <= shown.max(1) {
        return None;
    }
    let data: Vec<Value> = elements.iter().take(shown).map(|element| shortened(element, shown)).collect();
    let mut short = json!({ "shape": shape, "data": data, "truncated": true });
    let numbers: Option<Vec<f64>> = elements.iter().map(|element| element.as_f64()).collect();
    if let Some(range) = numbers.and_then(|numbers| Range::of(numbers.into_iter())) {
        range.write(&mut short, float);
    }
    Some(short)
}

fn flatten<'v>(value: &'v Value, elements: &mut Vec<&'v Value>) {
    match value {
        Value::Array(items) => items.iter().for_each(|item| flatten(item, elements)),
        element => elements.push(element),
    }
}

/// Returns only the statistics of a shortened array.
fn figures(array: Value) -> Option<Map<String, Value>> {
    let Value::Object(mut array) = array else { return None };
    array.retain(|key, _| !matches!(key.as_str(), "shape" | "data" | "truncated"));
    Some(array)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(count: usize) -> Value {
        (0..count).map(Value::from).collect()
    }

    #[test]
    fn outputs_are_cut_to_their_first_elements_and_figures() {
        let mut output = json!({ "y": { "dtype": "int64", "shape": [40], "data": numbers(40), "truncated": false } });
        assert_eq!(cut(&mut output), 0);
        let y = &output["y"];
        assert_eq!(
            (y["data"].as_array().map(Vec::len), &y["truncated"], &y["shape"]),
            (Some(SHOWN), &json!(true), &json!([40]))
        );
        assert_eq!(
            [&y["min"], &y["max"], &y["mean"], &y["argmax"]],
            [&json!(0.0), &json!(39.0), &json!(19.5), &json!(39)]
        );
        // A remote gate may answer with plain arrays, nested in any way.
        let mut output = json!([numbers(100), numbers(100)]);
        assert_eq!(cut(&mut output), 0);
        assert_eq!((&output["shape"], &output["max"], &output["argmax"]), (&json!([2, 100]), &json!(99.0), &json!(99)));
        for whole in
            [json!({ "y": { "shape": [2], "data": [1, 2], "truncated": false } }), json!([1, "a"]), json!(7), json!({})]
        {
            let mut output = whole.clone();
            assert_eq!(cut(&mut output), 0);
            assert_eq!(output, whole);
        }
    }

    #[test]
    fn however_many_outputs_there_are_they_stay_below_the_limit() {
        for (outputs, elements) in [(1, 1_000_000), (100, 1000), (3000, 5), (100_000, 1)] {
            let one = json!({ "dtype": "float32", "shape": [elements], "data": numbers(elements), "truncated": false });
            let mut output: Value =
                (0..outputs).map(|n| (format!("output_{n}"), one.clone())).collect::<Map<_, _>>().into();
            let left_out = cut(&mut output);
            assert!(output.to_string().len() <= MAX_BYTES + 2 * outputs.min(1000), "{outputs} {elements}");
            assert_eq!(output.as_object().map(Map::len), Some(outputs - left_out));
        }
        for odd in [json!("x".repeat(1 << 20)), json!({ "x".repeat(1 << 20): 1 }), json!(vec!["x".repeat(500); 500])] {
            let mut output = odd;
            cut(&mut output);
            assert!(output.to_string().len() <= MAX_BYTES + 100);
        }
    }
}
