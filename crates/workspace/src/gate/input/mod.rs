//! Reads the input files of a test, and checks them against the inputs in the model's header.

mod array;
mod numpy;
mod protobuf;

use std::path::Path;

use serde_json::json;

use super::files::{Files, PathKind};
use super::header::{Dim, Header, Port, named_port};
use super::tensor::{self, Named, Tensor};
use mcpkg_base::error::{Code, Error, Result};

/// The maximum size of a JSON input, in bytes.
pub const MAX_JSON: u64 = 8 << 20;

/// The maximum total size of all other files of an input, including the expected outputs, in bytes.
const MAX_BINARY: u64 = 256 << 20;

/// The tensors of a test.
#[derive(Debug, Default)]
pub struct Input {
    /// The input tensors by name, in the header's order.
    pub inputs: Vec<(String, Tensor)>,
    /// The expected outputs by name, if the input is a folder that contains them.
    pub expected: Vec<(String, Tensor)>,
}

/// Reads the file or folder that a caller named as the input of a test. `header` is the header of the tested model.
///
/// # Errors
/// `E_GATE_FAILED` with the kind `input` if the input is invalid; otherwise the errors of reading a file.
pub fn read(files: &mut Files, text: &str, header: &Header) -> Result<Input> {
    let path = files.path(text)?;
    let fail = |why: String| refused(text, &why);
    let mut left = MAX_BINARY;
    if files.kind_of(&path)? == PathKind::Folder {
        let inputs = numbered(files, &path, "input", &header.inputs, &mut left)?;
        let expected = numbered(files, &path, "output", &header.outputs, &mut left)?;
        if inputs.is_empty() && !header.inputs.is_empty() {
            return Err(fail("the folder does not contain `input_0.pb`".to_owned()));
        }
        let inputs = checked_inputs(header, inputs).map_err(fail)?;
        let named = expected.into_iter().filter_map(|(name, tensor)| Some((name?, tensor)));
        return Ok(Input { inputs, expected: named.collect() });
    }
    if let Some(why) = header.inputs.iter().find_map(kind_of) {
        return Err(fail(why));
    }
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let found = match extension.to_ascii_lowercase().as_str() {
        "json" => array::read(&files.read(&path, MAX_JSON)?, &header.inputs).map_err(fail)?,
        "pb" => vec![protobuf::read(&files.read(&path, left)?).map_err(fail)?],
        "npy" => vec![(None, numpy::read(&files.read(&path, left)?).map_err(fail)?)],
        _ => return Err(fail("an input must be a .json, .pb or .npy file, or a folder with `input_0.pb`".to_owned())),
    };
    Ok(Input { inputs: checked_inputs(header, found).map_err(fail)?, expected: Vec::new() })
}

/// Returns the error for an invalid input.
pub fn refused(input: &str, why: &str) -> Error {
    Error::new(Code::GateFailed, format!("Invalid input `{}`: {why}", input.escape_debug()))
        .with_details(json!({ "kind": "input", "input": input }))
}

/// Reads the files `KIND_0.pb`, `KIND_1.pb` and so on from a folder. The number in a file's name is the index of its
/// port.
fn numbered(files: &mut Files, folder: &Path, kind: &str, ports: &[Port], left: &mut u64) -> Result<Vec<Named>> {
    let names = files.names(folder)?;
    let mut found = Vec::new();
    for (at, port) in ports.iter().enumerate() {
        let name = format!("{kind}_{at}.pb");
        if !names.iter().any(|known| known.to_str() == Some(&name)) {
            break;
        }
        if let Some(why) = kind_of(port) {
            return Err(refused(&name, &why));
        }
        let bytes = files.read(&folder.join(&name), *left)?;
        *left -= bytes.len() as u64;
        let (_, tensor) = protobuf::read(&bytes).map_err(|why| refused(&name, &why))?;
        found.push((Some(port.name.clone()), tensor));
    }
    Ok(found)
}

/// Checks tensors against the header: each input must be present once, with the right type and shape.
fn checked_inputs(header: &Header, found: Vec<Named>) -> Result<Vec<(String, Tensor)>, String> {
    let all = || header.inputs.iter().map(|input| format!("`{}`", input.name)).collect::<Vec<_>>().join(", ");
    let mut named = Vec::new();
    for (name, tensor) in found {
        let is_only = header.inputs.len() == 1;
        let port = match (&name, header.inputs.first()) {
            // With a single input, the file need not name it.
            (None, Some(only)) if is_only => only,
            (None, _) => return Err(format!("it does not name an input; the model takes {}", all())),
            (Some(name), _) => named_port(&header.inputs, name)?,
        };
        if named.iter().any(|(known, _)| *known == port.name) {
            return Err(format!("`{}` appears twice", port.name));
        }
        check(port, &tensor)?;
        named.push((port.name.clone(), tensor));
    }
    let in_order = header.inputs.iter().map(|input| {
        let at = named.iter().position(|(name, _)| *name == input.name);
        at.map(|at| named.swap_remove(at)).ok_or_else(|| format!("`{}` is missing", input.name))
    });
    in_order.collect()
}

/// Returns why the gate does not support a port; `None` if the gate supports it.
fn kind_of(port: &Port) -> Option<String> {
    let is_tensor = tensor::Dtype::named(&port.dtype).is_some();
    (!is_tensor).then(|| format!("`{}` has the type {}, which the gate does not support", port.name, port.dtype))
}

/// Refuses a tensor if its type or shape does not match the port.
fn check(port: &Port, tensor: &Tensor) -> Result<(), String> {
    if port.dtype != tensor.dtype.name() {
        return Err(format!("`{}` is {}, but the model takes {}", port.name, tensor.dtype.name(), port.dtype));
    }
    let Some(shape) = &port.shape else { return Ok(()) };
    let fits = |(dim, length): (&Dim, &u64)| !matches!(dim, Dim::Fixed(fixed) if fixed != length);
    if shape.len() == tensor.shape.len() && shape.iter().zip(&tensor.shape).all(fits) {
        return Ok(());
    }
    Err(format!("`{}` is {}, but the model takes {}", port.name, tensor::shown(&tensor.shape), shown(shape)))
}

/// Formats a shape for people: `[N, 3, 224, 224]`.
pub fn shown(shape: &[Dim]) -> String {
    let dims = shape.iter().map(|dim| match dim {
        Dim::Fixed(length) => length.to_string(),
        Dim::Named(name) => name.escape_debug().to_string(),
        Dim::Any => "?".to_owned(),
    });
    format!("[{}]", dims.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::gate::tensor::Dtype;

    fn port(name: &str, dtype: Dtype, shape: &[Dim]) -> Port {
        Port { name: name.to_owned(), dtype: dtype.name().to_owned(), shape: Some(shape.to_vec()) }
    }

    fn header() -> Header {
        let inputs = vec![
            port("image", Dtype::Float32, &[Dim::Named("N".to_owned()), Dim::Fixed(2)]),
            port("mask", Dtype::Bool, &[Dim::Any]),
        ];
        Header { ir_version: 8, opset: Some(17), inputs, outputs: Vec::new() }
    }

    fn tensor(dtype: Dtype, shape: &[u64]) -> Tensor {
        let size = tensor::count(shape).unwrap() as usize * dtype.size();
        Tensor::new(dtype, shape.to_vec(), vec![0; size]).unwrap()
    }

    fn names(found: Vec<Named>) -> Result<Vec<String>, String> {
        checked_inputs(&header(), found).map(|held| held.into_iter().map(|(name, _)| name).collect())
    }

    #[test]
    fn tensors_are_checked_against_the_header() {
        let (image, mask) = (tensor(Dtype::Float32, &[5, 2]), tensor(Dtype::Bool, &[3]));
        let named = |name: &str, tensor: &Tensor| (Some(name.to_owned()), tensor.clone());
        assert_eq!(names(vec![named("mask", &mask), named("image", &image)]).unwrap(), ["image", "mask"]);
        for (found, why) in [
            (vec![named("image", &image)], "`mask` is missing"),
            (vec![named("imgae", &image)], "the model has no input `imgae`; did you mean `image`?"),
            (vec![(None, image.clone())], "it does not name an input; the model takes `image`, `mask`"),
            (vec![named("mask", &mask), named("mask", &mask)], "`mask` appears twice"),
            (vec![named("image", &mask)], "`image` is bool, but the model takes float32"),
            (vec![named("image", &tensor(Dtype::Float32, &[5, 3]))], "`image` is [5, 3], but the model takes [N, 2]"),
            (vec![named("image", &tensor(Dtype::Float32, &[2]))], "`image` is [2], but the model takes [N, 2]"),
        ] {
            assert_eq!(names(found).unwrap_err(), why);
        }
    }

    #[test]
    fn the_only_input_needs_no_name() {
        let only = Header { inputs: vec![header().inputs.remove(1)], ..header() };
        let held = checked_inputs(&only, vec![(None, tensor(Dtype::Bool, &[4]))]).unwrap();
        assert_eq!(held[0].0, "mask");
    }
}
