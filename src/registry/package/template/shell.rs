//! The text of a shell, with `${param}` in the place of values. The text never holds a value: each is a positional parameter.

/// The text given to `sh -c`, and the parameters that it takes by position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shell {
    text: String,
    parameters: Vec<String>,
}
