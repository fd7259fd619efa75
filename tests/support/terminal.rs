//! A command at a terminal of its own, for what asks a person.

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs a command at a terminal where `typed` is typed, and returns what it showed and whether it succeeded; `None` where
/// there is no `script` of util-linux.
pub fn at_a_terminal(command: &Command, typed: &str) -> Option<(String, bool)> {
    let quoted = |word: &std::ffi::OsStr| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''"));
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    let line = words.map(quoted).collect::<Vec<_>>().join(" ");
    let mut script = Command::new("script");
    script.args(["-qec", &line, "/dev/null"]).env_clear();
    for (name, value) in command.get_envs() {
        if let Some(value) = value {
            script.env(name, value);
        }
    }
    if let Some(folder) = command.get_current_dir() {
        script.current_dir(folder);
    }
    script.env("SHELL", "/bin/sh").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = match script.spawn() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return None,
        child => child.expect("script starts"),
    };
    // Held open until the command has ended: at its end `script` would end the terminal's input too.
    let mut input = child.stdin.take().expect("an input");
    input.write_all(typed.as_bytes()).and_then(|()| input.flush()).expect("the terminal takes what is typed");
    let mut output = child.stdout.take().expect("an output");
    let mut shown = Vec::new();
    std::io::Read::read_to_end(&mut output, &mut shown).expect("what is shown");
    let status = child.wait().expect("script ends");
    drop(input);
    Some((String::from_utf8_lossy(&shown).into_owned(), status.success()))
}
