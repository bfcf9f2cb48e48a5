//! This machine's TCP sockets over IPv4, as the kernel lists them.

pub const ESTABLISHED: &str = "01";
pub const TIME_WAIT: &str = "06";

/// How many sockets with this remote port, which are the clients', are in that state.
pub fn sockets_to(port: u16, state: &str) -> usize {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let remote = format!(":{port:04X}");
    sockets
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_whitespace().skip(2);
            Some((fields.next()?, fields.next()?))
        })
        .filter(|(address, its_state)| address.ends_with(&remote) && *its_state == state)
        .count()
}
