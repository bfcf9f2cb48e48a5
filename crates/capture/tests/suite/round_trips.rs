//! Ours -> another format -> read: what that format can hold is as it was.

use crate::support::{exchanges, field, plain};
use capture::{Exchange, Export, Exporter, Recorded, Traffic, read};
use proptest::prelude::*;

const BEGAN_NS: u64 = 1_795_265_158_000_000_000;

fn exported(to: Export, exchanges: &[Exchange]) -> (Vec<u8>, u64, u64) {
    let mut exporter = Exporter::new(to, Vec::new(), BEGAN_NS).unwrap();
    for exchange in exchanges {
        exporter.put(exchange).unwrap();
    }
    let (bytes, written, skipped) = exporter.finish().unwrap();
    (bytes, written, skipped.count)
}

fn again(to: Export, exchanges: &[Exchange]) -> Traffic {
    let (bytes, written, skipped) = exported(to, exchanges);
    assert_eq!((written, skipped), (exchanges.len() as u64, 0));
    let traffic = read(&bytes, None).unwrap();
    assert_eq!((traffic.format, traffic.skipped.count), (to.format(), 0));
    traffic
}

/// Sorted as every reader sorts.
fn sorted(exchanges: &[Exchange]) -> Vec<Exchange> {
    let mut sorted = exchanges.to_vec();
    sorted.sort_by_key(|exchange| exchange.at_ns);
    sorted
}

type Pieces = (u64, String, String, Vec<(String, String)>, Vec<u8>);

fn pieces(request: &Recorded) -> Pieces {
    let Recorded {
        at_ns,
        method,
        path,
        headers,
        body,
        ..
    } = request.clone();
    (at_ns, method, path, headers, body)
}

fn expected(exchanges: &[Exchange]) -> Vec<Pieces> {
    let exchanges = sorted(exchanges);
    let first = exchanges[0].at_ns;
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    exchanges
        .iter()
        .map(|e| {
            let headers = e.headers.iter().filter(|f| f.name != "Host");
            (
                e.at_ns - first,
                e.method.clone(),
                e.target.clone(),
                headers.map(|f| (f.name.clone(), text(&f.value))).collect(),
                e.body.clone(),
            )
        })
        .collect()
}

proptest! {
    #[test]
    fn gor_keeps_all_but_the_connection(exchanges in prop::collection::vec(exchanges(), 1..8)) {
        let traffic = again(Export::Gor, &exchanges);
        prop_assert_eq!(traffic.requests.iter().map(pieces).collect::<Vec<_>>(), expected(&exchanges));
        prop_assert!(traffic.requests.iter().all(|r| r.host.as_deref() == Some("shop.test")));
        prop_assert!(traffic.timed);
        prop_assert_eq!(traffic.began_ns, exchanges.iter().map(|e| BEGAN_NS + e.at_ns).min());
    }

    #[test]
    fn har_keeps_everything(exchanges in prop::collection::vec(exchanges(), 1..8)) {
        let traffic = again(Export::Har, &exchanges);
        prop_assert_eq!(traffic.requests.iter().map(pieces).collect::<Vec<_>>(), expected(&exchanges));
        let connections: Vec<_> = traffic.requests.iter().map(|r| r.connection).collect();
        let were: Vec<_> = sorted(&exchanges).iter().map(|e| Some(e.connection)).collect();
        prop_assert_eq!(connections, were);
    }

    #[test]
    fn vegeta_keeps_requests_and_their_order(exchanges in prop::collection::vec(exchanges(), 1..8)) {
        let traffic = again(Export::VegetaJson, &exchanges);
        prop_assert!(!traffic.timed);
        let mut were = expected(&exchanges);
        // In the file's order, at no instant, headers by name.
        let mut now: Vec<Pieces> = traffic.requests.iter().map(pieces).collect();
        for request in were.iter_mut().chain(&mut now) {
            request.0 = 0;
            request.3.sort();
        }
        let order = |all: &[Pieces]| { let mut all = all.to_vec(); all.sort(); all };
        prop_assert_eq!(order(&now), order(&were));
        let methods: Vec<_> = exchanges.iter().map(|e| e.method.clone()).collect();
        prop_assert_eq!(now.into_iter().map(|r| r.1).collect::<Vec<_>>(), methods);
    }

    #[test]
    fn h2load_keeps_instants_and_paths_of_gets(mut exchanges in prop::collection::vec(exchanges(), 1..8)) {
        exchanges[0].method = "GET".into();
        exchanges[0].body.clear();
        exchanges[0].body_bytes = 0;
        let gets: Vec<Exchange> = exchanges.iter().filter(|e| e.method == "GET" && e.body.is_empty()).cloned().collect();
        let (_, written, skipped) = exported(Export::H2load, &exchanges);
        prop_assert_eq!(written + skipped, exchanges.len() as u64);
        let traffic = again(Export::H2load, &gets);
        let now: Vec<_> = traffic.requests.iter().map(|r| (r.at_ns, r.path.clone())).collect();
        let were: Vec<_> = expected(&gets).into_iter().map(|r| (r.0, r.2)).collect();
        prop_assert_eq!(now, were);
    }

    /// A recording in another format, as a capture: nothing of it is lost.
    #[test]
    fn into_a_capture_and_back(exchanges in prop::collection::vec(exchanges(), 1..8)) {
        let traffic = again(Export::Har, &exchanges);
        let ours: Vec<Exchange> = traffic.clone().into_exchanges().collect();
        let then = again(Export::Har, &ours);
        // Requests of one instant are spread over the step of the format's clock.
        for (was, now) in traffic.requests.iter().zip(&then.requests) {
            prop_assert_eq!(pieces(was).2, pieces(now).2);
            prop_assert_eq!(pieces(was).4, pieces(now).4);
            prop_assert_eq!(was.connection, now.connection);
        }
        prop_assert_eq!(traffic.requests.len(), then.requests.len());
    }
}

#[test]
fn what_a_format_cannot_hold_is_skipped_and_told() {
    let mut cut = plain(1);
    cut.body_bytes = 7;
    let mut split = plain(2);
    split.headers.push(field("X-Bad", "a\r\nb"));
    let mut monkeys = plain(3);
    monkeys.method = "POST".into();
    monkeys.body = "a\n🐵🙈🙉\n1 00000000000000000000 1 0\nGET /forged HTTP/1.1\r\n\r\n".into();
    monkeys.body_bytes = monkeys.body.len() as u64;
    let mut latin = plain(4);
    latin.headers[1].value = b"caf\xe9".to_vec();
    let all = [cut, split, monkeys, latin, plain(5)];
    for (to, whole) in [
        (Export::Gor, 2),
        (Export::Har, 2),
        (Export::VegetaJson, 2),
        (Export::H2load, 2),
    ] {
        let (bytes, written, skipped) = exported(to, &all);
        assert_eq!((written, skipped), (whole, 5 - whole), "{to}");
        assert!(
            !String::from_utf8_lossy(&bytes).contains("GET /forged HTTP/1.1\r\n"),
            "{to}"
        );
    }
}
