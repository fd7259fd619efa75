//! Provides a browser for tests of the console. It keeps the cookie, follows links, and presses the buttons of forms.

use std::collections::BTreeSet;
use std::io::{BufReader, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::Command;

use regex::Regex;

use crate::support::http::{Response, read_response};
use crate::support::{DEADLINE, Request, Screen, morning};

pub struct Browser {
    /// The terminal that printed the link, if there is one.
    pub screen: Option<Screen>,
    /// The host and port of the console, as in its link.
    pub host: String,
    pub cookie: String,
}

/// A form in a page.
#[derive(Clone, Debug)]
pub struct Form {
    pub action: String,
    /// The names and values of the form's fields, except checkboxes.
    pub fields: Vec<(String, String)>,
    /// The name, value and label of each button.
    buttons: Vec<(String, String, String)>,
}

impl Browser {
    /// Starts `mcpkg console --web` and opens its link; `None` if the machine lacks the program `script` of util-linux.
    pub fn start(mut command: Command, arguments: &[&str]) -> Option<Self> {
        command.env("TERM", "xterm-256color").env("TZ", morning()).args(["console", "--web"]).args(arguments);
        let terminal = Screen::start((220, 40), &command)?;
        let mut browser = Self { screen: Some(terminal), host: String::new(), cookie: String::new() };
        let link = browser.link(0);
        browser.host = link.0;
        browser.sign_in(&link.1);
        Some(browser)
    }

    pub fn terminal(&mut self) -> &mut Screen {
        self.screen.as_mut().expect("a terminal")
    }

    /// Returns the host and the token of the link with this number on the terminal.
    pub fn link(&self, number: usize) -> (String, String) {
        let link =
            Regex::new(r"http://(mcpkg-[0-9a-f]{8}\.localhost:\d+)/login\?token=([0-9a-f]{64})\b").expect("a pattern");
        let of = |text: &str| {
            let found = link.captures_iter(text).nth(number);
            found.map(|found| (found[1].to_owned(), found[2].to_owned()))
        };
        let screen = self.screen.as_ref().expect("a terminal");
        of(&screen.wait_until(|text| of(text).is_some(), "a link")).expect("a link")
    }

    pub fn sign_in(&mut self, token: &str) {
        let page = self.get(&format!("/login?token={token}"));
        assert_eq!(page.status, 200);
        let response = self.press(&page.text(), "Open the console", &[]);
        assert_eq!((response.status, response.header("location")), (303, Some("/inbox")), "{}", response.text());
        let cookie = response.header("set-cookie").expect("a cookie");
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        self.cookie = cookie.split(';').next().expect("a pair").to_owned();
    }

    fn address(&self) -> SocketAddr {
        let port = self.host.rsplit_once(':').expect("a port").1.parse().expect("a port");
        ([127, 0, 0, 1], port).into()
    }

    /// Returns a request with the headers that a browser sends from a page of the console.
    pub fn request(&self, method: &str, path: &str) -> Request {
        let request = Request::new(method, path).with("Host", &self.host).with("Cookie", &self.cookie);
        match method {
            // Because of `Referrer-Policy: no-referrer`, browsers send `Origin: null` with a form.
            "POST" => request
                .with("Origin", "null")
                .with("Sec-Fetch-Site", "same-origin")
                .with("Content-Type", "application/x-www-form-urlencoded"),
            _ => request,
        }
    }

    #[track_caller]
    pub fn send(&self, request: &Request) -> Response {
        let mut stream = TcpStream::connect(self.address()).expect("the console takes a connection");
        stream.set_read_timeout(Some(DEADLINE * 6)).expect("a deadline");
        stream.write_all(&request.bytes()).expect("the console takes the request");
        read_response(&mut BufReader::new(stream)).expect("a response")
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Response {
        self.send(&self.request("GET", path))
    }

    /// Returns the page at an address, which must exist.
    #[track_caller]
    pub fn page(&self, path: &str) -> String {
        let response = self.get(path);
        assert_eq!(response.status, 200, "{path}: {}", text(&response.text()));
        response.text()
    }

    /// Sends a form with one of its buttons; `values` replace the values of its fields.
    #[track_caller]
    pub fn submit(&self, form: &Form, button: Option<(&str, &str)>, values: &[(&str, &str)]) -> Response {
        let kept = form.fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        let kept = kept.filter(|(name, _)| values.iter().all(|(other, _)| name != other));
        let mut body = form_urlencoded::Serializer::new(String::new());
        body.extend_pairs(kept.chain(values.iter().copied()).chain(button));
        self.send(&self.request("POST", &form.action).body(body.finish()))
    }

    /// Presses the first button with this label in a page.
    #[track_caller]
    pub fn press(&self, page: &str, label: &str, values: &[(&str, &str)]) -> Response {
        self.press_of(page, label, "", values)
    }

    /// Presses the first button in a page that has this label. Unless `value` is empty, the button's form must have a
    /// field with this value.
    #[track_caller]
    pub fn press_of(&self, page: &str, label: &str, value: &str, values: &[(&str, &str)]) -> Response {
        for form in forms(page) {
            let is_of = value.is_empty() || form.fields.iter().any(|(_, own)| own == value);
            let button = form.buttons.iter().find(|(.., own)| own.eq_ignore_ascii_case(label)).filter(|_| is_of);
            if let Some((name, own, _)) = button {
                let button = (!name.is_empty()).then_some((name.as_str(), own.as_str()));
                return self.submit(&form, button, values);
            }
        }
        panic!("no button {label}: {}", text(page));
    }

    /// Presses a button that redirects to another page, and returns that page.
    #[track_caller]
    pub fn pressed(&self, page: &str, label: &str, values: &[(&str, &str)]) -> String {
        self.follow(&self.press(page, label, values))
    }

    /// Returns the page that a response redirects to. While an operation runs, reloads its page.
    #[track_caller]
    pub fn follow(&self, response: &Response) -> String {
        let to = response.header("location").unwrap_or_else(|| panic!("no other page: {}", text(&response.text())));
        for _ in 0..60 {
            let page = self.page(to);
            if !page.contains("http-equiv=\"refresh\"") {
                return page;
            }
        }
        panic!("{to} does not end");
    }

    /// Follows links from the inbox to a few pages of each kind. Returns the address and the response of each page.
    pub fn crawl(&self) -> Vec<(String, Response)> {
        let mut known = BTreeSet::from(["/inbox".to_owned()]);
        let (mut next, mut found) = (vec!["/inbox".to_owned()], Vec::new());
        // Pages of the same kind differ only in their query.
        let kind = |address: &str| address.split(['?']).next().unwrap_or_default().to_owned();
        while let Some(address) = next.pop() {
            let page = self.get(&address);
            for link in links(&page.text()) {
                let same = known.iter().filter(|other| kind(other) == kind(&link)).count();
                let most = if kind(&link) == "/form" { 12 } else { 6 };
                if link.starts_with('/') && link != "/style.css" && same < most && known.insert(link.clone()) {
                    next.push(link);
                }
            }
            found.push((address, page));
        }
        found
    }
}

/// Returns the targets of the links in a page.
pub fn links(page: &str) -> Vec<String> {
    let link = Regex::new(r#"<(?:a|link)[^>]* href="([^"]*)""#).expect("a pattern");
    link.captures_iter(page).map(|found| unescaped(&found[1])).collect()
}

/// Returns the forms of a page.
pub fn forms(page: &str) -> Vec<Form> {
    let form = Regex::new(r#"(?s)<form([^>]*)>(.*?)</form>"#).expect("a pattern");
    let field = Regex::new(r#"<input([^>]*)>"#).expect("a pattern");
    let area = Regex::new(r#"(?s)<textarea([^>]*)>\n?(.*?)</textarea>"#).expect("a pattern");
    let button = Regex::new(r#"(?s)<button([^>]*)>(.*?)</button>"#).expect("a pattern");
    let attribute = |tag: &str, name: &str| {
        let found = Regex::new(&format!(r#" {name}="([^"]*)""#)).expect("a pattern");
        found.captures(tag).map(|found| unescaped(&found[1])).unwrap_or_default()
    };
    let of = |found: regex::Captures| {
        let inside = &found[2];
        let typed = field.captures_iter(inside).filter(|field| !field[1].contains("checkbox"));
        let typed = typed.map(|field| (attribute(&field[1], "name"), attribute(&field[1], "value")));
        let areas = area.captures_iter(inside).map(|area| (attribute(&area[1], "name"), unescaped(&area[2])));
        let buttons = button.captures_iter(inside);
        Form {
            action: attribute(&found[1], "action"),
            fields: typed.chain(areas).collect(),
            buttons: buttons
                .map(|found| (attribute(&found[1], "name"), attribute(&found[1], "value"), unescaped(&found[2])))
                .collect(),
        }
    };
    form.captures_iter(page).map(of).collect()
}

/// Returns the text of a page, without its tags.
pub fn text(page: &str) -> String {
    let body = page.split_once("<body>").map_or(page, |(_, body)| body);
    let tag = Regex::new("<[^>]*>").expect("a pattern");
    let text = tag
        .replace_all(&body.replace("</div>", "</div>\n").replace("</td>", "</td> ").replace("</p>", "</p>\n"), "")
        .into_owned();
    unescaped(&text)
}

fn unescaped(text: &str) -> String {
    [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&amp;", "&")]
        .iter()
        .fold(text.to_owned(), |text, (escaped, plain)| text.replace(escaped, plain))
}
