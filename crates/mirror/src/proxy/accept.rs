//! Takes connections, as many as are allowed, and waits for their end.

use std::future::{Future, poll_fn};
use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;

use super::dial::is_exhausted;
use super::{Drained, Shared, conversation};
use crate::Cause;
use crate::listener::Listener;
use crate::socket::Socket;

/// Without descriptors or memory nothing can be accepted; trying at once would only burn the processor.
const BREATH: Duration = Duration::from_millis(50);

/// How soon a client that waits is looked at again where nothing else happens: shadows of a former reload may have ended, or
/// the connection that was to close got a request at the same moment.
const LOOK: Duration = Duration::from_millis(100);

/// What happens next.
enum Event {
    Drain,
    Reload,
    Ended,
    Accepted(io::Result<Socket>),
    Look,
}

/// Serves until asked to drain. Where all connections are taken one more is accepted, and waits until another one has
/// ended: the longest idle one is asked to. The next ones wait in the kernel's queue.
pub(super) async fn serve(listener: Listener, shared: Arc<Shared>) -> io::Result<Drained> {
    let listener = listener.serve()?;
    let mut drain = shared.drain.subscribe();
    let mut drained = pin!(drain.wait_for(|drain| *drain));
    let mut reloads = shared.serving.subscribe();
    let mut tasks = JoinSet::new();
    let mut number = 0;
    let mut accepted = None;
    // No connection was idle when the waiting client came.
    let mut waits = false;
    loop {
        reloads.borrow_and_update();
        let most = shared.most();
        if let Some(socket) = accepted.take_if(|_| tasks.len() < most) {
            number += 1;
            waits = false;
            shared.counts.client.connections.add(1);
            tasks.spawn(conversation::serve(shared.clone(), socket, number));
        }
        let is_full = accepted.is_some();
        let mut closing = false;
        let mut reload = pin!(reloads.changed());
        let event = poll_fn(|context| {
            if drained.as_mut().poll(context).is_ready() {
                return Poll::Ready(Event::Drain);
            }
            if reload.as_mut().poll(context).is_ready() {
                return Poll::Ready(Event::Reload);
            }
            if let Poll::Ready(Some(_)) = tasks.poll_join_next(context) {
                return Poll::Ready(Event::Ended);
            }
            if !is_full {
                return listener.poll_accept(context).map(Event::Accepted);
            }
            closing = closing || shared.close_oldest_idle(Some(context.waker()));
            if !closing && !std::mem::replace(&mut waits, true) {
                shared.counts.client.waited.add(1);
            }
            Poll::Pending
        });
        let event = match is_full {
            true => tokio::time::timeout(LOOK, event)
                .await
                .unwrap_or(Event::Look),
            false => event.await,
        };
        match event {
            Event::Drain => break,
            Event::Reload | Event::Ended | Event::Look => {}
            Event::Accepted(Ok(socket)) => accepted = Some(socket),
            Event::Accepted(Err(error)) if is_of_connection(&error) => {}
            Event::Accepted(Err(error)) => {
                let causes = &shared.counts.client.causes;
                if is_exhausted(&error) {
                    causes.add_with(
                        Cause::NoDescriptor,
                        format_args!("a client's connection: {error}"),
                    );
                    shared.close_oldest_idle(None);
                } else {
                    causes.add_with(Cause::AcceptFailed, error);
                }
                tokio::time::sleep(BREATH).await;
            }
        }
    }
    // The kernel has completed these clients' handshakes, and would reset them with the listener.
    let closing = match listener.is_own() {
        true => listener.close().ok(),
        false => None,
    };
    loop {
        // Not those that have ended meanwhile.
        while tasks.try_join_next().is_some() {}
        let socket = match (accepted.take(), &closing) {
            (Some(socket), _) => socket,
            (None, Some(closing)) if tasks.len() < shared.most() => match closing.accept() {
                Ok(socket) => socket,
                Err(error) if is_of_connection(&error) => continue,
                Err(_) => break,
            },
            _ => break,
        };
        number += 1;
        shared.counts.client.connections.add(1);
        tasks.spawn(conversation::serve(shared.clone(), socket, number));
    }
    drop(closing);
    let patience = shared.serving().client.drain;
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(patience, all).await.is_ok() {
        return Ok(Drained::default());
    }
    let connections = tasks.len();
    tasks.shutdown().await;
    let requests = shared.counts.client.causes.of(Cause::Drain);
    Ok(Drained {
        connections,
        requests,
    })
}

/// It was gone before it was taken: nothing is wrong with the next one.
fn is_of_connection(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::ConnectionAborted
            | io::ErrorKind::ConnectionReset
            | io::ErrorKind::ConnectionRefused
            | io::ErrorKind::Interrupted
    )
}
