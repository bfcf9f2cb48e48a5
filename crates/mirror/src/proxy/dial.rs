//! A new connection to the primary; where the system has no descriptor for it, one is made free.

use std::io;
use std::time::{Duration, Instant};

use super::Shared;
use super::exchange::Trouble;
use super::serving::Answerer;
use crate::Cause;
use crate::dialer::ConnectError;
use crate::stream::Stream;

/// Until it is tried again.
const BREATH: Duration = Duration::from_millis(20);

/// Connects within the primary's limit of time. The connection begins with these bytes.
pub(super) async fn dial(
    shared: &Shared,
    answerer: &Answerer,
    beginning: &[u8],
) -> Result<Stream, Trouble> {
    let within = answerer.primary.connect_timeout;
    let trouble = match tokio::time::timeout(within, connect(shared, answerer, beginning)).await {
        Ok(Ok(stream)) => {
            answerer.health.connected();
            return Ok(stream);
        }
        Ok(Err(error)) => Trouble::Unreachable(format!("{answerer}: {error}")),
        Err(_) => Trouble::ConnectLate(answerer.to_string()),
    };
    answerer.health.failed(Instant::now());
    Err(trouble)
}

async fn connect(
    shared: &Shared,
    answerer: &Answerer,
    beginning: &[u8],
) -> Result<Stream, ConnectError> {
    loop {
        match answerer.dialer.connect(beginning).await {
            Err(ConnectError::Connect(error)) if is_exhausted(&error) => {
                let causes = &shared.counts.client.causes;
                causes.add_with(
                    Cause::NoDescriptor,
                    format_args!("a connection to the primary: {error}"),
                );
                shared.close_oldest_idle(None);
                tokio::time::sleep(BREATH).await;
            }
            connected => return connected,
        }
    }
}

/// The process or the system has no descriptor or no memory for a socket: nothing is wrong with the other end.
pub(super) fn is_exhausted(error: &io::Error) -> bool {
    use rustix::io::Errno;
    matches!(
        Errno::from_io_error(error),
        Some(Errno::MFILE | Errno::NFILE | Errno::NOBUFS | Errno::NOMEM)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exhaustion_is_distinguished_from_a_refusal() {
        // EMFILE, ENFILE, ENOBUFS, ENOMEM; ECONNREFUSED, ETIMEDOUT, EADDRNOTAVAIL.
        for (errno, exhausted) in [
            (24, true),
            (23, true),
            (105, true),
            (12, true),
            (111, false),
            (110, false),
            (99, false),
        ] {
            let error = io::Error::from_raw_os_error(errno);
            assert_eq!(is_exhausted(&error), exhausted, "{error}");
        }
    }
}
