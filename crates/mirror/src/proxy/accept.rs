//! Takes connections, as many as are allowed, and waits for their end.

use std::future::{Future, poll_fn};
use std::io;
use std::net::TcpListener;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::task::JoinSet;

use super::{Drained, Shared, conversation};

/// Without descriptors or memory nothing can be accepted; trying at once would only burn the processor.
const BREATH: Duration = Duration::from_millis(50);

/// What happens next.
enum Event {
    Drain,
    Reload,
    Ended,
    Accepted(io::Result<TcpStream>),
}

/// Serves until told to drain.
pub(super) async fn serve(listener: TcpListener, shared: Arc<Shared>) -> io::Result<Drained> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let mut drain = shared.drain.subscribe();
    let mut drained = pin!(drain.wait_for(|drain| *drain));
    let mut reloads = shared.serving.subscribe();
    let mut tasks = JoinSet::new();
    let mut number = 0;
    loop {
        let most = reloads.borrow_and_update().client.connections;
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
            if tasks.len() >= most {
                return Poll::Pending;
            }
            listener
                .poll_accept(context)
                .map(|accepted| Event::Accepted(accepted.map(|(socket, _)| socket)))
        });
        match event.await {
            Event::Drain => break,
            Event::Reload | Event::Ended => {}
            Event::Accepted(Ok(socket)) => {
                number += 1;
                shared.counts.client.connections.add(1);
                tasks.spawn(conversation::serve(shared.clone(), socket, number));
            }
            Event::Accepted(Err(error)) if is_of_connection(&error) => {}
            Event::Accepted(Err(_)) => tokio::time::sleep(BREATH).await,
        }
    }
    drop(listener);
    let patience = shared.serving().client.drain;
    let all = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(patience, all).await.is_ok() {
        return Ok(Drained::default());
    }
    let connections = tasks.len();
    let aborted = shared.counts.client.aborted.get();
    tasks.shutdown().await;
    let requests = shared.counts.client.aborted.get() - aborted;
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
