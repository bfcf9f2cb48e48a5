//! Where to listen, as a user writes it.

use experiment::config::{Asked, Problem};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

/// `127.0.0.1:8080`, `[::1]:8080`, or `:8080` on loopback.
pub fn address(asked: &Asked) -> Result<SocketAddr, Problem> {
    let text = asked.text.trim();
    if let Some(port) = text.strip_prefix(':').and_then(|port| port.parse().ok()) {
        return Ok(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port));
    }
    let text = match text.strip_prefix("localhost:") {
        Some(port) => format!("127.0.0.1:{port}"),
        None => text.to_owned(),
    };
    text.parse().map_err(|_| {
        Problem::of(
            asked,
            "no address",
            "give an IP address and a port, such as 127.0.0.1:8080, or :8080 for loopback",
        )
    })
}
