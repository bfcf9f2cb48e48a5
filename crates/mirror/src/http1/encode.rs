//! Messages as bytes. The caller decides what is in them; what is written here was
//! checked when it was read.

use bytes::{BufMut, BytesMut};

use super::Version;

/// The first line of a request.
pub fn request_line(out: &mut BytesMut, method: &str, target: &[u8], version: Version) {
    out.put_slice(method.as_bytes());
    out.put_u8(b' ');
    out.put_slice(target);
    out.put_slice(match version {
        Version::Http10 => b" HTTP/1.0\r\n",
        Version::Http11 => b" HTTP/1.1\r\n",
    });
}

/// The first line of an answer; a status has three digits.
pub fn status_line(out: &mut BytesMut, status: u16, reason: &[u8]) {
    let digit = |value: u16| b'0' + (value % 10) as u8;
    out.put_slice(b"HTTP/1.1 ");
    out.put_slice(&[digit(status / 100), digit(status / 10), digit(status), b' ']);
    out.put_slice(reason);
    out.put_slice(b"\r\n");
}

/// A header field.
pub fn field(out: &mut BytesMut, name: &str, value: &[u8]) {
    out.reserve(name.len() + value.len() + 4);
    out.put_slice(name.as_bytes());
    out.put_slice(b": ");
    out.put_slice(value);
    out.put_slice(b"\r\n");
}

/// The empty line after the last field.
pub fn end_head(out: &mut BytesMut) {
    out.put_slice(b"\r\n");
}

/// A chunk; none for no data, because that would be the last one.
pub fn chunk(out: &mut BytesMut, data: &[u8]) {
    if data.is_empty() {
        return;
    }
    out.reserve(data.len() + 20);
    let mut digits = [0; 16];
    let mut left = data.len();
    let mut first = digits.len();
    while left > 0 {
        first -= 1;
        digits[first] = b"0123456789abcdef"[left % 16];
        left /= 16;
    }
    out.put_slice(&digits[first..]);
    out.put_slice(b"\r\n");
    out.put_slice(data);
    out.put_slice(b"\r\n");
}

/// The end of a body in chunks.
pub fn last_chunk(out: &mut BytesMut) {
    out.put_slice(b"0\r\n\r\n");
}
