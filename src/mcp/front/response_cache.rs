//! Caches the answers to hot reads until something is committed.
//!
//! Clients list and read the same things again and again. Reading the data version is enough to check whether any
//! process has changed the database. Reading the rows and producing the JSON takes several times as long.

use std::collections::HashMap;
use std::sync::Arc;

use xxhash_rust::xxh3::xxh3_64;

use crate::mcp::Config;
use crate::mcp::era::Era;
use mcpkg_store::Version;

/// The maximum size of the cache in bytes: a few hundred small answers, or one with an 8 MiB image.
const MAX_BYTES: usize = 16 << 20;

/// The maximum size of a cache in bytes if many clients have one each.
const MAX_BYTES_SLIM: usize = 1 << 20;

/// The number of request hashes that are remembered. Newer hashes overwrite older ones.
const ASKED: usize = 1024;

/// Caches the results of requests, limited by size.
pub(super) struct ResponseCache {
    /// Hashes of earlier requests. Each hash is at the index that it determines.
    asked: Vec<u64>,
    max_bytes: usize,
    version: Version,
    bytes: usize,
    results: HashMap<Vec<u8>, Arc<Vec<u8>>>,
}

/// The key under which the answer to a request is cached.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CacheKey {
    key: Vec<u8>,
    /// The data version of the database at the time of the request.
    version: Version,
}

impl CacheKey {
    /// Sets the key to another request, reusing its memory.
    ///
    /// The only settings that affect an answer are the project and, for tools, which tools are served. `header` is the
    /// name or URI that the request repeated in a header. It is part of the key, because it is compared with the
    /// parameters only before an answer is cached.
    pub(super) fn set(&mut self, config: &Config, era: Era, method: &str, parameters: &str, header: Option<&str>) {
        let project = config.selection.named.as_deref().unwrap_or_default();
        let header = header.unwrap_or_default();
        self.key.clear();
        self.key.reserve(project.len() + method.len() + parameters.len() + header.len() + 16);
        self.key.push(u8::from(era == Era::Modern));
        if method.starts_with("tools/") {
            let surface = &config.surface;
            let rights = [surface.read_only, surface.no_execute, config.full_list, surface.groups.is_some()];
            self.key.extend(rights.map(u8::from));
            for group in surface.groups.iter().flatten() {
                self.key.extend_from_slice(group.as_bytes());
                self.key.push(b',');
            }
            // The access key, the session and the toolset decide which installed tools are visible. The parts are
            // separated by line ends, which no name contains.
            let audience = config.audience();
            let session = audience.session.filter(|session| !session.is_empty());
            self.key.extend_from_slice(&session.map_or(0, |session| session.id()).to_ne_bytes());
            for part in [audience.key, audience.toolset] {
                self.key.extend_from_slice(part.unwrap_or_default().as_bytes());
                self.key.push(b'\n');
            }
        }
        self.key.extend_from_slice(&header.len().to_ne_bytes());
        self.key.extend_from_slice(header.as_bytes());
        self.key.extend_from_slice(project.as_bytes());
        self.key.push(b' ');
        self.key.extend_from_slice(method.as_bytes());
        self.key.push(b' ');
        self.key.extend_from_slice(parameters.as_bytes());
    }

    /// Sets the data version that applied when the request arrived.
    pub(super) fn at(&mut self, version: Version) {
        self.version = version;
    }
}

impl Default for ResponseCache {
    fn default() -> Self {
        Self {
            asked: vec![0; ASKED],
            max_bytes: MAX_BYTES,
            version: Version::default(),
            bytes: 0,
            results: HashMap::new(),
        }
    }
}

impl ResponseCache {
    /// Creates a small cache for one of many clients.
    pub(super) fn slim() -> Self {
        Self { max_bytes: MAX_BYTES_SLIM, ..Self::default() }
    }

    /// Returns whether the same request was seen before. A request that is seen for the first time is answered without
    /// reading the data version, and its answer is not cached: most large answers are requested only once.
    pub(super) fn is_asked_again(&mut self, key: &CacheKey) -> bool {
        let hash = xxh3_64(&key.key);
        #[expect(clippy::cast_possible_truncation, reason = "any bits of it do")]
        let place = hash as usize % ASKED;
        std::mem::replace(&mut self.asked[place], hash) == hash
    }

    /// Returns the cached result of a request, if the data version has not changed since.
    pub(super) fn get(&mut self, key: &CacheKey) -> Option<Arc<Vec<u8>>> {
        if key.version != self.version {
            self.version = key.version;
            self.clear();
        }
        self.results.get(&key.key).cloned()
    }

    /// Caches the result of a request, unless a newer data version was seen since the request arrived. The result may
    /// be newer than the request's version. Then it is cleared as soon as the newer version is seen.
    pub(super) fn insert(&mut self, key: &CacheKey, result: &Arc<Vec<u8>>) {
        let bytes = key.key.len() + result.len();
        if bytes > self.max_bytes || key.version != self.version {
            return;
        }
        if self.bytes + bytes > self.max_bytes {
            self.clear();
        }
        if self.results.insert(key.key.clone(), Arc::clone(result)).is_none() {
            self.bytes += bytes;
        }
    }

    fn clear(&mut self) {
        self.bytes = 0;
        self.results.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcpkg_core::op::Surface;

    fn key_of(version: i64, era: Era, method: &str, parameters: &str) -> CacheKey {
        let mut key = CacheKey::default();
        key.set(&Config::default(), era, method, parameters, None);
        key.at(Version::from(version));
        key
    }

    #[test]
    fn answers_are_cached_until_the_version_changes() {
        let mut cache = ResponseCache::default();
        let result = Arc::new(b"{}".to_vec());
        let key = key_of(1, Era::Legacy, "prompts/list", "{}");
        assert_eq!(cache.get(&key), None);
        cache.insert(&key, &result);
        assert_eq!(cache.get(&key), Some(Arc::clone(&result)));
        assert_eq!(cache.get(&key_of(1, Era::Modern, "prompts/list", "{}")), None);
        assert_eq!(cache.get(&key_of(1, Era::Legacy, "resources/list", "{}")), None);
        assert_eq!(cache.get(&key_of(2, Era::Legacy, "prompts/list", "{}")), None);
        assert_eq!(cache.get(&key), None);
    }

    #[test]
    fn an_answer_of_an_older_version_is_not_cached() {
        let mut cache = ResponseCache::default();
        let key = key_of(1, Era::Legacy, "prompts/list", "{}");
        assert_eq!(cache.get(&key), None);
        let later = key_of(2, Era::Legacy, "prompts/list", "{}");
        assert_eq!(cache.get(&later), None);
        cache.insert(&key, &Arc::new(b"old".to_vec()));
        assert_eq!(cache.get(&later), None);
    }

    #[test]
    fn a_project_gets_its_own_answers() {
        let mut cache = ResponseCache::default();
        let key = key_of(1, Era::Legacy, "prompts/list", "{}");
        cache.get(&key);
        cache.insert(&key, &Arc::new(b"{}".to_vec()));
        let mut config = Config::default();
        config.selection.named = Some("q".to_owned());
        let mut of_q = CacheKey::default();
        of_q.set(&config, Era::Legacy, "prompts/list", "{}", None);
        of_q.at(Version::from(1));
        assert_eq!(cache.get(&of_q), None);
    }

    #[test]
    fn cached_tool_lists_are_shared_only_by_clients_with_the_same_tools() {
        let groups = |named: &[&str]| Some(named.iter().map(|group| (*group).to_owned()).collect());
        let all = [
            Surface::default(),
            Surface { groups: groups(&[]), ..Surface::default() },
            Surface { groups: groups(&["content"]), ..Surface::default() },
            Surface { groups: groups(&["content", "deploy"]), ..Surface::default() },
            Surface { read_only: true, ..Surface::default() },
            Surface { no_execute: true, ..Surface::default() },
        ];
        let keys = all.map(|surface| {
            let config = Config { surface: Arc::new(surface), ..Config::default() };
            let mut key = CacheKey::default();
            key.set(&config, Era::Legacy, "tools/list", "{}", None);
            key.key
        });
        assert_eq!(keys.iter().collect::<std::collections::HashSet<_>>().len(), keys.len(), "{keys:?}");
    }

    #[test]
    fn a_repeated_request_is_recognized() {
        let mut cache = ResponseCache::default();
        let keys = ["a", "b"].map(|parameters| key_of(1, Era::Legacy, "prompts/get", parameters));
        assert_eq!(keys.each_ref().map(|key| cache.is_asked_again(key)), [false, false]);
        assert_eq!(keys.each_ref().map(|key| cache.is_asked_again(key)), [true, true]);
    }

    #[test]
    fn the_size_of_the_cache_is_limited() {
        let mut cache = ResponseCache::default();
        for n in 0..100 {
            let key = key_of(1, Era::Legacy, "resources/read", &n.to_string());
            cache.get(&key);
            cache.insert(&key, &Arc::new(vec![0; 1 << 20]));
            assert!(cache.bytes <= MAX_BYTES);
        }
        let large = key_of(1, Era::Legacy, "resources/read", "large");
        cache.insert(&large, &Arc::new(vec![0; MAX_BYTES]));
        assert_eq!(cache.get(&large), None);
    }
}
