//! One connection: reads and writes within a deadline for all of them together, and none after the end.

use std::io::{ErrorKind, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How often it looks whether the listener has ended.
const TICK: Duration = Duration::from_millis(50);
/// What is read at most of what follows a question.
const MOST_UNREAD: usize = 64 << 10;

/// A client of the listener.
#[derive(Debug)]
pub struct Asker<'a> {
    stream: TcpStream,
    ended: &'a AtomicBool,
    deadline: Instant,
}

impl<'a> Asker<'a> {
    pub fn new(stream: TcpStream, ended: &'a AtomicBool) -> Asker<'a> {
        Asker {
            stream,
            ended,
            deadline: Instant::now(),
        }
    }

    /// Everything from here on has so long, however many reads and writes it takes.
    pub fn allow(&mut self, time: Duration) {
        self.deadline = Instant::now() + time;
    }

    /// 0: the orderly end.
    pub fn read(&mut self, bytes: &mut [u8]) -> std::io::Result<usize> {
        loop {
            self.stream.set_read_timeout(Some(self.left()?))?;
            match self.stream.read(bytes) {
                Err(e) if is_to_be_repeated(&e) => {}
                read => return read,
            }
        }
    }

    pub fn write_all(&mut self, mut bytes: &[u8]) -> std::io::Result<()> {
        while !bytes.is_empty() {
            self.stream.set_write_timeout(Some(self.left()?))?;
            match self.stream.write(bytes) {
                Err(e) if is_to_be_repeated(&e) => {}
                Ok(0) => return Err(ErrorKind::WriteZero.into()),
                written => bytes = &bytes[written?..],
            }
        }
        Ok(())
    }

    /// Says no more, and reads until the other end has closed: closing on unread bytes could lose the answer.
    pub fn part(mut self) -> std::io::Result<()> {
        self.stream.shutdown(Shutdown::Write)?;
        let (mut bytes, mut left) = ([0; 4096], MOST_UNREAD);
        while left > 0 {
            match self.read(&mut bytes)? {
                0 => break,
                read => left = left.saturating_sub(read),
            }
        }
        Ok(())
    }

    fn left(&self) -> std::io::Result<Duration> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        match left.is_zero() || self.ended.load(Ordering::Acquire) {
            true => Err(ErrorKind::TimedOut.into()),
            false => Ok(left.min(TICK)),
        }
    }
}

fn is_to_be_repeated(error: &std::io::Error) -> bool {
    matches!(
        error.kind(),
        ErrorKind::WouldBlock | ErrorKind::TimedOut | ErrorKind::Interrupted
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    /// Both ends of a connection.
    fn pair() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        (listener.accept().unwrap().0, client)
    }

    #[test]
    fn all_reads_and_writes_together_have_one_deadline() {
        let (stream, mut client) = pair();
        let ended = AtomicBool::new(false);
        let mut asker = Asker::new(stream, &ended);
        asker.allow(Duration::from_millis(200));
        let mut bytes = [0; 1];
        // Each read alone would be in time.
        let read = loop {
            client.write_all(b"x").unwrap();
            match asker.read(&mut bytes) {
                Ok(_) => std::thread::yield_now(),
                Err(e) => break e.kind(),
            }
        };
        assert_eq!(read, ErrorKind::TimedOut);
        // More than two sockets' buffers hold, with no reader.
        asker.allow(Duration::from_millis(200));
        let written = asker.write_all(&vec![0; 64 << 20]);
        assert_eq!(written.unwrap_err().kind(), ErrorKind::TimedOut);
    }

    #[test]
    fn the_listeners_end_is_the_end_of_every_question() {
        let (stream, _client) = pair();
        let ended = AtomicBool::new(false);
        let mut asker = Asker::new(stream, &ended);
        asker.allow(Duration::from_secs(3600));
        std::thread::scope(|scope| {
            let asking = scope.spawn(|| asker.read(&mut [0; 1]).map_err(|e| e.kind()));
            ended.store(true, Ordering::Release);
            assert_eq!(asking.join().unwrap(), Err(ErrorKind::TimedOut));
        });
    }
}
