//! How many connections an address may have.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::mcp::transport::http::access_control::subnet;

/// How many connections each address has.
pub(in crate::mcp) struct Addresses {
    most: usize,
    open: Mutex<HashMap<IpAddr, usize>>,
}

/// Counts a connection as long as it is open.
pub(in crate::mcp) struct Counted {
    addresses: Arc<Addresses>,
    from: IpAddr,
}

impl Addresses {
    /// Returns a count that takes `most` of each address.
    pub(in crate::mcp) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self { most, open: Mutex::default() })
    }

    /// Counts a connection; `None` where it is one too many.
    pub(in crate::mcp) fn count(self: &Arc<Self>, from: IpAddr) -> Option<Counted> {
        let from = subnet(from);
        let mut open = self.open();
        let connections = open.entry(from).or_default();
        if *connections >= self.most {
            return None;
        }
        *connections += 1;
        Some(Counted { addresses: Arc::clone(self), from })
    }

    fn open(&self) -> MutexGuard<'_, HashMap<IpAddr, usize>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let mut open = self.addresses.open();
        if let Some(connections) = open.get_mut(&self.from) {
            *connections -= 1;
            if *connections == 0 {
                open.remove(&self.from);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_as_many_connections_as_it_may() {
        let addresses = Addresses::new(2);
        let [one, other] = [[127, 0, 0, 1], [127, 0, 0, 2]].map(IpAddr::from);
        let (first, second) = (addresses.count(one), addresses.count(one));
        assert!(first.is_some() && second.is_some() && addresses.count(one).is_none());
        assert!(addresses.count(other).is_some());
        drop(first);
        assert!(addresses.count(one).is_some());
        drop(second);
        assert!(addresses.open().is_empty());
    }
}
