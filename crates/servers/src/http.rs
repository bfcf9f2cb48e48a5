//! One small GET at a time, over TCP or a Unix socket: readiness and Puma's status need no more.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

/// How often a slow answer lets `go_on` look whether to wait any longer.
const LOOK_UP: Duration = Duration::from_millis(50);
const CONNECT_WITHIN: Duration = Duration::from_secs(1);
const LONGEST_ANSWER: usize = 4 << 20;
const MOST_HEADERS: usize = 100;

#[derive(Debug, Clone)]
pub(crate) enum Target {
    Tcp(SocketAddr),
    Unix(PathBuf),
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// As sent; chunks are not put together.
    pub(crate) body: Vec<u8>,
}

/// Asks once. `go_on` is called every 50 ms of waiting and ends it with its error.
///
/// The outer error is `go_on`'s; the inner one says that no HTTP answer came.
pub(crate) fn get<E>(
    target: &Target,
    path: &str,
    go_on: impl FnMut() -> Result<(), E>,
) -> Result<io::Result<Answer>, E> {
    get_with(target, path, "", go_on)
}

/// The same with further lines of the request's head, each with its end.
pub(crate) fn get_with<E>(
    target: &Target,
    path: &str,
    headers: &str,
    mut go_on: impl FnMut() -> Result<(), E>,
) -> Result<io::Result<Answer>, E> {
    let mut stream = match connect(target) {
        Ok(stream) => stream,
        Err(error) => return Ok(Err(error)),
    };
    let host = match target {
        Target::Tcp(address) => address.to_string(),
        Target::Unix(_) => "localhost".into(),
    };
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: powerband\r\nAccept: */*\r\n\
         {headers}Connection: close\r\n\r\n"
    );
    if let Err(error) = stream.write_all(request.as_bytes()) {
        return Ok(Err(error));
    }
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        match parse(&bytes, false) {
            Ok(Some(answer)) => {
                await_close(&mut *stream);
                return Ok(Ok(answer));
            }
            Ok(None) => {}
            Err(error) => return Ok(Err(error)),
        }
        match stream.read(&mut buffer) {
            Ok(0) => return Ok(parse(&bytes, true).and_then(|answer| answer.ok_or_else(cut_short))),
            Ok(read) => bytes.extend_from_slice(&buffer[..read]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {}
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Ok(Err(error)),
        }
        go_on()?;
        if bytes.len() > LONGEST_ANSWER {
            return Ok(Err(io::Error::new(
                ErrorKind::InvalidData,
                "the answer is too long",
            )));
        }
    }
}

/// Lets the server finish: until it has closed the connection its thread is still busy with us, and
/// a server that is stopped or measured next should be idle. One that keeps it open is not awaited.
fn await_close(stream: &mut dyn Stream) {
    let mut rest = [0; 1024];
    while let Ok(1..) = stream.read(&mut rest) {}
}

trait Stream: Read + Write {}
impl Stream for TcpStream {}
impl Stream for UnixStream {}

fn connect(target: &Target) -> io::Result<Box<dyn Stream>> {
    Ok(match target {
        Target::Tcp(address) => {
            let stream = TcpStream::connect_timeout(address, CONNECT_WITHIN)?;
            stream.set_read_timeout(Some(LOOK_UP))?;
            Box::new(stream)
        }
        Target::Unix(path) => {
            let stream = UnixStream::connect(path)?;
            stream.set_read_timeout(Some(LOOK_UP))?;
            Box::new(stream)
        }
    })
}

/// `None` while more is to come.
fn parse(bytes: &[u8], closed: bool) -> io::Result<Option<Answer>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let head = match response.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(io::Error::new(ErrorKind::InvalidData, error)),
    };
    let status = response.code.unwrap_or_default();
    let length = response
        .headers
        .iter()
        .find(|header| header.name.eq_ignore_ascii_case("content-length"))
        .and_then(|header| {
            std::str::from_utf8(header.value)
                .ok()?
                .trim()
                .parse::<usize>()
                .ok()
        });
    let body = &bytes[head..];
    let whole = match length {
        Some(length) if body.len() >= length => &body[..length],
        _ if closed => body,
        _ => return Ok(None),
    };
    Ok(Some(Answer {
        status,
        body: whole.to_vec(),
    }))
}

fn cut_short() -> io::Error {
    io::Error::new(
        ErrorKind::UnexpectedEof,
        "the connection closed before an answer",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_for_the_whole_body_or_the_close() {
        let bytes = b"HTTP/1.1 404 Not Found\r\nContent-Length: 3\r\n\r\nabc";
        for cut in 0..bytes.len() {
            assert_eq!(parse(&bytes[..cut], false).unwrap(), None, "{cut} bytes");
        }
        let whole = Answer {
            status: 404,
            body: b"abc".to_vec(),
        };
        assert_eq!(parse(bytes, false).unwrap(), Some(whole));
        let endless = b"HTTP/1.1 200 OK\r\n\r\nabc";
        assert_eq!(parse(endless, false).unwrap(), None);
        assert_eq!(parse(endless, true).unwrap().unwrap().body, b"abc");
        assert_eq!(parse(b"HTTP/1.1 200", true).unwrap(), None);
        assert!(parse(b"SSH-2.0-OpenSSH_9.2\r\n", false).is_err());
    }
}
