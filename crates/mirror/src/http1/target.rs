//! What a request is for, and of whom: the forms that a target may have.

use super::Malformed;
use super::fields::Span;

/// Where the path and query lie that the primary is asked for.
///
/// A target that names its host (absolute form) is taken as the path in it; the host must be the one of `Host`,
/// because servers differ in which of the two they believe.
pub(super) fn origin_form(
    method: &[u8],
    target: &[u8],
    host: Option<&[u8]>,
    head: &[u8],
) -> Result<Span, Malformed> {
    if method == b"CONNECT" {
        return Err(Malformed::Connect);
    }
    // The parser refuses control characters, spaces and what is not UTF-8. UTF-8 that is not percent-encoded passes, as through
    // nginx and Puma: it has no byte that separates anything.
    let whole = Span::of(target, head);
    match target {
        [b'/', ..] => Ok(whole),
        b"*" if method == b"OPTIONS" => Ok(whole),
        _ => absolute_form(target, host, head),
    }
}

fn absolute_form(target: &[u8], host: Option<&[u8]>, head: &[u8]) -> Result<Span, Malformed> {
    let schemes: [&[u8]; 2] = [b"http://", b"https://"];
    let scheme = schemes
        .iter()
        .find(|scheme| {
            target
                .get(..scheme.len())
                .is_some_and(|s| s.eq_ignore_ascii_case(scheme))
        })
        .ok_or(Malformed::Target)?;
    let rest = &target[scheme.len()..];
    let length = rest
        .iter()
        .position(|byte| b"/?#".contains(byte))
        .unwrap_or(rest.len());
    let (authority, path) = rest.split_at(length);
    if authority.is_empty() {
        return Err(Malformed::Target);
    }
    if !host.is_some_and(|host| host.eq_ignore_ascii_case(authority)) {
        return Err(Malformed::HostDiffers);
    }
    match path {
        [b'/', ..] => Ok(Span::of(path, head)),
        // No path is "/": the last slash of the scheme's stands for it.
        [] => Ok(Span::of(&target[scheme.len() - 1..scheme.len()], head)),
        _ => Err(Malformed::Target),
    }
}

/// A name or an address, and a port: what RFC 3986 allows in them and no more. Nothing at all is allowed.
pub(super) fn is_host(host: &[u8]) -> bool {
    host.iter()
        .all(|byte| byte.is_ascii_alphanumeric() || b"-._~%!$&'()*+,;=:[]".contains(byte))
}
