//! An MCP server: its row, its definition, and texts that may refer to values stored elsewhere.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use uuid::Uuid;

use mcpkg_base::clock::Millis;

/// The transport of an MCP server: how a client connects to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, clap::ValueEnum, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// A program that is started
    Stdio,
    /// Streamable HTTP
    Http,
    /// HTTP with server-sent events, which is deprecated
    Sse,
}

impl Transport {
    pub const ALL: [Self; 3] = [Self::Stdio, Self::Http, Self::Sse];

    /// Returns the transport's name, as the database stores it.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Stdio => "stdio",
            Self::Http => "http",
            Self::Sse => "sse",
        }
    }
}

/// A part of a text.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Part {
    Text(String),
    /// The value of an environment variable at the time when the server is started.
    Env {
        env: String,
        /// The value if the variable is not set.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        default: Option<String>,
    },
    /// A value that VS Code asks its user for.
    Input {
        /// The id of the question.
        input: String,
    },
    /// The content of a file.
    File {
        file: String,
    },
}

impl Part {
    pub fn env(name: impl Into<String>) -> Self {
        Self::Env { env: name.into(), default: None }
    }
}

/// A text that may contain references. Two adjacent parts are never both plain text, and no part is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Text(Vec<Part>);

impl Text {
    pub fn new(parts: impl IntoIterator<Item = Part>) -> Self {
        let mut text = Self::default();
        parts.into_iter().for_each(|part| text.push(part));
        text
    }

    pub fn plain(text: impl Into<String>) -> Self {
        Self::new([Part::Text(text.into())])
    }

    pub fn push(&mut self, part: Part) {
        match (self.0.last_mut(), part) {
            (_, Part::Text(text)) if text.is_empty() => {}
            (Some(Part::Text(before)), Part::Text(text)) => before.push_str(&text),
            (_, part) => self.0.push(part),
        }
    }

    pub fn parts(&self) -> &[Part] {
        &self.0
    }

    /// Returns the text if it contains no references.
    pub fn literal(&self) -> Option<&str> {
        match self.0.as_slice() {
            [] => Some(""),
            [Part::Text(text)] => Some(text),
            _ => None,
        }
    }

    pub fn refers(&self) -> bool {
        self.literal().is_none()
    }
}

/// Names with their texts, in order, for variables and headers.
pub type Named = Vec<(String, Text)>;

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Definition {
    pub transport: Transport,
    /// The program to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<Text>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<Text>,
    /// The program's environment variables.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub env: Named,
    /// The working directory of the program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<Text>,
    /// The URL of a server that is already running.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<Text>,
    /// Headers that are sent with each request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub headers: Named,
    /// The VS Code inputs that the server's values refer to, in the form that VS Code uses.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inputs: Vec<Value>,
    /// Settings that only the agent of the imported file understands, in the order of that file.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub extra: Map<String, Value>,
    /// What the server is for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

impl Definition {
    /// Returns the definition of a server that runs as a program.
    pub fn stdio(command: Text) -> Self {
        Self { command: Some(command), ..Self::of(Transport::Stdio) }
    }

    /// Returns the definition of a server at a URL.
    pub fn remote(transport: Transport, url: Text) -> Self {
        Self { url: Some(url), ..Self::of(transport) }
    }

    fn of(transport: Transport) -> Self {
        Self {
            transport,
            command: None,
            args: Vec::new(),
            env: Named::new(),
            cwd: None,
            url: None,
            headers: Named::new(),
            inputs: Vec::new(),
            extra: Map::new(),
            description: None,
        }
    }

    /// Returns the texts of the definition, except those of `inputs` and `extra`.
    pub fn texts(&self) -> impl Iterator<Item = &Text> {
        let named = self.env.iter().chain(&self.headers).map(|(_, text)| text);
        self.command.iter().chain(&self.args).chain(&self.cwd).chain(&self.url).chain(named)
    }
}

/// The place that a server was imported from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The agent that the imported file belonged to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    /// The file's path relative to the import, with `/` as separator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<String>,
    /// The server's name in the imported file, if it differs from the name in the project.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub entry: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pub id: i64,
    pub uuid: Uuid,
    /// Unique in its project.
    pub name: String,
    pub definition: Definition,
    pub origin: Origin,
    pub enabled: bool,
    pub revision: i64,
    pub created_at: Millis,
    pub updated_at: Millis,
}

impl Server {
    /// Returns the server's name in the imported file.
    pub fn entry(&self) -> &str {
        self.origin.entry.as_deref().unwrap_or(&self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_merges_its_parts_and_drops_empty_ones() {
        let text = Text::new([
            Part::Text("Bea".to_owned()),
            Part::Text("rer ".to_owned()),
            Part::env("T"),
            Part::Text(String::new()),
            Part::Env { env: "U".to_owned(), default: Some("x".to_owned()) },
            Part::Input { input: "i".to_owned() },
            Part::File { file: "~/t".to_owned() },
        ]);
        let json = r#"["Bearer ",{"env":"T"},{"env":"U","default":"x"},{"input":"i"},{"file":"~/t"}]"#;
        assert_eq!(serde_json::to_string(&text).unwrap(), json);
        assert_eq!(serde_json::from_str::<Text>(json).unwrap(), text);
        assert!(text.refers() && !Text::plain("").refers());
        assert_eq!(Text::plain("a").literal(), Some("a"));
    }
}
