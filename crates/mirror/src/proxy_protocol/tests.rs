//! Headers, cases and properties.

use proptest::prelude::*;

use super::*;

type Read = Result<Option<Ends>, Malformed>;

fn ends(client: &str, server: &str) -> Ends {
    Ends::new(client.parse().unwrap(), server.parse().unwrap())
}

fn v2(command: u8, family: u8, block: &[u8]) -> Vec<u8> {
    let length = (block.len() as u16).to_be_bytes();
    [BEGINNING_V2, &[command, family], &length, block].concat()
}

const V4: [u8; 12] = [192, 0, 2, 1, 198, 51, 100, 2, 0x1f, 0x90, 0, 80];

#[test]
fn headers_of_version_1() {
    let four = ends("192.0.2.1:8080", "198.51.100.2:80");
    let six = ends("[2001:db8::1]:1", "[::1]:65535");
    let cases: [(&str, Read); 24] = [
        ("TCP4 192.0.2.1 198.51.100.2 8080 80\r\n", Ok(Some(four))),
        ("TCP6 2001:db8::1 ::1 1 65535\r\n", Ok(Some(six))),
        (
            "TCP6 ::ffff:192.0.2.1 ::ffff:198.51.100.2 8080 80\r\n",
            Ok(Some(four)),
        ),
        (
            "TCP4 192.0.2.1 198.51.100.2 0 0\r\n",
            Ok(Some(ends("192.0.2.1:0", "198.51.100.2:0"))),
        ),
        ("UNKNOWN\r\n", Ok(None)),
        ("UNKNOWN ff:: what ever 1 2 3\r\n", Ok(None)),
        (
            "UNKNOWN\n",
            Err(Malformed::Part("its line does not end with CR LF")),
        ),
        (
            "UNKNOWN\0\r\n",
            Err(Malformed::Part("a byte that is no text")),
        ),
        (
            "UNKNOWN a\rb\r\n",
            Err(Malformed::Part("a byte that is no text")),
        ),
        (
            "UDP4 1.1.1.1 1.1.1.1 1 1\r\n",
            Err(Malformed::Part(
                "a protocol other than TCP4, TCP6 and UNKNOWN",
            )),
        ),
        (
            "tcp4 1.1.1.1 1.1.1.1 1 1\r\n",
            Err(Malformed::Part(
                "a protocol other than TCP4, TCP6 and UNKNOWN",
            )),
        ),
        (
            " TCP4 1.1.1.1 1.1.1.1 1 1\r\n",
            Err(Malformed::Part(
                "a protocol other than TCP4, TCP6 and UNKNOWN",
            )),
        ),
        (
            "\r\n",
            Err(Malformed::Part(
                "a protocol other than TCP4, TCP6 and UNKNOWN",
            )),
        ),
        (
            "TCP4 1.1.1.1 1.1.1.1 1\r\n",
            Err(Malformed::Part("not two addresses and two ports")),
        ),
        (
            "TCP4 1.1.1.1 1.1.1.1 1 1 \r\n",
            Err(Malformed::Part("not two addresses and two ports")),
        ),
        (
            "TCP4  1.1.1.1 1.1.1.1 1 1\r\n",
            Err(Malformed::Part("not two addresses and two ports")),
        ),
        (
            "TCP4 1.1.1.1 ::1 1 1\r\n",
            Err(Malformed::Part(
                "an address that is not one of its protocol",
            )),
        ),
        (
            "TCP6 1.1.1.1 ::1 1 1\r\n",
            Err(Malformed::Part(
                "an address that is not one of its protocol",
            )),
        ),
        (
            "TCP4 01.1.1.1 1.1.1.1 1 1\r\n",
            Err(Malformed::Part(
                "an address that is not one of its protocol",
            )),
        ),
        (
            "TCP6 fe80::1%lo ::1 1 1\r\n",
            Err(Malformed::Part(
                "an address that is not one of its protocol",
            )),
        ),
        (
            "TCP4 1.1.1.1 1.1.1.1 65536 1\r\n",
            Err(Malformed::Part("a port that is not 0 to 65535")),
        ),
        (
            "TCP4 1.1.1.1 1.1.1.1 +1 1\r\n",
            Err(Malformed::Part("a port that is not 0 to 65535")),
        ),
        (
            "TCP4 1.1.1.1 1.1.1.1 1 01\r\n",
            Err(Malformed::Part("a port that is not 0 to 65535")),
        ),
        (
            "TCP4 1.1.1.1 1.1.1.1 1 -1\r\n",
            Err(Malformed::Part("a port that is not 0 to 65535")),
        ),
    ];
    for (rest, expected) in cases {
        let line = format!("PROXY {rest}");
        let length = line.len();
        let expected = expected.map(|ends| Some(Header { length, ends }));
        assert_eq!(read(line.as_bytes()), expected, "{line:?}");
    }
    let longest = |bytes: usize| format!("PROXY UNKNOWN {}\r\n", "x".repeat(bytes - 16));
    let header = Header {
        length: MOST_V1,
        ends: None,
    };
    assert_eq!(read(longest(MOST_V1).as_bytes()), Ok(Some(header)));
    assert_eq!(
        read(longest(MOST_V1 + 1).as_bytes()),
        Err(Malformed::TooLong(MOST_V1))
    );
}

#[test]
fn headers_of_version_2() {
    let four = ends("192.0.2.1:8080", "198.51.100.2:80");
    let six = ends("[2001:db8::1]:8080", "[::1]:80");
    let mut block = Vec::new();
    for address in ["2001:db8::1", "::1"] {
        block.extend(address.parse::<Ipv6Addr>().unwrap().octets());
    }
    block.extend([0x1f, 0x90, 0, 80]);
    // An extension of type 4 (NOOP), three bytes long.
    let extended = [&V4[..], &[4, 0, 3, 1, 2, 3]].concat();
    let short = Err(Malformed::Part("fewer bytes than its addresses have"));
    let family = Err(Malformed::Part("an unknown address family or transport"));
    let command = Err(Malformed::Part(
        "a version other than 2, or an unknown command",
    ));
    let most = MOST - FIXED_V2;
    let cases: [(Vec<u8>, Read); 20] = [
        (v2(0x21, 0x11, &V4), Ok(Some(four))),
        (v2(0x21, 0x11, &extended), Ok(Some(four))),
        (v2(0x21, 0x21, &block), Ok(Some(six))),
        (v2(0x20, 0x11, &V4), Ok(None)),
        (v2(0x20, 0x00, &[]), Ok(None)),
        (v2(0x20, 0xff, &[1, 2, 3]), Ok(None)),
        (v2(0x21, 0x00, &[]), Ok(None)),
        (v2(0x21, 0x00, &extended), Ok(None)),
        (v2(0x21, 0x12, &V4), Ok(None)),
        (v2(0x21, 0x22, &block), Ok(None)),
        (v2(0x21, 0x31, &[b'/'; 216]), Ok(None)),
        (v2(0x21, 0x00, &vec![0; most]), Ok(None)),
        (
            v2(0x21, 0x00, &vec![0; most + 1]),
            Err(Malformed::TooLong(MOST)),
        ),
        (v2(0x21, 0x11, &V4[..11]), short),
        (v2(0x21, 0x21, &block[..35]), short),
        (v2(0x21, 0x31, &[0; 215]), short),
        (v2(0x21, 0x13, &V4), family),
        (v2(0x21, 0x41, &V4), family),
        (v2(0x22, 0x11, &V4), command),
        (v2(0x11, 0x11, &V4), command),
    ];
    for (bytes, expected) in cases {
        let length = bytes.len();
        let expected = expected.map(|ends| Some(Header { length, ends }));
        assert_eq!(read(&bytes), expected, "{bytes:?}");
    }
}

#[test]
fn what_begins_otherwise_is_no_header() {
    for bytes in [
        "GET / HTTP/1.1\r\n",
        "PROXI",
        "proxy ",
        "PROXY\r",
        "\r\nGET",
        "\x16\x03\x01",
        "\r\n\r\n\0\r\nQUIX",
    ] {
        assert_eq!(read(bytes.as_bytes()), Err(Malformed::Missing), "{bytes:?}");
    }
    assert_eq!(read(b""), Ok(None));
}

#[test]
fn addresses_of_two_families_are_written_in_one() {
    let mixed = ends("192.0.2.1:1", "[2001:db8::1]:2");
    let line = write(Version::V1, Some(&mixed));
    assert_eq!(line, b"PROXY TCP6 ::ffff:192.0.2.1 2001:db8::1 1 2\r\n");
    let mapped = ends("[::ffff:192.0.2.1]:1", "[::ffff:192.0.2.2]:2");
    let line = write(Version::V1, Some(&mapped));
    assert_eq!(line, b"PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n");
}

/// As a reader finds it that gets more and more of the bytes.
fn gradually(bytes: &[u8]) -> Result<Option<Header>, Malformed> {
    (0..=bytes.len())
        .map(|count| read(&bytes[..count]))
        .find(|read| *read != Ok(None))
        .unwrap_or(Ok(None))
}

fn any_ends() -> impl Strategy<Value = Ends> {
    let end = || any::<(IpAddr, u16)>().prop_map(SocketAddr::from);
    (end(), end()).prop_map(|(client, server)| Ends::new(client, server))
}

proptest! {
    #[test]
    fn what_is_written_is_read_wherever_it_is_cut(ends in any_ends(), one in any::<bool>(), after in prop::collection::vec(any::<u8>(), 0..40)) {
        let version = if one { Version::V1 } else { Version::V2 };
        let header = write(version, Some(&ends));
        let all = [&header[..], &after].concat();
        for cut in 0..header.len() {
            prop_assert_eq!(read(&all[..cut]), Ok(None));
        }
        let expected = Ok(Some(Header { length: header.len(), ends: Some(ends) }));
        prop_assert_eq!(read(&header), expected);
        prop_assert_eq!(read(&all), expected);
    }

    #[test]
    fn where_bytes_are_cut_never_matters(bytes in prop_oneof![
        prop::collection::vec(any::<u8>(), 0..64),
        "PROXY (TCP4|TCP6|UNKNOWN|X)( [0-9a-f.:]{0,9}){0,5} ?\r?\n.{0,9}".prop_map(String::into_bytes),
        (0x1f_u8..0x23, prop::sample::select(vec![0, 0x11, 0x12, 0x21, 0x31, 0x41]), 0_u16..300, prop::collection::vec(any::<u8>(), 0..300))
            .prop_map(|(command, family, length, block)| [BEGINNING_V2, &[command, family], &length.to_be_bytes(), &block].concat()),
    ]) {
        let whole = read(&bytes);
        prop_assert_eq!(gradually(&bytes), whole);
        if let Ok(Some(header)) = whole {
            prop_assert!(header.length <= bytes.len().min(MOST));
            prop_assert_eq!(read(&bytes[..header.length]), whole);
        }
    }
}
