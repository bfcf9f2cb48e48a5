//! Sessions at a shadow with secrets and a database of its own: what the
//! primary gave a client (a cookie, a form's token) stands for what the shadow
//! gave in answer to the same request, and is replaced by it in what follows.
//!
//! The rule, by name of the cookie:
//! 1. The primary set V1 and the shadow V2: V1 stands for V2.
//! 2. The primary set V1 and the shadow nothing, or it gave no answer: V1
//!    stands for what the shadow was sent, or would have been, in that cookie's place.
//! 3. The shadow set V2 and the primary nothing: what the client sent stands for V2.
//! 4. A request with a V1 whose counterpart is still under way waits for it,
//!    within its deadline. So does one with an unknown token, for the earlier
//!    requests of its connection or session that are under way.
//! 5. Whatever is unknown is sent as the client sent it.

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use tokio::sync::Notify;
use xxhash_rust::xxh3::xxh3_128;

use super::recent::Recent;
use crate::settings::Shadow;

/// Shorter values are no secrets of a session (`locale=en`), and one client's is no other's.
const LEAST_BYTES: usize = 8;
/// Of all cookies that are remembered for one shadow.
const COOKIES_BYTES: usize = 32 << 20;
/// Of all tokens.
const TOKENS_BYTES: usize = 8 << 20;

/// Names -> values, in the order of the document for each name.
pub(super) type Named = BTreeMap<String, Vec<Vec<u8>>>;

/// What one shadow's answers have taught.
pub(super) struct Sessions {
    cookies: Recent,
    tokens: Recent,
    /// Set by the primary in an exchange whose counterpart is still to come.
    awaited: HashMap<u128, u64>,
    under_way: BTreeMap<u64, Exchange>,
}

/// A request under way, as far as it teaches.
struct Exchange {
    connection: u64,
    /// Cookies that it carries or that the primary set in it: the session's marks.
    marks: Vec<u128>,
    /// As the client sent them, by name.
    carried: Vec<(String, u128)>,
    /// What the shadow was sent in their place.
    sent: Vec<(String, Vec<u8>)>,
    primary_set: Vec<(String, u128)>,
    primary: Option<Named>,
    shadow: Option<Learned>,
    changed: Rc<Notify>,
}

/// What one answer sets.
#[derive(Debug, Default)]
pub(super) struct Learned {
    /// Name and value.
    pub(super) cookies: Vec<(String, Vec<u8>)>,
    pub(super) tokens: Named,
}

/// Whether a request can be sent now.
pub(super) enum Prepared {
    /// With these values in the places of those.
    Ready(Changes),
    /// Ask again when this is notified.
    Wait(Rc<Notify>),
}

/// What is replaced in one request.
#[derive(Debug, Default)]
pub(super) struct Changes {
    /// By name: the client's value and the shadow's.
    pub(super) cookies: Vec<(String, Vec<u8>, Vec<u8>)>,
    /// The client's value and the shadow's.
    pub(super) tokens: Vec<(Vec<u8>, Vec<u8>)>,
}

fn key(name: &str, value: &[u8]) -> u128 {
    let mut both = Vec::with_capacity(name.len() + 1 + value.len());
    both.extend_from_slice(name.as_bytes());
    both.push(b'=');
    both.extend_from_slice(value);
    xxh3_128(&both)
}

fn long_enough(value: &[u8]) -> bool {
    value.len() >= LEAST_BYTES
}

impl Shadow {
    /// Whether it is to have cookies or tokens of its own.
    pub(super) fn learns(&self) -> bool {
        self.cookie_jar || !self.tokens.is_empty()
    }
}

impl Sessions {
    pub(super) fn new() -> Self {
        Self {
            cookies: Recent::new(COOKIES_BYTES),
            tokens: Recent::new(TOKENS_BYTES),
            awaited: HashMap::new(),
            under_way: BTreeMap::new(),
        }
    }

    /// A request that the shadow will be sent, called in the order in which the primary got them.
    pub(super) fn begin(&mut self, id: u64, connection: u64, cookies: &[(String, Vec<u8>)]) {
        let long = cookies.iter().filter(|(_, value)| long_enough(value));
        let carried: Vec<(String, u128)> = long
            .map(|(name, value)| (name.clone(), key(name, value)))
            .collect();
        let exchange = Exchange {
            connection,
            marks: carried.iter().map(|(_, key)| *key).collect(),
            carried,
            sent: Vec::new(),
            primary_set: Vec::new(),
            primary: None,
            shadow: None,
            changed: Rc::new(Notify::new()),
        };
        self.under_way.insert(id, exchange);
    }

    /// What becomes of the cookies and tokens of a request that has begun.
    pub(super) fn prepare(
        &mut self,
        id: u64,
        cookies: &[(String, Vec<u8>)],
        tokens: &[Vec<u8>],
    ) -> Prepared {
        let mut changes = Changes::default();
        for (name, value) in cookies.iter().filter(|(_, value)| long_enough(value)) {
            let key = key(name, value);
            if let Some(known) = self.cookies.get(key) {
                let change = (name.clone(), value.clone(), known.to_vec());
                changes.cookies.push(change);
            } else if let Some(changed) = self.awaited_before(key, id) {
                return Prepared::Wait(changed);
            }
        }
        for value in tokens.iter().filter(|value| long_enough(value)) {
            if let Some(known) = self.tokens.get(key("", value)) {
                changes.tokens.push((value.clone(), known.to_vec()));
            } else if let Some(changed) = self.related_before(id) {
                return Prepared::Wait(changed);
            }
        }
        if let Some(exchange) = self.under_way.get_mut(&id) {
            let sent = cookies.iter().map(|(name, value)| {
                let change = changes
                    .cookies
                    .iter()
                    .find(|(changed, from, _)| changed == name && from == value);
                let sent = change.map_or(value, |(_, _, to)| to);
                (name.clone(), sent.clone())
            });
            exchange.sent = sent.collect();
        }
        Prepared::Ready(changes)
    }

    /// Only for an earlier one, so that no two wait for each other.
    fn awaited_before(&self, key: u128, id: u64) -> Option<Rc<Notify>> {
        let setter = self.awaited.get(&key).filter(|setter| **setter < id)?;
        self.under_way
            .get(setter)
            .map(|exchange| exchange.changed.clone())
    }

    /// The youngest of the earlier ones of the same connection or session that the shadow has not answered. Where it has,
    /// the primary has not: a stream that may last for hours, from which the client cannot have a token.
    fn related_before(&self, id: u64) -> Option<Rc<Notify>> {
        let own = self.under_way.get(&id)?;
        let related = |other: &Exchange| {
            let same = other.connection == own.connection
                || other.marks.iter().any(|mark| own.marks.contains(mark));
            same && other.shadow.is_none()
        };
        let mut earlier = self.under_way.range(..id).rev();
        let found = earlier.find(|(_, exchange)| related(exchange));
        found.map(|(_, exchange)| exchange.changed.clone())
    }

    /// The head of the primary's answer: its cookies.
    pub(super) fn primary_begins(&mut self, id: u64, cookies: &[(String, Vec<u8>)]) {
        let Some(exchange) = self.under_way.get_mut(&id) else {
            return;
        };
        for (name, value) in cookies.iter().filter(|(_, value)| long_enough(value)) {
            let key = key(name, value);
            if !exchange.primary_set.iter().any(|(_, known)| *known == key) {
                exchange.primary_set.push((name.clone(), key));
                exchange.marks.push(key);
                self.awaited.entry(key).or_insert(id);
            }
        }
        if exchange.shadow.is_some() {
            self.learn_cookies(id);
        }
    }

    /// The primary's whole answer, or that there will be none.
    pub(super) fn primary_ends(&mut self, id: u64, learned: Learned) {
        self.primary_begins(id, &learned.cookies);
        if let Some(exchange) = self.under_way.get_mut(&id) {
            exchange.primary = Some(learned.tokens);
        }
        self.settle(id);
    }

    /// The shadow's answer; nothing where it gave none.
    pub(super) fn shadow_ends(&mut self, id: u64, learned: Learned) {
        if let Some(exchange) = self.under_way.get_mut(&id) {
            exchange.shadow = Some(learned);
        }
        self.learn_cookies(id);
        self.settle(id);
    }

    fn no_longer_awaited(&mut self, key: u128, id: u64) {
        if self.awaited.get(&key) == Some(&id) {
            self.awaited.remove(&key);
        }
    }

    /// Of an exchange whose shadow has answered, what its cookies teach so far.
    fn learn_cookies(&mut self, id: u64) {
        let Some(exchange) = self.under_way.get(&id) else {
            return;
        };
        let Some(shadow) = &exchange.shadow else {
            return;
        };
        let of = |cookies: &[(String, Vec<u8>)], name: &str| {
            // The last one counts, as it does in a browser.
            let mut same = cookies.iter().rev().filter(|(other, _)| other == name);
            same.next().map(|(_, value)| value.clone())
        };
        let mut taught = Vec::new();
        for (name, key) in &exchange.primary_set {
            let mut value = of(&shadow.cookies, name).or_else(|| of(&exchange.sent, name));
            if value.is_none() {
                // It was never sent: what it would have been sent with.
                let mut carried = exchange.carried.iter().filter(|(other, _)| other == name);
                if let Some((_, key)) = carried.next() {
                    value = self.cookies.get(*key).map(<[u8]>::to_vec);
                }
            }
            taught.push((*key, value));
        }
        if exchange.primary.is_some() || !exchange.primary_set.is_empty() {
            let unmatched = exchange
                .carried
                .iter()
                .filter(|(name, _)| !exchange.primary_set.iter().any(|(set, _)| set == name));
            for (name, key) in unmatched {
                let value = of(&shadow.cookies, name);
                taught.extend(value.map(|value| (*key, Some(value))));
            }
        }
        let changed = exchange.changed.clone();
        for (key, value) in taught {
            if let Some(value) = value.filter(|value| !value.is_empty()) {
                self.cookies.insert(key, value);
            }
            self.no_longer_awaited(key, id);
        }
        changed.notify_waiters();
    }

    /// When both have ended, tokens are paired in their order and the exchange is over.
    fn settle(&mut self, id: u64) {
        let whole = |exchange: &Exchange| exchange.primary.is_some() && exchange.shadow.is_some();
        if !self.under_way.get(&id).is_some_and(whole) {
            return;
        }
        self.learn_cookies(id);
        let Some(exchange) = self.under_way.remove(&id) else {
            return;
        };
        let (primary, shadow) = (
            exchange.primary.unwrap_or_default(),
            exchange.shadow.unwrap_or_default(),
        );
        for (name, values) in primary {
            let theirs = shadow.tokens.get(&name).into_iter().flatten();
            for (value, theirs) in values
                .iter()
                .zip(theirs)
                .filter(|(value, _)| long_enough(value))
            {
                self.tokens.insert(key("", value), theirs.clone());
            }
        }
        for (_, key) in &exchange.primary_set {
            self.no_longer_awaited(*key, id);
        }
        exchange.changed.notify_waiters();
    }
}
