//! The caller of an operation and its rights. This is the only module that decides rights.

use std::borrow::Cow;

use uuid::Uuid;

use super::Namespace;
use mcpkg_base::clock::Millis;

/// The caller of an operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// This user, or a program that this user runs, at a shell on this machine.
    Shell,
    /// This user in `mcpkg console`, or a person who signed in to the console of a server with a passkey. Has the rights of a
    /// shell; only its name in the audit trail differs, which is stored here.
    Console(Cow<'static, str>),
    /// A person who signed in to the console of a server with the server's issuer. In the console, each yes of the person
    /// needs a passkey.
    Person(Person),
    /// A client of a server that speaks MCP.
    Client(Client),
}

/// A person who signed in to the console of a server with the server's issuer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Person {
    /// What the access rules allow.
    pub grant: Grant,
    actor: String,
}

/// A client of a server that speaks MCP.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Client {
    /// What the access key or token of the request allows; `None` without one.
    pub grant: Option<Grant>,
    pub connection: Connection,
    /// The program that the server presents itself as (`serve --as`).
    pub identity: Identity,
    actor: String,
}

/// The kind of connection between a client and the server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Connection {
    /// Over a network: anyone who can reach the port, or has a key, may send anything.
    #[default]
    Network,
    /// Over pipes, to a server that one of this user's programs started.
    Stdio,
}

/// The program that a server presents itself as (`serve --as`): mcpkg, or a program that mcpkg can replace. A client
/// that was configured for the replaced program finds the tools that it knows. Unless `--groups` names other groups, a
/// server that replaces a program has only the tools named below.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Identity {
    #[default]
    Mcpkg,
    /// The deploy tools of contract 000 (agentpack).
    Agentpack,
    /// The `enact__*` tools of contract 002, and the installed tools.
    Enact,
    /// The tools and resources of contract 003 (smctl).
    Smctl,
    /// The tools of contract 004 (commands and workflows).
    Assistant,
}

/// Which clients can use a tool that a client installs (`serve --install-scope`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InstallScope {
    /// Only clients with the same access key.
    Key,
    Session,
    /// Everyone who uses the database.
    Global,
}

impl InstallScope {
    pub const ALL: [InstallScope; 3] = [InstallScope::Key, InstallScope::Session, InstallScope::Global];

    /// Returns the scope as an argument of `serve --install-scope`.
    pub const fn name(self) -> &'static str {
        match self {
            InstallScope::Key => "key",
            InstallScope::Session => "session",
            InstallScope::Global => "global",
        }
    }
}

/// The holder of a grant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Holder {
    /// Everyone with the access key of this name.
    Key(String),
    /// Someone who signed in with a token of the server's issuer.
    SignedIn(SignedIn),
}

/// A person or program that signed in.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SignedIn {
    /// `person:NAME` or `program:NAME`. No access key has such a name.
    pub name: String,
    /// The claims of the access rules that gave access.
    pub by: Vec<String>,
    /// The project that the request named, if any.
    pub asked: Option<String>,
}

impl Holder {
    /// Returns the name of the key, or of the person or program that signed in.
    pub fn name(&self) -> &str {
        match self {
            Holder::Key(name) => name,
            Holder::SignedIn(holder) => &holder.name,
        }
    }

    /// Returns the holder as the database stores it: `key:NAME`, `person:NAME` or `program:NAME`.
    pub fn requester(&self) -> String {
        match self {
            Holder::Key(name) => format!("key:{name}"),
            Holder::SignedIn(holder) => holder.name.clone(),
        }
    }

    /// Returns what the holder presented, for messages.
    pub const fn shown(&self) -> &'static str {
        match self {
            Holder::Key(_) => "access key",
            Holder::SignedIn(_) => "token",
        }
    }
}

/// What an access key or a token allows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grant {
    pub holder: Holder,
    /// The only project that the holder can reach; `None` for all projects.
    pub project: Option<Uuid>,
    pub project_name: Option<String>,
    /// Whether the holder may only read.
    pub read_only: bool,
    /// Whether the holder's answers to an elicitation count as the user's consent.
    pub consent: bool,
    /// The namespaces in which the holder may publish tools on a server's registry.
    pub publish: Vec<Namespace>,
    /// Whether the holder may post attestations to a server's registry.
    pub attest: bool,
    /// Whether the holder may run commands, if a person consents.
    pub execute: bool,
    /// When the key or token expires; `None` if never.
    pub expires_at: Option<Millis>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rights {
    /// The right to change the content of the database. Without this right, a caller gets no confirm token either.
    pub write: bool,
    /// The right to reach beyond a project: agents' folders, config repos, other projects.
    pub deploy: bool,
    /// The right to pass on the user's consent by answering an elicitation.
    pub consent: bool,
    /// The right to run commands, if a person consents.
    pub execute: bool,
}

impl Caller {
    /// This user, in `mcpkg console`.
    pub const CONSOLE: Self = Caller::Console(Cow::Borrowed("console"));

    /// Returns the person who signed in to the console of a server under this name.
    pub fn signed_in(name: &str) -> Self {
        Caller::Console(format!("console:{name}").into())
    }

    /// Returns a client that calls itself `name`.
    ///
    /// If the client has a key or a token, the audit trail (`events`) also names its holder, because a client may claim
    /// any name.
    pub fn client(name: Option<&str>, grant: Option<Grant>, connection: Connection, identity: Identity) -> Self {
        let name = name.unwrap_or("unknown");
        let actor = match &grant {
            Some(grant) => format!("{}:{name}", grant.holder.requester()),
            None => format!("mcp:{name}"),
        };
        Caller::Client(Client { grant, connection, identity, actor })
    }

    /// Returns a person who signed in to the console of a server.
    ///
    /// The audit trail names the person after `console:`. No client can choose a name that begins like this.
    pub fn person(grant: Grant) -> Self {
        let actor = format!("console:{}", grant.holder.requester());
        Caller::Person(Person { grant, actor })
    }

    /// Returns the caller's name in the audit trail (`events`): `shell`, `console`, `console:NAME`, `console:person:NAME`, `mcp:CLIENT`,
    /// `key:KEY:CLIENT`, `person:NAME:CLIENT` or `program:NAME:CLIENT`.
    pub fn actor(&self) -> &str {
        match self {
            Caller::Shell => "shell",
            Caller::Console(actor) => actor,
            Caller::Person(person) => &person.actor,
            Caller::Client(client) => &client.actor,
        }
    }

    /// Whether the caller is a person at a shell or in the console, or a program that they run there, as opposed to an agent.
    pub fn is_shell(&self) -> bool {
        matches!(self, Caller::Shell | Caller::Console(_) | Caller::Person(_))
    }

    pub fn rights(&self) -> Rights {
        match self {
            // At a shell, consent is asked for at the terminal, if there is one.
            Caller::Shell | Caller::Console(_) => Rights { write: true, deploy: true, consent: false, execute: true },
            Caller::Person(person) => person.grant.rights(Connection::Network),
            Caller::Client(Client { grant: Some(grant), connection, .. }) => grant.rights(*connection),
            Caller::Client(Client { grant: None, connection, .. }) => {
                Rights { write: true, deploy: true, consent: *connection == Connection::Stdio, execute: true }
            }
        }
    }

    /// Whether the caller can already access this machine's files, because it is at a shell, or is a program of this user
    /// that is connected over pipes.
    pub fn is_on_this_machine(&self) -> bool {
        match self {
            Caller::Shell | Caller::Console(_) => true,
            Caller::Person(_) => false,
            Caller::Client(client) => client.connection == Connection::Stdio,
        }
    }

    /// Whether the caller may publish a tool with this name in a server's registry, and change the tool's metadata.
    /// Only an access key or an access rule can grant this.
    pub fn publishes(&self, tool: &str) -> bool {
        self.publishing().iter().any(|namespace| namespace.covers(tool))
    }

    pub fn publishing(&self) -> &[Namespace] {
        self.grant().map_or(&[], |grant| &grant.publish)
    }

    /// Whether the caller may post attestations to a server's registry.
    pub fn attests(&self) -> bool {
        self.grant().is_some_and(|grant| grant.attest)
    }

    /// Whether the caller sees private versions of this tool: only this user and callers who may publish the tool.
    pub fn sees_private(&self, tool: &str) -> bool {
        self.is_on_this_machine() || self.publishes(tool)
    }

    fn grant(&self) -> Option<&Grant> {
        match self {
            Caller::Client(client) => client.grant.as_ref(),
            Caller::Person(person) => Some(&person.grant),
            Caller::Shell | Caller::Console(_) => None,
        }
    }

    /// Returns the name of the caller's access key, or of the person or program that signed in.
    pub fn key(&self) -> Option<&str> {
        self.grant().map(|grant| grant.holder.name())
    }

    /// Returns the name of the only project that the caller reaches, if it is limited to one.
    pub fn project(&self) -> Option<&str> {
        self.grant().and_then(|grant| grant.project_name.as_deref())
    }

    pub fn identity(&self) -> Identity {
        match self {
            Caller::Shell | Caller::Console(_) | Caller::Person(_) => Identity::Mcpkg,
            Caller::Client(client) => client.identity,
        }
    }

    /// Returns the owner of confirm tokens and consent requests, as stored in the database: the access key, the person
    /// or program that signed in, or else this user. So a token issued in the shell is also valid over stdio.
    pub fn asker(&self) -> String {
        self.grant().map_or_else(|| "user".to_owned(), |grant| grant.holder.requester())
    }
}

impl Grant {
    /// Returns what the holder may do over this connection.
    pub fn rights(&self, connection: Connection) -> Rights {
        Rights {
            write: !self.read_only,
            deploy: self.project.is_none(),
            consent: !self.read_only && (self.consent || connection == Connection::Stdio),
            execute: !self.read_only && (self.execute || connection == Connection::Stdio),
        }
    }
}

impl Identity {
    pub const ALL: [Identity; 5] =
        [Identity::Mcpkg, Identity::Agentpack, Identity::Enact, Identity::Smctl, Identity::Assistant];

    /// Returns the identity as an argument of `serve --as`.
    pub const fn name(self) -> &'static str {
        match self {
            Identity::Mcpkg => "mcpkg",
            Identity::Agentpack => "agentpack",
            Identity::Enact => "enact",
            Identity::Smctl => "smctl",
            Identity::Assistant => "assistant",
        }
    }

    pub const fn server_name(self) -> &'static str {
        match self {
            Identity::Mcpkg | Identity::Agentpack | Identity::Smctl | Identity::Assistant => self.name(),
            Identity::Enact => "enact-mcp-server",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant(read_only: bool, consent: bool, project: Option<Uuid>) -> Grant {
        let project_name = project.map(|_| "p".to_owned());
        let (holder, publish) = (Holder::Key("ci".to_owned()), Vec::new());
        Grant {
            holder,
            project,
            project_name,
            read_only,
            consent,
            publish,
            attest: false,
            execute: false,
            expires_at: None,
        }
    }

    fn client(key: Option<Grant>, connection: Connection) -> Caller {
        Caller::client(Some("cursor"), key, connection, Identity::Mcpkg)
    }

    #[test]
    fn rights_depend_on_the_caller() {
        use Connection::{Network, Stdio};
        let one = Some(Uuid::nil());
        for (caller, (write, deploy, consent), execute) in [
            (Caller::Shell, (true, true, false), true),
            (Caller::CONSOLE, (true, true, false), true),
            (client(None, Stdio), (true, true, true), true),
            (client(None, Network), (true, true, false), true),
            (client(Some(grant(false, false, None)), Network), (true, true, false), false),
            (client(Some(grant(false, true, None)), Network), (true, true, true), false),
            (client(Some(grant(false, true, one)), Network), (true, false, true), false),
            (client(Some(grant(true, false, None)), Network), (false, true, false), false),
            (client(Some(grant(true, true, one)), Network), (false, false, false), false),
        ] {
            assert_eq!(caller.rights(), Rights { write, deploy, consent, execute }, "{caller:?}");
        }
    }

    #[test]
    fn a_callers_name_begins_with_its_key_if_it_has_one() {
        let keyed = client(Some(grant(false, false, Some(Uuid::nil()))), Connection::Network);
        assert_eq!((keyed.actor(), &*keyed.asker(), keyed.project()), ("key:ci:cursor", "key:ci", Some("p")));
        let plain = client(None, Connection::Stdio);
        assert_eq!((plain.actor(), &*plain.asker(), plain.project()), ("mcp:cursor", "user", None));
        assert_eq!((Caller::Shell.actor(), &*Caller::Shell.asker(), Caller::Shell.project()), ("shell", "user", None));
        let console = Caller::CONSOLE;
        assert_eq!((console.actor(), &*console.asker(), console.is_shell()), ("console", "user", true));
        let person = Caller::signed_in("alice-phone");
        assert_eq!((person.actor(), &*person.asker(), person.is_shell()), ("console:alice-phone", "user", true));
        let unnamed = Caller::client(None, None, Connection::Network, Identity::Agentpack);
        assert_eq!((unnamed.actor(), unnamed.identity()), ("mcp:unknown", Identity::Agentpack));
    }

    #[test]
    fn a_person_in_the_console_has_the_rights_of_the_access_rules() {
        let signed_in = SignedIn { name: "person:ada#1".to_owned(), ..SignedIn::default() };
        let holder = Holder::SignedIn(signed_in);
        for (read_only, execute) in [(false, false), (false, true), (true, true)] {
            let person = Caller::person(Grant { holder: holder.clone(), execute, ..grant(read_only, false, None) });
            let rights = Rights { write: !read_only, deploy: true, consent: false, execute: execute && !read_only };
            assert_eq!(person.rights(), rights);
            assert!(person.is_shell() && !person.is_on_this_machine());
            assert_eq!((person.actor(), &*person.asker()), ("console:person:ada#1", "person:ada#1"));
        }
    }

    #[test]
    fn publishing_needs_a_key_with_the_right_to_publish() {
        let publisher = Grant { publish: vec!["alice".parse().unwrap()], attest: true, ..grant(true, false, None) };
        let keyed = client(Some(publisher), Connection::Network);
        assert!(keyed.publishes("alice/weather") && keyed.attests() && keyed.sees_private("alice/weather"));
        assert!(!keyed.publishes("bob/weather") && !keyed.sees_private("bob/weather"));
        assert!(!keyed.rights().write);
        let plain = client(Some(grant(false, false, None)), Connection::Network);
        for caller in [plain, client(None, Connection::Network), client(None, Connection::Stdio), Caller::Shell] {
            assert!(!caller.publishes("alice/weather") && !caller.attests(), "{caller:?}");
            assert_eq!(caller.sees_private("alice/weather"), caller.is_on_this_machine(), "{caller:?}");
        }
    }
}
