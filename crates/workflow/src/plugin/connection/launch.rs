//! Resolves the secrets in a plugin's definition, immediately before the plugin is started. Only that plugin gets the secrets.

use std::path::PathBuf;

use http::{HeaderMap, HeaderName, HeaderValue};
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

use mcpkg_base::disk;
use mcpkg_base::error::{Code, Error, Result};
use mcpkg_base::http::{Reach, Url};
use mcpkg_base::process::{Environment, Program, is_passed_on};
use mcpkg_base::secret::{Reference, Secret};
use mcpkg_store::servers::{Definition, Part, Server, Text, Transport};

/// A program to start, or a URL to connect to.
pub enum Launch {
    Program(Program),
    Address {
        url: Url,
        /// The kind of addresses that may be contacted.
        reach: Reach,
        /// Headers of every request.
        headers: HeaderMap,
    },
}

/// Resolves the references in the definition of a server. `reach` says which addresses may be contacted.
pub fn resolve(server: &Server, reach: Reach, cancelled: &CancellationToken) -> Result<Launch> {
    let definition = &server.definition;
    let filling = Filling { plugin: &server.name, cancelled };
    match definition.transport {
        Transport::Stdio => filling.program(definition).map(Launch::Program),
        Transport::Http => filling.address(definition, reach),
        Transport::Sse => {
            let why = "it uses the deprecated HTTP+SSE transport";
            Err(filling
                .refuse(why)
                .hint("if the server also supports streamable HTTP, run `mcpkg mcp set NAME --transport http`"))
        }
    }
}

/// Checks that mcpkg can run a server, without reading any secret. The error contains the reason.
pub fn check(name: &str, definition: &Definition) -> Result<()> {
    let never = CancellationToken::new();
    let filling = Filling { plugin: name, cancelled: &never };
    if definition.transport == Transport::Sse {
        let why = "it uses the deprecated HTTP+SSE transport";
        return Err(filling
            .refuse(why)
            .hint("if the server also supports streamable HTTP, run `mcpkg mcp set NAME --transport http`"));
    }
    for text in definition.command.iter().chain(&definition.args).chain(&definition.cwd) {
        text.parts().iter().try_for_each(|part| filling.check_open(part))?;
    }
    for part in definition.texts().flat_map(Text::parts) {
        if let Part::Input { input } = part {
            let why = format!("it needs the value of the VS Code input '{}'", input.escape_debug());
            return Err(filling.refuse(&why).hint("replace the input with a variable, using `mcpkg mcp set`"));
        }
    }
    if let Some(folder) = definition.cwd.as_ref().and_then(Text::literal) {
        filling.folder(folder)?;
    }
    Ok(())
}

struct Filling<'a> {
    plugin: &'a str,
    cancelled: &'a CancellationToken,
}

impl Filling<'_> {
    fn program(&self, definition: &Definition) -> Result<Program> {
        let command = definition.command.as_ref().ok_or_else(|| self.refuse("it has no program"))?;
        let args = definition.args.iter().map(|arg| self.open(arg)).collect::<Result<Vec<_>>>()?;
        let folder = match &definition.cwd {
            Some(folder) => self.folder(&self.open(folder)?)?,
            // The current folder is not safe: its files may come from anybody.
            None => disk::home()?,
        };
        let mut program =
            Program::new(self.open(command)?).args(args).environment(Environment::Allowed).folder(&folder);
        for (name, text) in &definition.env {
            let value = self.filled(text)?;
            program = program.variable(name, value.as_str());
        }
        Ok(program)
    }

    fn address(&self, definition: &Definition, reach: Reach) -> Result<Launch> {
        let url = definition.url.as_ref().ok_or_else(|| self.refuse("it has no URL"))?;
        let url = Url::parse(&self.filled(url)?)
            .ok_or_else(|| self.refuse("its URL is invalid, or contains a user name or password"))?;
        let mut headers = HeaderMap::new();
        for (name, text) in &definition.headers {
            let bad = |_| self.refuse(&format!("'{}' is not a valid header name", name.escape_debug()));
            let header = HeaderName::from_bytes(name.as_bytes()).map_err(bad)?;
            let filled = self.filled(text)?;
            let bad = |_| {
                self.refuse(&format!(
                    "the value of the header '{header}' contains characters that are invalid in a header"
                ))
            };
            let mut value = HeaderValue::from_str(&filled).map_err(bad)?;
            value.set_sensitive(true);
            headers.insert(header, value);
        }
        Ok(Launch::Address { url, reach, headers })
    }

    /// Resolves a text that every user of the machine can see, such as an argument of the program.
    fn open(&self, text: &Text) -> Result<String> {
        let part = |part: &Part| {
            self.check_open(part)?;
            Ok(match part {
                Part::Text(plain) => plain.clone(),
                Part::Env { env, default } => match (self.read(env), default) {
                    (Ok(value), _) => value.expose().to_owned(),
                    (Err(_), Some(default)) => default.clone(),
                    (Err(error), None) => return Err(error),
                },
                Part::Input { .. } | Part::File { .. } => String::new(),
            })
        };
        text.parts().iter().map(part).collect()
    }

    /// Refuses a reference that would expose a secret in an argument.
    fn check_open(&self, part: &Part) -> Result<()> {
        let what = match part {
            Part::Text(_) => return Ok(()),
            Part::Env { env, .. } if is_passed_on(env) => return Ok(()),
            Part::Env { env, .. } => format!("the variable {env}"),
            Part::Input { input } => format!("the value of the input '{}'", input.escape_debug()),
            Part::File { file } => format!("the file '{}'", file.escape_debug()),
        };
        let why = format!("its command line contains {what}, and every user of this machine can read command lines");
        Err(self.refuse(&why).hint("pass it to the program as a variable instead: `mcpkg mcp set NAME --env VARIABLE`"))
    }

    /// Resolves all references of a text.
    fn filled(&self, text: &Text) -> Result<Zeroizing<String>> {
        let mut filled = Zeroizing::new(String::new());
        for part in text.parts() {
            let secret = match part {
                Part::Text(plain) => {
                    filled.push_str(plain);
                    continue;
                }
                Part::Env { env, default } => match (self.read(env), default) {
                    (Err(_), Some(default)) => {
                        filled.push_str(default);
                        continue;
                    }
                    (read, _) => read?,
                },
                Part::File { file } => format!("file:{file}").parse::<Reference>()?.resolve(self.cancelled)?,
                Part::Input { input } => {
                    let why = format!("it needs the value of the VS Code input '{}'", input.escape_debug());
                    return Err(self.refuse(&why).hint("replace the input with a variable, using `mcpkg mcp set`"));
                }
            };
            filled.push_str(secret.expose());
        }
        Ok(filled)
    }

    fn read(&self, variable: &str) -> Result<Secret> {
        Reference::Environment(variable.to_owned()).resolve(self.cancelled)
    }

    fn folder(&self, text: &str) -> Result<PathBuf> {
        if let Some(below) = text.strip_prefix("~/") {
            return Ok(disk::home()?.join(below));
        }
        let folder = PathBuf::from(text);
        match folder.is_absolute() {
            true => Ok(folder),
            false => Err(self
                .refuse("its working folder is a relative path")
                .hint("set an absolute folder or a folder below `~/` with `mcpkg mcp set NAME --cwd DIR`")),
        }
    }

    fn refuse(&self, why: &str) -> Error {
        Error::new(Code::InvalidArgument, format!("MCP server '{}' cannot be a plugin: {why}", self.plugin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(definition: &Definition) -> String {
        check("docs", definition).map_or_else(|error| error.message().to_owned(), |()| "fine".to_owned())
    }

    #[test]
    fn no_secret_is_an_argument_and_what_cannot_be_run_says_why() {
        let program = |args: Vec<Text>| Definition { args, ..Definition::stdio(Text::plain("node")) };
        assert_eq!(refused(&program(vec![Text::plain("a"), Text::new([Part::env("HOME")])])), "fine");
        let token = refused(&program(vec![Text::new([Part::env("API_TOKEN")])]));
        assert!(token.contains("the variable API_TOKEN") && token.contains("every user"), "{token}");
        let env = vec![("T".to_owned(), Text::new([Part::env("API_TOKEN")]))];
        assert_eq!(refused(&Definition { env, ..program(Vec::new()) }), "fine");
        let asks = vec![("T".to_owned(), Text::new([Part::Input { input: "key".to_owned() }]))];
        assert!(refused(&Definition { env: asks, ..program(Vec::new()) }).contains("input 'key'"));
        let sse = Definition::remote(Transport::Sse, Text::plain("https://a/sse"));
        assert!(refused(&sse).contains("deprecated HTTP+SSE transport"));
        let elsewhere = Definition { cwd: Some(Text::plain("sub")), ..program(Vec::new()) };
        assert!(refused(&elsewhere).contains("its working folder is a relative path"), "{}", refused(&elsewhere));
    }
}
