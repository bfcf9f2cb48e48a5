//! Connections: the firewall's table, ports, and the queues before `accept`.

use super::per_cent;
use crate::check::{Known, Outcome, Severity};
use crate::serving::ServingFacts;

/// As the usual alert on Prometheus' node exporter has it.
const CONNTRACK_LIMIT: f64 = 0.75;
/// Of the ports that connections to elsewhere can have.
const TIME_WAIT_LIMIT: f64 = 0.5;
/// What Puma asks `listen` for, and what the kernel cuts down without a word.
const BACKLOG: u64 = 1024;

pub(super) fn conntrack(facts: &ServingFacts) -> Outcome {
    Outcome::of(&facts.conntrack, |tracked| {
        let evidence = format!(
            "{} of {} connections are tracked ({})",
            tracked.used,
            tracked.most,
            per_cent(tracked.share())
        );
        if tracked.share() <= CONNTRACK_LIMIT {
            return Outcome::Fine(evidence);
        }
        Outcome::found(
            Severity::HarmsServer,
            "the firewall's table of connections is nearly full",
            evidence,
            "When it is full the kernel drops new connections without an answer: clients see timeouts, and the server \
             sees nothing.",
            "raise net.netfilter.nf_conntrack_max, or keep connections open instead of making new ones",
        )
    })
}

pub(super) fn ports(facts: &ServingFacts) -> Outcome {
    let both = facts.port_range.clone().and_then(|range| {
        let time_wait = facts.time_wait.clone()?;
        Ok((range, time_wait))
    });
    Outcome::of(&both, |&((first, last), time_wait)| {
        let ports = u64::from(last - first) + 1;
        let evidence = format!(
            "closed connections to one address still hold {time_wait} of {ports} ports ({first} to {last})"
        );
        if time_wait as f64 <= ports as f64 * TIME_WAIT_LIMIT {
            return Outcome::Fine(evidence);
        }
        Outcome::found(
            Severity::HarmsServer,
            "ports for new connections run out",
            evidence,
            "A closed connection keeps its port for a minute. When all ports towards one address are held, connections \
             to the database, to an upstream, or from a load generator fail.",
            "keep connections open (keep-alive, connection pools), or widen net.ipv4.ip_local_port_range",
        )
    })
}

pub(super) fn listen_backlog(facts: &ServingFacts) -> Outcome {
    below_backlog(
        &facts.somaxconn,
        "net.core.somaxconn",
        Severity::HarmsServer,
        "the queue of connections that wait to be accepted is short",
        "The kernel cuts the server's backlog (Puma asks for 1024) to this length. In a burst, connections beyond it are \
         dropped, and clients try again after a second or more.",
    )
}

pub(super) fn syn_backlog(facts: &ServingFacts) -> Outcome {
    // With cookies nothing is lost but a few options of the connection.
    let severity = match facts.syn_cookies {
        Ok(false) => Severity::HarmsServer,
        Ok(true) | Err(_) => Severity::Note,
    };
    below_backlog(
        &facts.syn_backlog,
        "net.ipv4.tcp_max_syn_backlog",
        severity,
        "the list of half-open connections is short",
        "Connections that begin together beyond it are dropped, or answered with SYN cookies where these are on \
         (net.ipv4.tcp_syncookies).",
    )
}

fn below_backlog(
    fact: &Known<u64>,
    name: &str,
    severity: Severity,
    what: &str,
    why: &str,
) -> Outcome {
    Outcome::of(fact, |&length| {
        let evidence = format!("{name} is {length}");
        if length >= BACKLOG {
            return Outcome::Fine(evidence);
        }
        let evidence = format!("{evidence}, below {BACKLOG}");
        Outcome::found(
            severity,
            what,
            evidence,
            why,
            format!("sysctl -w {name}={BACKLOG} or more"),
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::{found, serving};
    use crate::serving::Filled;

    #[test]
    fn a_table_is_nearly_full_beyond_three_quarters() {
        let with = |used| ServingFacts {
            conntrack: Ok(Filled { used, most: 1000 }),
            ..serving()
        };
        assert!(matches!(conntrack(&with(750)), Outcome::Fine(_)));
        assert!(
            found(conntrack(&with(751)))
                .evidence
                .contains("751 of 1000")
        );
        let hidden = ServingFacts {
            conntrack: Err("there is no file".to_owned()),
            ..serving()
        };
        assert_eq!(
            conntrack(&hidden),
            Outcome::NotKnown("there is no file".to_owned())
        );
    }

    #[test]
    fn ports_run_out_beyond_half_of_them() {
        let with = |time_wait| ServingFacts {
            port_range: Ok((10_001, 11_000)),
            time_wait: Ok(time_wait),
            ..serving()
        };
        assert!(matches!(ports(&with(500)), Outcome::Fine(_)));
        assert!(
            found(ports(&with(501)))
                .evidence
                .contains("still hold 501 of 1000 ports")
        );
        let all = ServingFacts {
            port_range: Ok((0, u16::MAX)),
            ..serving()
        };
        assert!(matches!(ports(&all), Outcome::Fine(_)));
    }

    #[test]
    fn short_queues_are_told_with_what_they_do() {
        let with = |somaxconn| ServingFacts {
            somaxconn: Ok(somaxconn),
            ..serving()
        };
        assert!(matches!(listen_backlog(&with(1024)), Outcome::Fine(_)));
        assert_eq!(
            found(listen_backlog(&with(128))).severity,
            Severity::HarmsServer
        );
        let with = |cookies| ServingFacts {
            syn_backlog: Ok(256),
            syn_cookies: Ok(cookies),
            ..serving()
        };
        assert_eq!(found(syn_backlog(&with(true))).severity, Severity::Note);
        assert_eq!(
            found(syn_backlog(&with(false))).severity,
            Severity::HarmsServer
        );
    }
}
