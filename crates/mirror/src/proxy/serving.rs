//! What a reload swaps: settings with their files read.

use std::sync::Arc;

use tokio_rustls::TlsAcceptor;

use super::ProxyError;
use crate::dialer::Dialer;
use crate::tls::acceptor;
use crate::{Client, Limits, Primary, Settings, Tap};

/// Who answers, and how to get there.
#[derive(Debug)]
pub(super) struct Answerer {
    pub(super) primary: Primary,
    pub(super) dialer: Dialer,
}

/// One state of the settings.
pub(super) struct Serving {
    pub(super) answerers: Vec<Arc<Answerer>>,
    pub(super) client: Client,
    pub(super) limits: Limits,
    pub(super) tap: Arc<dyn Tap>,
    pub(super) acceptor: Option<TlsAcceptor>,
}

impl Serving {
    pub(super) fn new(settings: &Settings, tap: Arc<dyn Tap>) -> Result<Self, ProxyError> {
        let mut answerers = Vec::new();
        for primary in &settings.primaries {
            let dialer = Dialer::new(&primary.upstream)?;
            answerers.push(Arc::new(Answerer {
                primary: primary.clone(),
                dialer,
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
        })
    }

    /// The primary of a connection: they take turns.
    pub(super) fn answerer(&self, connection: u64) -> &Arc<Answerer> {
        let turn = (connection.wrapping_sub(1) % self.answerers.len() as u64) as usize;
        &self.answerers[turn]
    }

    /// The same primary as these settings know it, if they do: only its limits may be others.
    pub(super) fn same(&self, answerer: &Answerer) -> Option<&Arc<Answerer>> {
        let upstream = &answerer.primary.upstream;
        self.answerers
            .iter()
            .find(|known| known.primary.upstream == *upstream)
    }
}
