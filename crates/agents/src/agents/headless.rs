//! Describes how an agent runs without a screen: it reads one prompt from standard input, and prints lines of JSON.

use serde_json::Value;

/// The facts about an agent that mcpkg needs to run a single prompt.
#[derive(Debug)]
pub struct Headless {
    /// The arguments of every run, apart from those that attach the server.
    pub args: &'static [&'static str],
    /// Environment variables that are set in addition to the user's own.
    pub variables: &'static [(&'static str, &'static str)],
    /// The way to attach mcpkg's server for one run, without changing the user's configuration.
    pub attach: Attach,
    /// What else the agent may use besides the server. The consent request shows this text.
    pub also: &'static str,
    /// Returns the messages in a line of the output. An unknown line contains none.
    pub read: fn(&Value) -> Vec<Said>,
}

/// How an agent gets mcpkg's server for one run.
#[derive(Clone, Copy, Debug)]
pub enum Attach {
    /// Through a file in the folder that the agent runs in.
    File {
        name: &'static str,
        /// Returns the file's content. Takes the server's entry, as [`start`](super::agent::Client::start) returns it.
        content: fn(Value) -> Value,
    },
    /// Through arguments.
    Arguments(fn(&str, &[String]) -> Vec<String>),
}

/// A message in a line of an agent's output.
#[derive(Clone, Debug, PartialEq)]
pub enum Said {
    Text(String),
    /// A part of a text. The text goes on in the next parts.
    Part(String),
    /// The cost of the run, or of a part of it, in US dollars.
    Cost(f64),
    Error(String),
}

impl Headless {
    /// Returns the arguments, and the name and content of a file to write to the folder where the agent runs. `start`
    /// is the agent's [`Client::start`](super::agent::Client::start). `program` and `args` start the server.
    pub fn line(
        &self,
        start: fn(&str, &[String]) -> Value,
        program: &str,
        args: &[String],
    ) -> (Vec<String>, Option<(&'static str, String)>) {
        let own = self.args.iter().map(|arg| (*arg).to_owned());
        match self.attach {
            Attach::File { name, content } => {
                (own.collect(), Some((name, format!("{:#}\n", content(start(program, args))))))
            }
            Attach::Arguments(more) => (own.chain(more(program, args)).collect(), None),
        }
    }
}

/// Returns the text in a value. `None` if the value is blank or is not a string.
pub fn text(value: &Value) -> Option<Said> {
    value.as_str().filter(|text| !text.trim().is_empty()).map(|text| Said::Text(text.to_owned()))
}

/// Returns an error. If the value is not a string, the error says that the agent gave no reason.
pub fn error(value: &Value) -> Vec<Said> {
    vec![Said::Error(value.as_str().unwrap_or("it did not say why").to_owned())]
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::agents::{self, Agent};

    fn headless(name: &str) -> (&'static Agent, &'static Headless) {
        let agent = agents::named(name).expect("an agent");
        (agent, agent.headless.as_ref().expect("an agent that runs without a screen"))
    }

    /// Returns the arguments as one line, and the file.
    fn line(name: &str) -> (String, String) {
        let (agent, headless) = headless(name);
        let (args, file) =
            headless.line(agent.client.start, "/bin/mcpkg", &["serve".to_owned(), "--db=a b".to_owned()]);
        (args.join(" "), file.map(|(name, text)| format!("{name} {text}").replace(['\n', ' '], "")).unwrap_or_default())
    }

    fn said(name: &str, line: Value) -> Vec<Said> {
        (headless(name).1.read)(&line)
    }

    fn text(text: &str) -> Vec<Said> {
        vec![Said::Text(text.to_owned())]
    }

    #[test]
    fn claude_code_gets_a_file_and_has_no_tools_of_its_own() {
        let (args, file) = line("claude-code");
        assert_eq!(
            args,
            "-p --output-format stream-json --verbose --no-session-persistence --permission-mode dontAsk --tools  \
             --strict-mcp-config --mcp-config mcpkg.json --allowedTools mcp__mcpkg"
        );
        assert_eq!(
            file,
            r#"mcpkg.json{"mcpServers":{"mcpkg":{"type":"stdio","command":"/bin/mcpkg","args":["serve","--db=ab"]}}}"#
        );
        let content = json!([{ "type": "text", "text": "Done." }, { "type": "tool_use", "name": "x" }]);
        assert_eq!(
            said("claude-code", json!({ "type": "assistant", "message": { "content": content } })),
            text("Done.")
        );
        let result = json!({ "type": "result", "is_error": false, "result": "Done.", "total_cost_usd": 0.04 });
        assert_eq!(said("claude-code", result), [Said::Cost(0.04)]);
        let result = json!({ "type": "result", "is_error": true, "result": "No credit", "total_cost_usd": 0.0 });
        assert_eq!(said("claude-code", result), [Said::Cost(0.0), Said::Error("No credit".to_owned())]);
    }

    #[test]
    fn codex_gets_arguments_and_a_read_only_sandbox() {
        let (args, file) = line("codex");
        assert_eq!(
            args,
            "exec --json --skip-git-repo-check --ephemeral --sandbox read-only -c features.shell_tool=false \
             -c features.multi_agent=false -c web_search=\"disabled\" -c mcp_servers.mcpkg.command=\"/bin/mcpkg\" \
             -c mcp_servers.mcpkg.args=[\"serve\",\"--db=a b\"] -c mcp_servers.mcpkg.default_tools_approval_mode=\"approve\""
        );
        assert_eq!(file, "");
        let message = json!({ "type": "agent_message", "text": "Done." });
        assert_eq!(said("codex", json!({ "type": "item.completed", "item": message })), text("Done."));
        assert_eq!(said("codex", json!({ "type": "item.completed", "item": { "type": "mcp_tool_call" } })), []);
        let failed = json!({ "type": "turn.failed", "error": { "message": "No credit" } });
        assert_eq!(said("codex", failed), [Said::Error("No credit".to_owned())]);
    }

    #[test]
    fn copilot_gets_a_file_and_may_use_one_server() {
        let (args, file) = line("copilot");
        assert_eq!(
            args,
            "--output-format json --disable-builtin-mcps --no-ask-user --additional-mcp-config @mcpkg.json \
             --available-tools mcpkg --allow-tool mcpkg"
        );
        assert_eq!(
            file,
            r#"mcpkg.json{"mcpServers":{"mcpkg":{"type":"local","command":"/bin/mcpkg","args":["serve","--db=ab"],"tools":["*"]}}}"#
        );
        assert_eq!(
            said("copilot", json!({ "type": "assistant.message", "data": { "content": "Done." } })),
            text("Done.")
        );
        assert_eq!(said("copilot", json!({ "type": "assistant.message", "data": { "content": "" } })), []);
        let failed = json!({ "type": "session.error", "data": { "message": "No credit" } });
        assert_eq!(said("copilot", failed), [Said::Error("No credit".to_owned())]);
    }

    #[test]
    fn gemini_trusts_only_the_server_in_the_settings_of_its_run() {
        let (args, file) = line("gemini");
        assert_eq!(args, "--output-format stream-json --allowed-mcp-server-names mcpkg");
        assert_eq!(
            file,
            r#".gemini/settings.json{"mcpServers":{"mcpkg":{"command":"/bin/mcpkg","args":["serve","--db=ab"],"trust":true}}}"#
        );
        assert_eq!(headless("gemini").1.variables, [("GEMINI_CLI_TRUST_WORKSPACE", "true")]);
        let message =
            |delta: bool| json!({ "type": "message", "role": "assistant", "content": "Done.", "delta": delta });
        assert_eq!(said("gemini", message(true)), [Said::Part("Done.".to_owned())]);
        assert_eq!(said("gemini", message(false)), text("Done."));
        assert_eq!(said("gemini", json!({ "type": "message", "role": "user", "content": "Make it" })), []);
        let failed = json!({ "type": "result", "status": "error", "error": { "message": "No credit" } });
        assert_eq!(said("gemini", failed), [Said::Error("No credit".to_owned())]);
    }

    #[test]
    fn opencode_is_denied_all_other_tools() {
        let (args, file) = line("opencode");
        assert_eq!(args, "run --format json");
        assert_eq!(
            file,
            r#"opencode.json{"mcp":{"mcpkg":{"type":"local","command":["/bin/mcpkg","serve","--db=ab"]}},"permission":{"*":"deny","mcpkg_*":"allow"}}"#
        );
        assert_eq!(said("opencode", json!({ "type": "text", "part": { "text": "Done." } })), text("Done."));
        assert_eq!(said("opencode", json!({ "type": "step_finish", "part": { "cost": 0.01 } })), [Said::Cost(0.01)]);
        let failed = json!({ "type": "error", "error": { "data": { "message": "No credit" } } });
        assert_eq!(said("opencode", failed), [Said::Error("No credit".to_owned())]);
    }

    #[test]
    fn no_agent_takes_the_prompt_as_an_argument() {
        for (name, headless) in agents::ALL.iter().filter_map(|agent| Some((agent.name, agent.headless.as_ref()?))) {
            assert!(!headless.args.contains(&"--prompt") && !headless.args.contains(&"--yolo"), "{name}");
            assert_eq!((headless.read)(&json!({ "type": "unknown" })), [], "{name}");
            assert_eq!((headless.read)(&json!("no object")), [], "{name}");
        }
    }
}
