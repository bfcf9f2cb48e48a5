//! Values for this crate's unit tests.

use std::time::{Duration, Instant};

use crate::settings::{
    Client, Destination, Filter, Limits, Listen, ListenAt, Sample, Settings, Shadow, Upstream,
};
use crate::taken::{Admission, Taken};

/// Gets everything.
pub(crate) fn shadow(name: &str, port: u16) -> Shadow {
    Shadow {
        name: name.into(),
        upstream: Upstream {
            at: Destination::Tcp {
                host: "127.0.0.1".into(),
                port,
            },
            tls: false,
            ca: None,
        },
        twin: false,
        sample: Sample::Requests(1.0),
        filter: Filter::default(),
        copies: 1,
        deadline: Duration::from_secs(30),
        queue: 10,
        connections: 4,
        keep_alive: true,
        rewrite: Vec::new(),
        cookie_jar: false,
        tokens: Vec::new(),
    }
}

/// Whole, wanted by no shadow.
pub(crate) fn taken(
    id: u64,
    method: &str,
    target: &str,
    headers: &[(&str, &str)],
    body: &[u8],
) -> Taken {
    let headers = headers
        .iter()
        .map(|(name, value)| (*name, value.as_bytes()));
    Taken {
        id,
        at: Instant::now(),
        connection: 1,
        sequence: 1,
        method: method.into(),
        target: target.into(),
        headers: headers.collect(),
        body: body.to_vec().into(),
        body_bytes: body.len() as u64,
        admission: Admission::nobody(),
    }
}

/// Of these shadows.
pub(crate) fn settings(shadows: Vec<Shadow>) -> Settings {
    let long = Duration::from_secs(30);
    Settings {
        listen: Listen {
            at: ListenAt::Tcp {
                address: ([127, 0, 0, 1], 0).into(),
                reuse_port: false,
            },
            tls: None,
            proxy_protocol: false,
        },
        primaries: Vec::new(),
        shadows,
        client: Client {
            forwarded: crate::http1::Forwarding::Off,
            head_timeout: long,
            idle_timeout: long,
            head_bytes: 1 << 16,
            head_fields: 100,
            strictness: Default::default(),
            connections: 100,
            drain: long,
        },
        limits: Limits {
            bytes: 1 << 20,
            body_bytes: 1 << 16,
            compared_bytes: 1 << 16,
        },
    }
}
