//! What a reload swaps: settings with their files read.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use tokio_rustls::TlsAcceptor;

use super::ProxyError;
use super::rotation::{self, Health};
use crate::dialer::Dialer;
use crate::tls::acceptor;
use crate::{Client, Limits, Primary, Settings, Tap};

/// Who answers, and how to get there.
#[derive(Debug)]
pub(super) struct Answerer {
    pub(super) primary: Primary,
    pub(super) dialer: Dialer,
    pub(super) health: Health,
}

impl fmt::Display for Answerer {
    /// Where it is, for the log.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.primary.upstream.at)
    }
}

/// One state of the settings.
pub(super) struct Serving {
    pub(super) answerers: Vec<Arc<Answerer>>,
    pub(super) client: Client,
    pub(super) limits: Limits,
    pub(super) tap: Arc<dyn Tap>,
    pub(super) acceptor: Option<TlsAcceptor>,
    /// Clients' connections begin with a PROXY protocol header.
    pub(super) proxy_protocol: bool,
}

impl Serving {
    pub(super) fn new(settings: &Settings, tap: Arc<dyn Tap>) -> Result<Self, ProxyError> {
        let mut answerers = Vec::new();
        for primary in &settings.primaries {
            let dialer = Dialer::new(&primary.upstream)?;
            answerers.push(Arc::new(Answerer {
                primary: primary.clone(),
                dialer,
                health: Health::default(),
            }));
        }
        if answerers.is_empty() {
            return Err(ProxyError::NoPrimary);
        }
        let acceptor = match &settings.listen.tls {
            Some((chain, key)) => Some(acceptor(chain, key)?),
            None => None,
        };
        Ok(Self {
            answerers,
            client: settings.client.clone(),
            limits: settings.limits.clone(),
            tap,
            acceptor,
            proxy_protocol: settings.listen.proxy_protocol,
        })
    }

    /// The primaries in the order in which a connection tries them.
    pub(super) fn answerers(&self, connection: u64) -> impl Iterator<Item = &Arc<Answerer>> {
        let healths = self.answerers.iter().map(|answerer| &answerer.health);
        let order = rotation::order(healths, connection, Instant::now());
        order.into_iter().map(|index| &self.answerers[index])
    }

    /// The same primary as these settings know it, if they do: only its limits may be others.
    pub(super) fn same(&self, answerer: &Answerer) -> Option<&Arc<Answerer>> {
        let upstream = &answerer.primary.upstream;
        self.answerers
            .iter()
            .find(|known| known.primary.upstream == *upstream)
    }
}
