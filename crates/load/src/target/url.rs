//! A target's URL taken apart, strictly: an invalid part is refused and
//! never becomes a default.

use std::path::PathBuf;

use http::uri::Authority;

use crate::sendable::path_problem;
use crate::target_error::TargetError;

/// The longest path of a Unix socket: `sun_path` with its closing NUL.
const SOCKET_PATH_LIMIT: usize = 107;

pub(super) fn refused(url: &str, problem: impl Into<String>, remedy: &'static str) -> TargetError {
    TargetError::Url {
        url: without_credentials(url),
        problem: problem.into(),
        remedy,
    }
}

fn without_credentials(url: &str) -> String {
    let authority_at = url.find("://").map_or(0, |at| at + 3);
    let authority_end = url[authority_at..]
        .find(['/', '?', '#'])
        .map_or(url.len(), |length| authority_at + length);
    match url[authority_at..authority_end].rfind('@') {
        Some(at) => format!("{}…{}", &url[..authority_at], &url[authority_at + at..]),
        None => url.to_owned(),
    }
}

pub(super) enum Place {
    Host { host: String, port: u16 },
    Socket(PathBuf),
}

/// A URL taken apart.
pub(super) struct Parts {
    pub(super) tls: bool,
    pub(super) place: Place,
    pub(super) host_header: String,
    pub(super) path_and_query: String,
}

impl Parts {
    pub(super) fn of(url: &str) -> Result<Self, TargetError> {
        let (scheme, rest) = url.split_once("://").ok_or_else(|| {
            refused(
                url,
                "no scheme",
                "begin with http://, https:// or http+unix://",
            )
        })?;
        let (tls, unix) = match scheme.to_ascii_lowercase().as_str() {
            "http" => (false, false),
            "https" => (true, false),
            "http+unix" => (false, true),
            "https+unix" => (true, true),
            _ => {
                return Err(refused(
                    url,
                    format!("{scheme} is not spoken here"),
                    "use http://, https:// or http+unix://",
                ));
            }
        };
        let rest = rest.split('#').next().unwrap_or_default();
        let path_at = rest.find(['/', '?']).unwrap_or(rest.len());
        let (authority, path) = rest.split_at(path_at);
        if authority.contains('@') {
            return Err(refused(
                url,
                "it holds credentials",
                "send them in an Authorization header of the workload",
            ));
        }
        let path_and_query = path_and_query(url, path)?;
        if unix {
            return Ok(Self {
                tls,
                place: Place::Socket(socket_path(percent_decoded(url, authority)?)?),
                host_header: "localhost".into(),
                path_and_query,
            });
        }
        let wrong_authority = |problem: String| {
            refused(
                url,
                problem,
                "give host or host:port; an IPv6 address in brackets",
            )
        };
        let authority: Authority = authority
            .parse()
            .map_err(|error| wrong_authority(format!("{error}")))?;
        let host = authority.host();
        if host.is_empty() {
            return Err(wrong_authority("no host".into()));
        }
        // A port that is none must not turn into the default in silence.
        let port = match &authority.as_str()[host.len()..] {
            "" => {
                if tls {
                    443
                } else {
                    80
                }
            }
            given => match given[1..].parse::<u16>() {
                Ok(port) if port > 0 => port,
                _ => {
                    return Err(wrong_authority(format!(
                        "{:?} is not a port from 1 to 65535",
                        &given[1..]
                    )));
                }
            },
        };
        Ok(Self {
            tls,
            host_header: authority.to_string(),
            place: Place::Host {
                host: host
                    .trim_start_matches('[')
                    .trim_end_matches(']')
                    .to_owned(),
                port,
            },
            path_and_query,
        })
    }

    /// What the certificate is to be for.
    pub(super) fn name(&self) -> &str {
        match &self.place {
            Place::Host { host, .. } => host,
            Place::Socket(_) => "localhost",
        }
    }
}

fn path_and_query(url: &str, path: &str) -> Result<String, TargetError> {
    let path = if path.starts_with('/') {
        path.to_owned()
    } else {
        format!("/{path}")
    };
    if let Some(remedy) = path_problem(&path) {
        return Err(refused(
            url,
            format!("{path:?} is no path and query"),
            remedy,
        ));
    }
    Ok(path)
}

fn percent_decoded(url: &str, encoded: &str) -> Result<PathBuf, TargetError> {
    use std::os::unix::ffi::OsStringExt;
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        if first == b'%' {
            let digits = after.get(..2).and_then(|digits| {
                let digit = |byte: u8| char::from(byte).to_digit(16);
                u8::try_from(digit(digits[0])? * 16 + digit(digits[1])?).ok()
            });
            let Some(byte) = digits else {
                return Err(refused(
                    url,
                    "a % without two hexadecimal digits",
                    "write / in the socket's path as %2F",
                ));
            };
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    if bytes.is_empty() {
        return Err(refused(
            url,
            "no path of a socket",
            "write it like http+unix://%2Frun%2Fapp.sock/path",
        ));
    }
    Ok(std::ffi::OsString::from_vec(bytes).into())
}

pub(super) fn socket_path(path: PathBuf) -> Result<PathBuf, TargetError> {
    use std::os::unix::ffi::OsStrExt;
    let bytes = path.as_os_str().as_bytes();
    if bytes.len() > SOCKET_PATH_LIMIT || bytes.contains(&0) || bytes.is_empty() {
        return Err(refused(
            &path.display().to_string(),
            format!("a socket's path has 1 to {SOCKET_PATH_LIMIT} bytes and no NUL"),
            "use a shorter path, a relative one for instance",
        ));
    }
    Ok(path)
}
