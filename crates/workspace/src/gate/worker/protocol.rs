//! What goes to a worker, and what comes back: the length of a head, the head as JSON, the tensors' bytes, and the model's, which the
//! engine reads itself; then one JSON object.

use std::io::{self, Read, Write};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::gate::given::Stopped;
use crate::gate::input::Input;
use crate::gate::interface::Options;
use crate::gate::summary;
use crate::gate::tensor::{self, Dtype, Tensor, Tolerance};
use mcpkg_base::process::Feed;

/// The most bytes that a worker addresses.
pub const MEMORY: u64 = 2 << 30;

/// How long a worker may take.
pub const TIME: Duration = Duration::from_secs(30);

/// Bytes of the longest head.
const MAX_HEAD: u32 = 16 << 20;

/// What is to be run.
pub struct Job {
    /// Bytes of the model.
    pub size: u64,
    pub model: Feed,
    /// What it is run on, and what it should give.
    pub input: Input,
    /// The names of its outputs.
    pub outputs: Vec<String>,
    /// How the test is run.
    pub options: Options,
}

/// What comes before the bytes.
#[derive(Debug, Serialize, Deserialize)]
pub struct Head {
    /// Bytes of the model.
    pub size: u64,
    /// The tensors that the model takes, in the order of their bytes.
    pub inputs: Vec<Described>,
    /// Those that it should give, behind them.
    pub expected: Vec<Described>,
    /// The names of its outputs.
    pub outputs: Vec<String>,
    /// How many elements of each output the answer has.
    pub shown: usize,
    /// How far outputs may differ from the expected ones.
    pub tolerance: Tolerance,
}

/// A tensor whose bytes come later.
#[derive(Debug, Serialize, Deserialize)]
pub struct Described {
    pub name: String,
    /// The type of its elements.
    pub dtype: Dtype,
    pub shape: Vec<u64>,
}

/// What a worker answers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The model was run.
    Ran(Ran),
    /// It was not, or not to its end.
    Stopped(Stopped),
}

/// What a model gave.
#[derive(Debug, Serialize, Deserialize)]
pub struct Ran {
    /// Its outputs for programs, by name.
    pub output: Map<String, Value>,
    /// How long it took to read and prepare it, in milliseconds.
    pub load_ms: f64,
    /// How long it took to run it, in milliseconds.
    pub latency_ms: f64,
    /// In what the outputs differ from the expected ones, a line each; `None` where nothing was expected.
    pub differs: Option<Vec<String>>,
}

impl Head {
    /// Returns the head of a job.
    pub fn of(job: &Job) -> Self {
        let described = |(name, tensor): &(String, Tensor)| {
            let (name, shape) = (name.clone(), tensor.shape.clone());
            Described { name, dtype: tensor.dtype, shape }
        };
        Self {
            size: job.size,
            inputs: job.input.inputs.iter().map(described).collect(),
            expected: job.input.expected.iter().map(described).collect(),
            outputs: job.outputs.clone(),
            shown: if job.options.whole { usize::MAX } else { summary::SHOWN },
            tolerance: job.options.tolerance,
        }
    }

    /// Writes it.
    ///
    /// # Errors
    /// How the system refused.
    pub fn write(&self, mut to: impl Write) -> io::Result<()> {
        let head = serde_json::to_vec(self)?;
        let length = u32::try_from(head.len()).ok().filter(|length| *length <= MAX_HEAD);
        let length = length.ok_or_else(|| io::Error::other("the header of the worker's message is too long"))?;
        to.write_all(&length.to_le_bytes())?;
        to.write_all(&head)
    }

    /// Reads one.
    ///
    /// # Errors
    /// How the system refused; `InvalidData` where it is none.
    pub fn read(mut from: impl Read) -> io::Result<Self> {
        let mut length = [0; 4];
        from.read_exact(&mut length)?;
        let length = u32::from_le_bytes(length);
        if length > MAX_HEAD {
            return Err(io::ErrorKind::InvalidData.into());
        }
        let mut head = Vec::new();
        from.take(length.into()).read_to_end(&mut head)?;
        Ok(serde_json::from_slice(&head)?)
    }
}

impl Described {
    /// Reads the tensor's bytes.
    ///
    /// # Errors
    /// How the system refused; `InvalidData` where they are not those of its shape, `OutOfMemory`.
    pub fn read(self, from: impl Read) -> io::Result<(String, Tensor)> {
        let size = tensor::count(&self.shape).and_then(|count| count.checked_mul(self.dtype.size() as u64));
        let bytes = whole(from, size.ok_or(io::ErrorKind::InvalidData)?)?;
        let tensor = Tensor::new(self.dtype, self.shape, bytes).map_err(|_| io::ErrorKind::InvalidData)?;
        Ok((self.name, tensor))
    }
}

fn whole(from: impl Read, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(size).map_err(|_| io::ErrorKind::OutOfMemory)?)?;
    from.take(size).read_to_end(&mut bytes)?;
    if bytes.len() as u64 == size { Ok(bytes) } else { Err(io::ErrorKind::UnexpectedEof.into()) }
}
