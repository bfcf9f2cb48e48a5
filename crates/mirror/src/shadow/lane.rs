//! The way to one shadow: a bounded number of conversations at once, first come
//! first served, over kept connections where that is asked for; and what happens when the shadow
//! cannot be reached.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use capture::{Drop as Dropped, Failure, Outcome};
use tokio::sync::Semaphore;
use tokio::time::timeout_at;

use super::connection::Connection;
use super::core_wait::CoreWait;
use super::exchange::{Broken, Keeping, Whole, exchange, nanoseconds};
use super::gate::Gate;
use super::held::Held;
use super::request::{Rendered, carried, render};
use super::sample::is_safe;
use super::sessions::{Changes, Prepared, Sessions};
use crate::dialer::{ConnectError, Dialer};
use crate::settings::Shadow;
use crate::taken::Taken;

/// No connection takes longer than this to be made.
const CONNECT: Duration = Duration::from_secs(5);
/// A connection that was not made in less time than this says nothing about the shadow.
const PATIENCE: Duration = Duration::from_secs(1);
/// Between a failed connection and the next attempt: doubled each time, up to the most.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const MOST_PAUSE: Duration = Duration::from_secs(5);
/// Kept connections that were idle for so long are closed.
const IDLE: Duration = Duration::from_secs(30);

/// No deadline is later: an instant must not overflow.
const FOREVER: Duration = Duration::from_secs(365 * 24 * 3600);

/// Everything that belongs to one shadow, on the shadows' thread.
pub(super) struct Lane {
    pub(super) shadow: Shadow,
    /// Its place in the settings.
    pub(super) index: usize,
    gate: Arc<Gate>,
    dialer: Dialer,
    conversations: Semaphore,
    idle: RefCell<Vec<Connection>>,
    unreachable: Cell<bool>,
    core_wait: Rc<CoreWait>,
    /// Where cookies or tokens are to be its own.
    pub(super) sessions: Option<RefCell<Sessions>>,
}

/// How one copy of a request ended.
pub(super) struct Carried {
    pub(super) outcome: Outcome,
    /// Sent so long after it had been taken.
    pub(super) delay_ns: u64,
    pub(super) whole: Option<Whole>,
}

impl Carried {
    pub(super) fn dropped(cause: Dropped) -> Self {
        Self {
            outcome: Outcome::Dropped(cause),
            delay_ns: 0,
            whole: None,
        }
    }

    fn failed(failure: Failure, delay_ns: u64) -> Self {
        Self {
            outcome: Outcome::Failed(failure),
            delay_ns,
            whole: None,
        }
    }
}

impl Lane {
    pub(super) fn new(
        shadow: Shadow,
        index: usize,
        dialer: Dialer,
        gate: Arc<Gate>,
        core_wait: Rc<CoreWait>,
    ) -> Self {
        Self {
            index,
            gate,
            dialer,
            conversations: Semaphore::new(shadow.connections),
            idle: RefCell::default(),
            unreachable: Cell::new(false),
            core_wait,
            sessions: shadow.learns().then(|| RefCell::new(Sessions::new())),
            shadow,
        }
    }

    /// Takes a request to the shadow; `started` is set when it leaves the queue.
    pub(super) async fn carry(self: &Rc<Self>, request: &Taken, started: &Cell<bool>) -> Carried {
        let deadline = request.at + self.shadow.deadline.min(FOREVER);
        let deadline = tokio::time::Instant::from_std(deadline);
        let Ok(changes) = timeout_at(deadline, self.changes(request)).await else {
            return Carried::dropped(Dropped::Late);
        };
        let turn = timeout_at(deadline, self.conversations.acquire()).await;
        let Ok(Ok(_turn)) = turn else {
            return Carried::dropped(Dropped::Late);
        };
        if tokio::time::Instant::now() >= deadline {
            return Carried::dropped(Dropped::Late);
        }
        if self.unreachable.get() {
            return Carried::dropped(Dropped::Unreachable);
        }
        started.set(true);
        // Not before its turn: a waiting copy holds no second head.
        let rendered = render(request, &self.shadow, &changes);
        self.converse(request, &rendered, deadline).await
    }

    /// As it is to be sent, once the session that it belongs to is known.
    async fn changes(&self, request: &Taken) -> Changes {
        let Some(sessions) = &self.sessions else {
            return Changes::default();
        };
        let mut carried = carried(request, &self.shadow.tokens);
        if !self.shadow.cookie_jar {
            carried.cookies.clear();
        }
        loop {
            let prepared =
                sessions
                    .borrow_mut()
                    .prepare(request.id, &carried.cookies, &carried.tokens);
            match prepared {
                Prepared::Ready(changes) => return changes,
                Prepared::Wait(changed) => changed.notified().await,
            }
        }
    }

    async fn converse(
        self: &Rc<Self>,
        request: &Taken,
        rendered: &Rendered,
        deadline: tokio::time::Instant,
    ) -> Carried {
        let to_head = request.method == "HEAD";
        let mut kept = self.take_idle().await;
        loop {
            let reused = kept.is_some();
            let connection = match kept.take() {
                Some(connection) => Ok(connection),
                None => self.connect(deadline).await,
            };
            let delay_ns = nanoseconds(request.at.elapsed());
            let mut connection = match connection {
                Ok(connection) => connection,
                Err(failure) => return Carried::failed(failure, delay_ns),
            };
            let keeping = Keeping {
                held: Held::nothing(self.gate.counts.clone(), self.gate.limits.bytes),
                most_bytes: self.gate.limits.compared_bytes,
            };
            let talk = exchange(&mut connection, rendered, to_head, keeping, &self.core_wait);
            match timeout_at(deadline, talk).await {
                Ok(Ok(whole)) => {
                    if whole.keeps && self.shadow.keep_alive {
                        self.keep(connection);
                    } else if !whole.keeps {
                        connection.closed_by_server().await;
                    }
                    return Carried {
                        outcome: Outcome::Answered(whole.answer.clone()),
                        delay_ns,
                        whole: Some(whole),
                    };
                }
                // The server may have closed it as the request was on its way.
                Ok(Err(Broken {
                    nothing_came: true,
                    failure: Failure::Cut,
                })) if reused && is_safe(&request.method) => {}
                Ok(Err(broken)) => return Carried::failed(broken.failure, delay_ns),
                Err(_) => return Carried::failed(Failure::Deadline, delay_ns),
            }
        }
    }

    /// The one that was used last, of those that still stand.
    async fn take_idle(&self) -> Option<Connection> {
        loop {
            let mut connection = self.idle.borrow_mut().pop()?;
            if connection.since.elapsed() < IDLE && connection.is_quiet().await {
                return Some(connection);
            }
        }
    }

    fn keep(&self, mut connection: Connection) {
        let now = Instant::now();
        connection.since = now;
        let mut idle = self.idle.borrow_mut();
        idle.retain(|other| now.duration_since(other.since) < IDLE);
        if idle.len() < self.shadow.connections {
            idle.push(connection);
        }
    }

    async fn dial(&self) -> Result<Connection, Failure> {
        match self.dialer.connect(&[]).await {
            Ok(stream) => Ok(Connection::new(stream)),
            Err(ConnectError::Connect(_)) => Err(Failure::Connect),
            Err(ConnectError::Tls(_)) => Err(Failure::Tls),
        }
    }

    async fn connect(
        self: &Rc<Self>,
        deadline: tokio::time::Instant,
    ) -> Result<Connection, Failure> {
        let began = Instant::now();
        let by = deadline.min(tokio::time::Instant::now() + CONNECT);
        let failure = match timeout_at(by, self.dial()).await {
            Ok(Ok(connection)) => return Ok(connection),
            Ok(Err(failure)) => failure,
            Err(_) if began.elapsed() < PATIENCE => return Err(Failure::Connect),
            Err(_) => Failure::Connect,
        };
        if !self.unreachable.get() {
            self.set_unreachable(true);
            tokio::task::spawn_local(self.clone().come_back());
        }
        Err(failure)
    }

    fn set_unreachable(&self, unreachable: bool) {
        self.unreachable.set(unreachable);
        self.gate.places[self.index].set_unreachable(unreachable);
    }

    /// Tries from time to time, so that no request is lost to find out.
    async fn come_back(self: Rc<Self>) {
        let mut pause = FIRST_PAUSE;
        loop {
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(MOST_PAUSE);
            if let Ok(Ok(connection)) = tokio::time::timeout(CONNECT, self.dial()).await {
                self.keep(connection);
                return self.set_unreachable(false);
            }
        }
    }
}
