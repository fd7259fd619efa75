//! Runs a proxy in front of a database server. It passes connections on, stalls new ones, or refuses all.

use std::io::{Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

/// The proxy's behavior towards a new connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// The connection reaches the server.
    On,
    /// The connection is accepted, but never answered.
    Stalled,
    /// The connection is closed at once.
    Refused,
}

struct State {
    pass: Pass,
    open: Vec<TcpStream>,
}

/// A proxy that listens on a port of its own.
pub struct Gate {
    port: u16,
    state: Arc<Mutex<State>>,
    came: Arc<AtomicUsize>,
    turns: Arc<AtomicUsize>,
}

impl Gate {
    /// Starts a proxy in front of the server on a port of this machine.
    pub fn before(server: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let state = Arc::new(Mutex::new(State { pass: Pass::On, open: Vec::new() }));
        let (came, turns) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
        let (of, counted, asked) = (Arc::clone(&state), Arc::clone(&came), Arc::clone(&turns));
        std::thread::spawn(move || {
            for client in listener.incoming().flatten() {
                counted.fetch_add(1, Ordering::Relaxed);
                let mut state = of.lock().unwrap_or_else(PoisonError::into_inner);
                match state.pass {
                    Pass::Refused => continue,
                    Pass::Stalled => state.open.push(client),
                    Pass::On => {
                        let Ok(server) = TcpStream::connect(("127.0.0.1", server)) else { continue };
                        let is_answered = Arc::new(AtomicBool::new(true));
                        for (from, to, is_client) in [(&client, &server, true), (&server, &client, false)] {
                            let (from, to) = (from.try_clone().expect("a socket"), to.try_clone().expect("a socket"));
                            let (is_answered, turns) = (Arc::clone(&is_answered), Arc::clone(&asked));
                            let count = move || {
                                if is_answered.swap(!is_client, Ordering::Relaxed) && is_client {
                                    turns.fetch_add(1, Ordering::Relaxed);
                                }
                            };
                            std::thread::spawn(move || copy(from, to, count));
                        }
                        state.open.extend([client, server]);
                    }
                }
            }
        });
        Self { port, state, came, turns }
    }

    /// Returns the address of a database behind the proxy. `sslmode` is the only parameter.
    pub fn address(&self, database: &str) -> String {
        format!("postgres://mcpkg@127.0.0.1:{}/{database}?sslmode=disable", self.port)
    }

    /// Sets the behavior for new connections. `Refused` also closes all open connections.
    pub fn set(&self, pass: Pass) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.pass = pass;
        if pass == Pass::Refused {
            for open in state.open.drain(..) {
                let _ = open.shutdown(Shutdown::Both);
            }
        }
    }

    /// Returns how many connections clients have opened so far.
    pub fn came(&self) -> usize {
        self.came.load(Ordering::Relaxed)
    }

    /// Returns how often a client has sent something after an answer of the server, or as the first.
    pub fn turns(&self) -> usize {
        self.turns.load(Ordering::Relaxed)
    }
}

fn copy(mut from: TcpStream, mut to: TcpStream, count: impl Fn()) {
    let mut buffer = [0; 16 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer) {
        count();
        if to.write_all(&buffer[..read]).is_err() {
            break;
        }
    }
    let _ = (from.shutdown(Shutdown::Both), to.shutdown(Shutdown::Both));
}
