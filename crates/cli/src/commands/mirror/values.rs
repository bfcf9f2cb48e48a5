//! Values of a mirror's settings: text in, a checked value or a problem out.

use crate::listener::address;
use experiment::config::{Asked, Problem};
use mirror::http1::{Forwarding, Strictness};
use mirror::proxy_protocol::Version;
use mirror::{Destination, ListenAt, Rewrite, Sample, Upstream};
use regex::bytes::Regex;
use std::path::PathBuf;

/// `sun_path` without the NUL at its end.
const MOST_PATH: usize = 107;

/// A port, a Unix socket, or `systemd` and `systemd:NAME` for a socket that is passed on.
pub fn listen_at(asked: &Asked) -> Result<ListenAt, Problem> {
    let text = asked.text.trim();
    if let Some(path) = unix_path(asked)? {
        return Ok(ListenAt::Unix { path, mode: 0o600 });
    }
    match text.strip_prefix("systemd") {
        Some("") => return Ok(ListenAt::Passed { name: None }),
        Some(name) if name.len() > 1 && name.starts_with(':') => {
            let name = Some(name[1..].to_owned());
            return Ok(ListenAt::Passed { name });
        }
        _ => {}
    }
    let address = address(asked).map_err(|_| {
        Problem::of(
            asked,
            "no address",
            "give an IP address and a port, such as 127.0.0.1:8080, :8080 for loopback, unix:/run/powerband/mirror.sock, or \
             systemd for a passed socket",
        )
    })?;
    Ok(ListenAt::Tcp {
        address,
        reuse_port: false,
    })
}

/// `unix:/run/app.sock`, or `unix:///run/app.sock` as in Puma's configuration; `None`: something else.
fn unix_path(asked: &Asked) -> Result<Option<PathBuf>, Problem> {
    let Some(path) = asked.text.trim().strip_prefix("unix:") else {
        return Ok(None);
    };
    let path = path.strip_prefix("//").unwrap_or(path);
    let remedy =
        "write unix: and an absolute path of at most 107 bytes, such as unix:/run/puma.sock";
    let wrong = |what| Err(Problem::of(asked, what, remedy));
    match path {
        _ if !path.starts_with('/') || path.ends_with('/') => wrong("no path of a socket"),
        _ if path.len() > MOST_PATH => wrong("the path is too long for a socket"),
        _ if path.contains('\0') => wrong("no path of a socket"),
        path => Ok(Some(PathBuf::from(path))),
    }
}

/// Permissions as `chmod` takes them.
pub fn mode(asked: &Asked) -> Result<u32, Problem> {
    let mode = u32::from_str_radix(asked.text.trim(), 8).ok();
    let mode = mode.filter(|mode| *mode <= 0o777 && mode & 0o600 == 0o600);
    let remedy = "give an octal number from 600 to 777 such as 660: a process that may write to the socket may connect";
    mode.ok_or_else(|| Problem::of(asked, "no permissions of a socket", remedy))
}

pub fn upstream(asked: &Asked, ca: Option<PathBuf>) -> Result<Upstream, Problem> {
    if let Some(path) = unix_path(asked)? {
        return Ok(Upstream {
            at: Destination::Unix(path),
            tls: false,
            ca: None,
        });
    }
    let remedy = "write http://HOST:PORT, https://HOST:PORT or unix:/PATH";
    let wrong = |what: &str| Problem::of(asked, what, remedy);
    let uri: http::Uri = asked.text.trim().parse().map_err(|_| wrong("no URL"))?;
    let tls = match uri.scheme_str() {
        Some("http") => false,
        Some("https") => true,
        _ => return Err(wrong("its scheme is not http or https")),
    };
    let authority = uri.authority().ok_or_else(|| wrong("no host"))?;
    if authority.as_str().contains('@') {
        return Err(Problem::of(
            &Asked::new("…", asked.origin.clone()),
            "it holds credentials",
            "set them with --set-header",
        ));
    }
    if !matches!(uri.path(), "" | "/") || uri.query().is_some() {
        return Err(wrong("it has a path, and requests keep theirs"));
    }
    let host = authority
        .host()
        .trim_start_matches('[')
        .trim_end_matches(']');
    if host.is_empty() {
        return Err(wrong("no host"));
    }
    let port = match authority.port() {
        None => {
            if tls {
                443
            } else {
                80
            }
        }
        Some(port) if port.as_u16() > 0 => port.as_u16(),
        Some(_) => return Err(wrong("no port")),
    };
    Ok(Upstream {
        at: Destination::Tcp {
            host: host.to_owned(),
            port,
        },
        tls,
        ca: ca.filter(|_| tls),
    })
}

pub fn name(asked: &Asked) -> Result<String, Problem> {
    let text = asked.text.trim();
    let fits = !text.is_empty()
        && text.len() <= 40
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_'));
    if fits && text != "primary" {
        return Ok(text.to_owned());
    }
    let remedy = "give a name of 1 to 40 letters, digits, - and _, other than primary";
    Err(Problem::of(asked, "no name for a shadow", remedy))
}

/// Whether unambiguous requests may be refused.
pub fn strictness(asked: &Asked) -> Result<Strictness, Problem> {
    match asked.text.trim() {
        "enforce" => Ok(Strictness::Enforce),
        "report" => Ok(Strictness::Report),
        _ => Err(Problem::of(
            asked,
            "no strictness",
            "give enforce, or report to pass and count what only strictness refuses",
        )),
    }
}

/// A name by which the status page is asked for.
pub fn host(asked: &Asked) -> Result<String, Problem> {
    crate::listener::name(asked.text.trim()).ok_or_else(|| {
        Problem::of(
            asked,
            "no host's name",
            "give a name or an address without scheme and port, such as mirror.internal",
        )
    })
}

pub fn share(asked: &Asked) -> Result<f64, Problem> {
    let text = asked.text.trim();
    let share = match text.strip_suffix('%') {
        Some(number) => number.trim().parse::<f64>().map(|number| number / 100.0),
        None => text.parse::<f64>(),
    };
    share
        .ok()
        .filter(|share| *share > 0.0 && *share <= 1.0)
        .ok_or_else(|| {
            Problem::of(
                asked,
                "no share",
                "give a share above 0 and up to 100 %, such as 10%",
            )
        })
}

pub fn sampled_by(asked: &Asked, share: f64) -> Result<Sample, Problem> {
    match asked.text.trim() {
        "request" => Ok(Sample::Requests(share)),
        text => match text
            .strip_prefix("session:")
            .map(str::trim)
            .filter(|cookie| !cookie.is_empty())
        {
            Some(cookie) => Ok(Sample::Sessions {
                share,
                cookie: cookie.to_owned(),
            }),
            None => Err(Problem::of(
                asked,
                "nothing to sample by",
                "give request, or session:COOKIE with the cookie's name",
            )),
        },
    }
}

pub fn flag(asked: &Asked) -> Result<bool, Problem> {
    asked
        .text
        .trim()
        .parse()
        .map_err(|_| Problem::of(asked, "neither true nor false", "give true or false"))
}

pub fn forwarding(asked: &Asked) -> Result<Forwarding, Problem> {
    match asked.text.trim() {
        "off" => Ok(Forwarding::Off),
        "append" => Ok(Forwarding::Append),
        "replace" => Ok(Forwarding::Replace),
        _ => Err(Problem::of(
            asked,
            "not a way to forward addresses",
            "give append behind another proxy, replace where clients connect, or off",
        )),
    }
}

pub fn proxy_version(asked: &Asked) -> Result<Version, Problem> {
    match asked.text.trim() {
        "v1" => Ok(Version::V1),
        "v2" => Ok(Version::V2),
        _ => Err(Problem::of(
            asked,
            "not a version of the PROXY protocol",
            "give v1 or v2, as the primary reads it",
        )),
    }
}

pub fn method(asked: &Asked, name: &str) -> Result<String, Problem> {
    let legal = http::Method::from_bytes(name.as_bytes()).is_ok() && name != "CONNECT";
    match legal {
        true => Ok(name.to_owned()),
        false => Err(Problem::of(
            asked,
            format_args!("{name:?} is no method that can be sent"),
            "give methods as in GET,HEAD,POST",
        )),
    }
}

pub fn pattern(asked: &Asked, text: &str) -> Result<Regex, Problem> {
    Regex::new(text).map_err(|e| {
        let why = e.to_string();
        let why = why
            .lines()
            .last()
            .unwrap_or_default()
            .trim_start_matches("error: ");
        Problem::of(asked, why, "give a regular expression, such as ^/api/")
    })
}

pub fn with_header(asked: &Asked) -> Result<(String, Regex), Problem> {
    let Some((name, text)) = asked.text.split_once('=') else {
        return Err(Problem::of(
            asked,
            "no pattern",
            "write NAME=REGEX, such as X-Tenant=^acme$",
        ));
    };
    Ok((header_name(asked, name.trim())?, pattern(asked, text)?))
}

pub fn header_name(asked: &Asked, name: &str) -> Result<String, Problem> {
    // These frame the message between two servers, and are the mirror's own.
    const OURS: [&str; 5] = [
        "connection",
        "content-length",
        "transfer-encoding",
        "te",
        "upgrade",
    ];
    if http::HeaderName::from_bytes(name.as_bytes()).is_err() {
        return Err(Problem::of(
            asked,
            "no header's name",
            "give a header's name, such as X-Tenant",
        ));
    }
    let reads_as = |known| capture::reads_as(name.as_bytes(), known);
    if reads_as(capture::SHADOW_MARK) {
        return Err(Problem::of(
            asked,
            "the mirror alone sets this field, to the shadow's name",
            "choose another name",
        ));
    }
    if OURS.into_iter().any(reads_as) {
        return Err(Problem::of(
            asked,
            "it frames the message, which is the mirror's own business",
            "leave it out",
        ));
    }
    Ok(name.to_owned())
}

pub fn set_header(asked: &Asked) -> Result<Rewrite, Problem> {
    // The value may be a secret: messages show the name alone.
    let name = asked.text.split(':').next().unwrap_or_default().trim();
    let shown = Asked::new(format!("{name}: …"), asked.origin.clone());
    let Some((name, value)) = asked.text.split_once(':') else {
        return Err(Problem::of(
            &shown,
            "no value",
            "write NAME: VALUE, such as \"Host: candidate.test\"",
        ));
    };
    let value = value.trim();
    if http::HeaderValue::from_str(value).is_err() {
        return Err(Problem::of(
            &shown,
            "its value could end the line",
            "leave control characters out",
        ));
    }
    Ok(Rewrite::Set {
        name: header_name(&shown, name.trim())?,
        value: value.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(text: &str) -> Asked {
        Asked::new(text, "--flag")
    }

    #[test]
    fn a_port_alone_is_on_loopback() {
        let of = |text: &str| address(&asked(text)).map(|found| found.to_string()).ok();
        assert_eq!(of(":8080").as_deref(), Some("127.0.0.1:8080"));
        assert_eq!(of("localhost:1").as_deref(), Some("127.0.0.1:1"));
        assert_eq!(of("[::1]:443").as_deref(), Some("[::1]:443"));
        assert_eq!(of("0.0.0.0:80").as_deref(), Some("0.0.0.0:80"));
        for wrong in ["8080", ":", ":70000", "example.test:80", ""] {
            assert_eq!(of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn clients_connect_to_a_port_a_file_or_a_passed_socket() {
        for (text, shown) in [
            (":80", "127.0.0.1:80"),
            ("unix:/run/x.sock", "unix:/run/x.sock"),
            ("systemd", "systemd"),
            ("systemd:web", "systemd:web"),
        ] {
            let found = listen_at(&asked(text)).unwrap();
            assert_eq!(found.to_string(), shown);
        }
        for wrong in ["unix:x.sock", "systemd:", "systemdx", "80"] {
            assert!(listen_at(&asked(wrong)).is_err(), "{wrong}");
        }
        for (text, expected) in [("660", Some(0o660)), ("0600", Some(0o600))] {
            assert_eq!(mode(&asked(text)).ok(), expected);
        }
        for wrong in ["400", "1777", "rw", "888", ""] {
            assert!(mode(&asked(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_url_names_a_server_and_nothing_more() {
        let of = |text: &str| upstream(&asked(text), None);
        for (text, at, tls) in [
            ("https://[::1]:8443", "[::1]:8443", true),
            ("http://app", "app:80", false),
            ("unix:/run/puma.sock", "unix:/run/puma.sock", false),
            ("unix:///run/puma.sock", "unix:/run/puma.sock", false),
        ] {
            let found = of(text).unwrap();
            assert_eq!((found.at.to_string().as_str(), found.tls), (at, tls));
        }
        let long = format!("unix:/{}", "a".repeat(MOST_PATH));
        for wrong in [
            "app:80",
            "ftp://app",
            "http://app/path",
            "http://app?x",
            "http://:80",
            "http://app:0",
            "http://",
            "unix:run/puma.sock",
            "unix://run/puma.sock",
            "unix:/run/",
            "unix:",
            &long,
        ] {
            assert!(of(wrong).is_err(), "{wrong}");
        }
        let problem = of("http://eva:secret@app").unwrap_err().to_string();
        assert!(!problem.contains("secret"), "{problem}");
    }

    #[test]
    fn shares_and_names_have_bounds() {
        assert_eq!(share(&asked("10%")).ok(), Some(0.1));
        assert_eq!(share(&asked("1")).ok(), Some(1.0));
        for wrong in ["0", "101%", "-1%", "NaN", "ten"] {
            assert!(share(&asked(wrong)).is_err(), "{wrong}");
        }
        assert!(name(&asked("new-1_a")).is_ok());
        for wrong in ["", "primary", "a b", "ä"] {
            assert!(name(&asked(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_header_that_is_set_is_not_shown() {
        for wrong in [
            "Authorization: secret\r\nX: y",
            "Content-Length: secret",
            "content_length: secret",
            "X_Powerband_Shadow: secret",
            "A B: secret",
        ] {
            let problem = set_header(&asked(wrong)).unwrap_err().to_string();
            assert!(!problem.contains("secret"), "{problem}");
        }
    }
}
