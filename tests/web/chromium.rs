//! Drives a real browser, Chromium, for tests of the console. It is driven through chromedriver's protocol, WebDriver.

use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::Browser;
use crate::support::http::read_response;
use crate::support::{Request, Scratch, skipped};

/// How long to wait for something on a page.
const PATIENCE: Duration = Duration::from_secs(30);

/// The key of an element's id in WebDriver's answers.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

pub struct Chromium {
    driver: Child,
    /// The reading end of chromedriver's output. It is kept open, because chromedriver ends when it cannot write.
    _output: BufReader<ChildStdout>,
    address: SocketAddr,
    session: String,
    /// The address of the console, such as `http://mcpkg-5f3a9c21.localhost:4000`.
    base: String,
    _profile: Scratch,
}

/// Starts chromedriver. Returns its output, which has to stay open, and its port. `None` if there is no chromedriver.
fn driver(profile: &Scratch) -> Option<(Child, BufReader<ChildStdout>, u16)> {
    // It ends if another program has the port that it chose, which happens next to many servers.
    for _ in 0..5 {
        let mut command = Command::new("chromedriver");
        command.arg("--port=0").env("HOME", profile.path()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut driver = command.spawn().ok()?;
        let mut output = BufReader::new(driver.stdout.take().expect("an output"));
        let port = (&mut output).lines().map_while(Result::ok).find_map(|line| {
            let (_, port) = line.rsplit_once(" successfully on port ")?;
            port.trim_end_matches('.').parse().ok()
        });
        if let Some(port) = port {
            return Some((driver, output, port));
        }
        driver.wait().expect("an end");
    }
    panic!("chromedriver does not name its port");
}

impl Chromium {
    /// Starts a browser that is signed in to the console of `other`. `None` if there is no browser.
    pub fn start(other: &mut Browser) -> Option<Self> {
        let mut browser = Self::launch()?;
        browser.sign_in(other);
        Some(browser)
    }

    /// Starts a browser with a window of 1280x800. If chromedriver or Chromium cannot be started, reports the test as
    /// skipped and returns `None`.
    pub fn launch() -> Option<Self> {
        Self::launch_with(&[])
    }

    /// Starts a browser with further arguments.
    pub fn launch_with(more: &[&str]) -> Option<Self> {
        let profile = Scratch::new();
        let Some((driver, output, port)) = driver(&profile) else {
            skipped("there is no chromedriver");
            return None;
        };
        let folder = format!("--user-data-dir={}", profile.path().join("profile").display());
        // Chromium's own sandbox does not run as root, nor in most containers.
        let usual = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", &folder];
        let arguments = [&usual, more].concat();
        let wanted = json!({
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
            // Five minutes, because a busy machine is slow.
            "timeouts": { "script": 300_000, "pageLoad": 300_000 },
        });
        let mut browser = Self {
            driver,
            _output: output,
            address: ([127, 0, 0, 1], port).into(),
            session: String::new(),
            base: String::new(),
            _profile: profile,
        };
        let asked = json!({ "capabilities": { "alwaysMatch": wanted } });
        match browser.send("POST", "/session", &asked) {
            Ok(made) => browser.session = made["sessionId"].as_str().expect("a session").to_owned(),
            Err(why) => {
                skipped(&format!("Chromium does not start: {why}"));
                return None;
            }
        }
        browser.size(1280, 800);
        Some(browser)
    }

    /// Sets the address of the console.
    pub fn visit(&mut self, base: &str) {
        base.clone_into(&mut self.base);
    }

    /// Adds an authenticator that verifies its user, like a phone. Returns its name.
    pub fn add_authenticator(&self) -> String {
        let wanted = json!({
            "protocol": "ctap2",
            "transport": "internal",
            "hasResidentKey": true,
            "hasUserVerification": true,
            "isUserConsenting": true,
            "isUserVerified": true,
        });
        let made = self.command("POST", "/webauthn/authenticator", &wanted);
        made.as_str().expect("a name").to_owned()
    }

    /// Sets whether an authenticator recognises its user from now on.
    pub fn verifies(&self, authenticator: &str, is_verified: bool) {
        let path = format!("/webauthn/authenticator/{authenticator}/uv");
        self.command("POST", &path, &json!({ "isUserVerified": is_verified }));
    }

    /// Signs in to the console of `other` with a new link, which the console prints when enter is pressed.
    pub fn sign_in(&mut self, other: &mut Browser) {
        other.terminal().keys("\r");
        let (host, token) = other.link(1);
        self.base = format!("http://{host}");
        self.open(&format!("/login?token={token}"));
        self.click("main button");
        self.wait("Inbox");
    }

    fn send(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        let mut stream = TcpStream::connect(self.address).expect("chromedriver takes a connection");
        stream.set_read_timeout(Some(PATIENCE * 12)).expect("a deadline");
        let request = Request::new(method, path).with("Host", "127.0.0.1").with("Connection", "close");
        let body = if method == "POST" { body.to_string() } else { String::new() };
        stream.write_all(&request.body(body).bytes()).expect("chromedriver takes the request");
        let response = read_response(&mut BufReader::new(stream)).expect("chromedriver answers");
        let value = serde_json::from_slice::<Value>(&response.body).expect("JSON")["value"].take();
        if response.status == 200 { Ok(value) } else { Err(value) }
    }

    fn try_command(&self, method: &str, path: &str, body: &Value) -> Result<Value, Value> {
        self.send(method, &format!("/session/{}{path}", self.session), body)
    }

    #[track_caller]
    fn command(&self, method: &str, path: &str, body: &Value) -> Value {
        self.try_command(method, path, body).unwrap_or_else(|why| panic!("{path} {body}: {why:#}"))
    }

    /// Runs a command of the developer tools.
    #[track_caller]
    pub fn tool(&self, name: &str, params: Value) -> Value {
        self.command("POST", "/goog/cdp/execute", &json!({ "cmd": name, "params": params }))
    }

    pub fn size(&self, width: u32, height: u32) {
        let size = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false });
        self.tool("Emulation.setDeviceMetricsOverride", size);
    }

    pub fn theme(&self, name: &str) {
        let feature = json!({ "name": "prefers-color-scheme", "value": name });
        self.tool("Emulation.setEmulatedMedia", json!({ "features": [feature] }));
    }

    /// Returns a picture of the top of the page as PNG.
    pub fn picture(&self, width: u32, height: u32) -> Vec<u8> {
        let clip = json!({ "x": 0, "y": 0, "width": width, "height": height, "scale": 1 });
        let wanted = json!({ "format": "png", "clip": clip, "captureBeyondViewport": true });
        let taken = self.tool("Page.captureScreenshot", wanted);
        STANDARD.decode(taken["data"].as_str().expect("a picture")).expect("base64")
    }

    /// Opens a page of the console.
    #[track_caller]
    pub fn open(&self, address: &str) {
        self.command("POST", "/url", &json!({ "url": format!("{}{address}", self.base) }));
    }

    /// Runs a script in the page, and returns its value.
    #[track_caller]
    pub fn run(&self, script: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({ "script": script, "args": [] }))
    }

    /// Runs a script in the page with a text as its argument.
    #[track_caller]
    pub fn run_with(&self, script: &str, argument: &str) -> Value {
        self.command("POST", "/execute/sync", &json!({ "script": script, "args": [argument] }))
    }

    /// Runs a script in the page. The script passes its result to the function in its last argument. Returns that
    /// result.
    #[track_caller]
    pub fn run_async(&self, script: &str) -> Value {
        self.command("POST", "/execute/async", &json!({ "script": script, "args": [] }))
    }

    fn element(&self, by: &str, value: &str) -> Result<String, Value> {
        let found = self.try_command("POST", "/element", &json!({ "using": by, "value": value }))?;
        Ok(found[ELEMENT].as_str().expect("an element").to_owned())
    }

    #[track_caller]
    pub fn click(&self, css: &str) {
        let element = self.element("css selector", css).unwrap_or_else(|why| panic!("{css}: {why:#}"));
        self.command("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// Presses the first button with this label. A person looks first: a press right after the page changed does not count.
    #[track_caller]
    pub fn press(&self, label: &str) {
        let settles = "const done = arguments[0];
            const look = () => typeof settled === 'undefined' || performance.now() >= settled ? done() : setTimeout(look, 50);
            look();";
        self.run_async(settles);
        let path = format!("//button[normalize-space()='{label}']");
        let element = self.element("xpath", &path).unwrap_or_else(|why| panic!("{label}: {why:#} {}", self.text()));
        self.command("POST", &format!("/element/{element}/click"), &json!({}));
    }

    /// Follows the first link with this label in the page.
    #[track_caller]
    pub fn follow(&self, label: &str) {
        let path = format!("//a[normalize-space()=\"{label}\"]");
        let element = self.element("xpath", &path).unwrap_or_else(|why| panic!("{label}: {why:#} {}", self.text()));
        self.command("POST", &format!("/element/{element}/click"), &json!({}));
    }

    #[track_caller]
    pub fn keys(&self, css: &str, text: &str) {
        let element = self.element("css selector", css).unwrap_or_else(|why| panic!("{css}: {why:#}"));
        self.command("POST", &format!("/element/{element}/value"), &json!({ "text": text }));
    }

    /// Returns the text that the page shows.
    pub fn text(&self) -> String {
        self.run("return document.body.innerText").as_str().unwrap_or_default().to_owned()
    }

    /// Waits until the page shows a text, and returns the whole text of the page.
    #[track_caller]
    pub fn wait(&self, awaited: &str) -> String {
        self.wait_until(|text| text.contains(awaited), awaited)
    }

    #[track_caller]
    pub fn wait_until(&self, is_so: impl Fn(&str) -> bool, what: &str) -> String {
        let until = Instant::now() + PATIENCE;
        loop {
            let text = self.text();
            if is_so(&text) {
                return text;
            }
            assert!(Instant::now() < until, "{what} is not on the page:\n{text}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn tab(&self) -> String {
        self.command("GET", "/window", &json!({})).as_str().expect("a tab").to_owned()
    }

    /// Opens another tab with a page of the console, and returns the tab's handle.
    pub fn new_tab(&self, address: &str) -> String {
        let made = self.command("POST", "/window/new", &json!({ "type": "tab" }));
        let tab = made["handle"].as_str().expect("a tab").to_owned();
        self.switch(&tab);
        self.open(address);
        tab
    }

    pub fn switch(&self, tab: &str) {
        self.command("POST", "/window", &json!({ "handle": tab }));
    }

    pub fn close(&self, tab: &str) {
        self.switch(tab);
        self.command("DELETE", "/window", &json!({}));
    }

    /// Returns what the browser has reported since the last call, such as violations of the content security policy.
    pub fn reports(&self) -> Vec<String> {
        let log = self.command("POST", "/se/log", &json!({ "type": "browser" }));
        let entries = log.as_array().expect("a log").iter();
        entries.filter_map(|entry| entry["message"].as_str().map(str::to_owned)).collect()
    }

    /// Returns the accessibility tree as text. Each line has the role and the name of a node. Nodes that only group or
    /// repeat text are left out.
    pub fn tree(&self) -> String {
        let tree = self.tool("Accessibility.getFullAXTree", json!({}));
        let nodes = tree["nodes"].as_array().expect("nodes");
        let mut text = String::new();
        let mut waiting = vec![(&nodes[0], 0)];
        while let Some((node, depth)) = waiting.pop() {
            let (role, name) = (node["role"]["value"].as_str(), node["name"]["value"].as_str().unwrap_or_default());
            let is_left_out = node["ignored"] == true
                || matches!(role, Some("none" | "generic" | "StaticText" | "InlineTextBox" | "LineBreak" | "strong"));
            if !is_left_out {
                let line = format!("{}{} {name}", "  ".repeat(depth), role.unwrap_or_default());
                text.push_str(line.trim_end());
                text.push('\n');
            }
            let children = node["childIds"].as_array().into_iter().flatten().rev();
            let children = children.filter_map(|id| nodes.iter().find(|node| node["nodeId"] == *id));
            waiting.extend(children.map(|child| (child, depth + usize::from(!is_left_out))));
        }
        text
    }
}

impl Drop for Chromium {
    fn drop(&mut self) {
        if !self.session.is_empty() {
            let _ = self.try_command("DELETE", "", &json!({}));
        }
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Returns the script of axe-core, which finds accessibility faults. It is downloaded once. `None` if the download fails.
pub fn axe() -> Option<String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let fetch = ". tests/support/outside.sh; npm_packages axe axe-core@4.14.1; echo there";
    let ran = Command::new("bash").args(["-c", fetch]).current_dir(root).output().ok()?;
    let said = String::from_utf8_lossy(&ran.stdout);
    if said.trim() != "there" {
        skipped(said.trim().trim_start_matches("skipped: "));
        return None;
    }
    let file: PathBuf = root.join("target/outside/axe/node_modules/axe-core/axe.min.js");
    std::fs::read_to_string(file).ok()
}
