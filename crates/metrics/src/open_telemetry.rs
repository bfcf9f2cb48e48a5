//! The family that OpenTelemetry names for servers, with its labels: `http.server.request.duration` by route.

use exposition::{EXPONENTS, bound_ns};

use crate::family::{Durations, Family, Labels, Type, in_first, one, up_to, with};
use crate::row::{Edged, Row, UP_TO};

/// `http.server.request.duration` as Prometheus has it.
pub(crate) const NAME: &str = "http_server_request_duration_seconds";
const METHOD: &str = "http_request_method";
const ROUTE: &str = "http_route";

const METHODS: [&str; 9] = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
];

/// A label's name in OpenTelemetry.
pub(crate) fn attribute(label: &str) -> &str {
    match label {
        METHOD => "http.request.method",
        ROUTE => "http.route",
        ours => ours,
    }
}

/// Of these endpoints, as far as their processes count the edges.
pub(crate) fn family(endpoints: &[(&str, &Row)]) -> Family {
    let help =
        "Time of requests in the application by route, of processes that count 75 and 250 ms.";
    let mut family = Family::of_others(NAME, Type::Histogram, help);
    for (name, row) in endpoints {
        let Some(edged) = &row.edged else { continue };
        let durations = Durations {
            up_to: bounds(row, edged),
            count: in_first(&edged.wall, edged.wall.len()),
            sum_ns: edged.wall_ns,
        };
        if durations.count > 0 {
            family.durations(labels(name), durations);
        }
    }
    family
}

/// Of an endpoint's name: its method, where it begins with one, and the rest.
fn labels(name: &str) -> Labels {
    let (method, route) = name.split_once(' ').unwrap_or_default();
    let method = match method {
        // What the agent writes for a method that it has no number for.
        "OTHER" => "_OTHER",
        known if METHODS.contains(&known) => known,
        _ => return one(ROUTE, name),
    };
    with(&one(METHOD, method), ROUTE, route)
}

/// Each bound in nanoseconds, and how many requests there are up to it.
fn bounds(row: &Row, edged: &Edged) -> Vec<(u64, u64)> {
    let power = |exponent: u32| (bound_ns(exponent), up_to(&edged.wall, exponent));
    let mut bounds: Vec<_> = EXPONENTS.map(power).collect();
    for (edge_ns, counter) in flight::EDGES_NS.into_iter().zip(UP_TO) {
        let at = bounds.partition_point(|(bound, _)| *bound < edge_ns);
        // A reader may see a request in the one counter and not yet in the other: no bound has fewer than the one below it,
        // or more than the one above.
        let (below, above) = (bounds[at - 1].1, bounds[at].1);
        let counted = row.counter(counter).unwrap_or(0).clamp(below, above);
        bounds.insert(at, (edge_ns, counted));
    }
    bounds
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::row::COUNTERS;
    use flight::Histogram;

    #[test]
    fn a_name_has_a_method_or_is_a_route() {
        for (name, method, route) in [
            ("products#index", None, "products#index"),
            ("(other)", None, "(other)"),
            ("GET /orders/:id", Some("GET"), "/orders/:id"),
            ("GET (not found)", Some("GET"), "(not found)"),
            ("OTHER /", Some("_OTHER"), "/"),
            // Two of these would have the same labels, were it not for the name.
            ("LINK /orders", None, "LINK /orders"),
            ("GET", None, "GET"),
            ("GET  /", Some("GET"), " /"),
        ] {
            let method = method.map(|method: &str| (METHOD, method.to_owned()));
            let expected: Labels = method
                .into_iter()
                .chain([(ROUTE, route.to_owned())])
                .collect();
            assert_eq!(labels(name), expected);
        }
    }

    #[test]
    fn no_bound_has_fewer_than_the_one_below_it() {
        let of = |up_to: [u64; 2]| {
            let mut wall = [0; flight::BUCKETS];
            wall[Histogram::bucket_of(70_000_000)] = 2;
            wall[Histogram::bucket_of(300_000_000)] = 1;
            let edged = Edged { wall, wall_ns: 1 };
            let mut row = Row::default();
            for (name, value) in UP_TO.into_iter().zip(up_to) {
                let at = COUNTERS.iter().position(|(counter, _)| *counter == name);
                row.counters[at.unwrap()] = Some(value);
            }
            let bounds = bounds(&row, &edged);
            assert!(bounds.is_sorted_by_key(|(_, up_to)| *up_to));
            flight::EDGES_NS.map(|edge| bounds.iter().find(|(ns, _)| *ns == edge).unwrap().1)
        };
        assert_eq!(of([1, 2]), [1, 2]);
        assert_eq!(of([9, 0]), [2, 2]);
        assert_eq!(of([0, 9]), [0, 2]);
    }
}
