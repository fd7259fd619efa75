//! The arguments that describe an MCP server, for `mcpkg mcp add` and `set`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::form;
use mcpkg_agents::servers::secrets::Secrets;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::secret;
use mcpkg_core::names;
use mcpkg_store::servers::{Definition, Named, Part, Text, Transport};

/// Describes a server. Values can contain `${NAME}` or `${NAME:-default}`.
#[derive(clap::Args, Deserialize, JsonSchema)]
pub struct ServerArguments {
    /// Program to start and the program's arguments, after `--`
    #[arg(value_name = "COMMAND", last = true, conflicts_with = "url")]
    #[serde(default)]
    pub command: Vec<String>,
    /// URL of a server that is already running
    #[arg(long, value_name = "URL")]
    pub url: Option<String>,
    /// Transport [default: stdio for a program, http for a URL]
    #[arg(long, value_enum)]
    #[schemars(with = "Option<String>")]
    pub transport: Option<Transport>,
    /// Environment variable for the program: NAME, or NAME=env:OTHER to take the value from the variable OTHER; with
    /// `set`, NAME= removes the variable
    #[arg(long, short, value_name = "NAME[=env:OTHER]")]
    #[serde(default)]
    pub env: Vec<String>,
    /// Header that takes its value from a variable, such as 'Authorization=Bearer env:TOKEN'; with `set`, NAME= removes the header
    #[arg(long, short = 'H', value_name = "NAME=[SCHEME ]env:VARIABLE")]
    #[serde(default)]
    pub header: Vec<String>,
    /// Folder to start the program in
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<String>,
    /// Store the value of this variable or header as plain text; the value must not be a secret
    #[arg(long, value_name = "NAME")]
    #[serde(default)]
    pub keep_env: Vec<String>,
    /// Description of what the server is for
    #[arg(long, short, allow_hyphen_values = true)]
    pub description: Option<String>,
}

impl ServerArguments {
    pub fn is_empty(&self) -> bool {
        let Self { command, url, transport, env, header, cwd, keep_env, description } = self;
        let lists = [command, env, header, keep_env];
        lists.iter().all(|list| list.is_empty())
            && [url, cwd, description].iter().all(|text| text.is_none())
            && transport.is_none()
    }

    /// Applies the arguments to a server's existing definition, or to an empty one. Fails if they do not fit together,
    /// or if a value may be a secret. The error does not repeat the value.
    pub fn lay_over(&self, name: &str, before: Option<Definition>) -> Result<Definition> {
        let mut definition = self.base(before)?;
        for given in &self.env {
            self.name_value(given, &mut definition.env)?;
        }
        for given in &self.header {
            self.name_value(given, &mut definition.headers)?;
        }
        if let Some(cwd) = &self.cwd {
            definition.cwd = Some(text(cwd)).filter(|_| !cwd.is_empty());
        }
        if self.description.is_some() {
            definition.description = names::description(self.description.clone())?;
        }
        let is_program = definition.transport == Transport::Stdio;
        if is_program && !definition.headers.is_empty() {
            return Err(refuse("A server that runs as a program cannot have headers").hint(
                "set an environment \
                variable with --env instead",
            ));
        }
        if !is_program && (!definition.env.is_empty() || definition.cwd.is_some()) {
            return Err(refuse("A server with a URL cannot have environment variables or a working folder").hint(
                "send a \
                    value with --header instead",
            ));
        }
        let mut safe = definition.clone();
        let keep: Vec<String> =
            definition.env.iter().chain(&definition.headers).map(|(name, _)| name.clone()).collect();
        let out = Secrets::keeping(&keep).take_out(name, &mut safe);
        if !out.texts.is_empty() {
            return Err(refuse("An argument or the URL appears to contain a secret; nothing was stored")
                .hint("write ${NAME} instead, and set the variable NAME"));
        }
        Ok(definition)
    }

    fn base(&self, before: Option<Definition>) -> Result<Definition> {
        let mut words = self.command.iter().map(|word| text(word));
        let transport = self.transport;
        match (words.next(), &self.url, before) {
            (Some(program), _, before) => {
                if !matches!(transport, None | Some(Transport::Stdio)) {
                    return Err(refuse("A server that runs as a program must use the stdio transport"));
                }
                let args = words.collect();
                let kept = before.filter(|before| before.transport == Transport::Stdio);
                let kept = kept.unwrap_or_else(|| Definition::stdio(Text::default()));
                Ok(Definition { command: Some(program), args, ..kept })
            }
            (None, Some(url), before) => {
                let transport = transport.unwrap_or(Transport::Http);
                if transport == Transport::Stdio || !(url.starts_with("http://") || url.starts_with("https://")) {
                    return Err(refuse(
                        "A URL must begin with http:// or https://, and needs the http or sse transport",
                    ));
                }
                let kept = before.filter(|before| before.transport != Transport::Stdio);
                let kept = kept.unwrap_or_else(|| Definition::remote(transport, Text::default()));
                Ok(Definition { url: Some(text(url)), transport, ..kept })
            }
            (None, None, Some(before)) => match transport {
                Some(transport) if (transport == Transport::Stdio) != (before.transport == Transport::Stdio) => {
                    Err(refuse("The new transport requires a program or a URL"))
                }
                transport => Ok(Definition { transport: transport.unwrap_or(before.transport), ..before }),
            },
            (None, None, None) => Err(refuse("A server needs a program or a URL")
                .hint("run `mcpkg mcp add NAME -- PROGRAM ARGUMENTS` or `mcpkg mcp add NAME --url URL`")),
        }
    }

    /// Sets, changes or removes one environment variable or header.
    fn name_value(&self, given: &str, named: &mut Named) -> Result<()> {
        let (name, value) = match given.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (given, None),
        };
        if name.is_empty() || name.contains(|c: char| c.is_control() || c.is_whitespace() || c == ':') {
            return Err(refuse("The name of a variable or header cannot contain spaces or `:`"));
        }
        named.retain(|(known, _)| known != name);
        let value = match value {
            Some("") => return Ok(()),
            None if secret::is_variable(name) => Text::new([Part::env(name)]),
            None => {
                return Err(secret::not_a_variable(name).hint("or write NAME=env:VARIABLE"));
            }
            Some(value) => self.value(name, value)?,
        };
        named.push((name.to_owned(), value));
        Ok(())
    }

    fn value(&self, name: &str, value: &str) -> Result<Text> {
        let (scheme, reference) =
            value.rsplit_once(' ').map_or(("", value), |(_, last)| (&value[..value.len() - last.len()], last));
        if let Some(variable) = reference.strip_prefix("env:").filter(|variable| secret::is_variable(variable))
            && matches!(scheme, "" | "Bearer " | "Basic " | "Token " | "ApiKey ")
        {
            return Ok(Text::new([Part::Text(scheme.to_owned()), Part::env(variable)]));
        }
        if self.keep_env.iter().any(|kept| kept == name) {
            return Ok(text(value));
        }
        // Do not repeat the value, which may be the secret itself.
        Err(refuse(&format!(
            "For '{name}', pass the name of a variable that holds the value, not the value itself; nothing was stored"
        ))
        .hint(format!(
            "write {name}=env:{}; to store a value that is not a secret, add --keep-env {name}",
            example(name)
        )))
    }
}

/// Suggests an environment variable for a variable or header: `X-Api-Key` -> `X_API_KEY`.
fn example(name: &str) -> String {
    name.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_uppercase() } else { '_' }).collect()
}

/// Parses the references in a text, which are written `${NAME}` or `${NAME:-default}`.
fn text(given: &str) -> Text {
    form().map_or_else(|| Text::plain(given), |form| form.text(given))
}

fn refuse(why: &str) -> Error {
    Error::new(Code::InvalidArgument, why)
}
