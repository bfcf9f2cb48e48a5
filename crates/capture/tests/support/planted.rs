//! Requests with a secret planted where its name marks it as one, or where no parser can read it. Every choice comes
//! from a caller, so that a generator of random numbers and a fuzzer can make them.

use capture::{Exchange, Field};

/// Not to be found in anything by chance, and changed by no encoding.
pub const SECRET: &str = "5ecReT0fAl1s3cRets";

/// What decides: a number below the given one.
pub struct Choices<'a>(pub &'a mut dyn FnMut(usize) -> usize);

#[rustfmt::skip]
const NAMES: [&str; 62] = [
    "password", "passwd", "password_confirmation", "user_pwd", "pwd", "pass", "passphrase", "passcode",
    "security_code", "otp", "otp_attempt", "totp", "saml_response", "code", "auth_code", "verification_code",
    "ticket", "session", "session_id", "sid", "iban", "account_number", "account_no", "routing_number",
    "encryption_key", "stripe_key", "my_key", "api_key", "access_key", "private_key", "key", "secret",
    "client_secret", "token", "access_token", "authenticity_token", "csrf", "jwt", "email", "salt",
    "password_salt", "crypt", "encrypted_name", "certificate", "ssn", "user_ssn", "cvv", "cvc", "card",
    "card_number", "credit_card", "pin", "signature", "sig", "hmac", "credential", "auth", "authorization",
    "nonce", "assertion", "bearer", "configured",
];
const HEADERS: [&str; 24] = [
    "Authorization",
    "Proxy-Authorization",
    "X-Api-Key",
    "X-Session-Id",
    "X-Auth-Key",
    "Ocp-Apim-Subscription-Key",
    "X-Functions-Key",
    "X-GitHub-OTP",
    "X-CSRF-Token",
    "X-Auth-Token",
    "X-Amz-Security-Token",
    "X-Hub-Signature-256",
    "X-Forwarded-Client-Cert",
    "X-Shopify-Hmac-Sha256",
    "Cf-Access-Jwt-Assertion",
    "X-Forwarded-Email",
    "X-Vault-Token",
    "Apikey",
    "X-Session",
    "X-Secret",
    "X-Pass",
    "X-Auth",
    "Sec-WebSocket-Protocol",
    "X-Configured",
];
const OTHER_HEADERS: [&str; 10] = [
    "Referer",
    "Location",
    "X-Original-URL",
    "X-Forwarded-Uri",
    "Link",
    "User-Agent",
    "Origin",
    "X-Anything",
    "Destination",
    "Content-Location",
];
const TYPES: [&str; 17] = [
    "",
    "application/x-www-form-urlencoded",
    "application/x-www-form-urlencoded; charset=utf-8",
    "application/json",
    "application/vnd.api+json",
    "text/json",
    "multipart/form-data; boundary=b",
    "multipart/form-data",
    "multipart/mixed; boundary=b",
    "text/xml",
    "application/soap+xml",
    "text/plain",
    "application/octet-stream",
    "image/png",
    "application/pdf",
    "application/graphql",
    "nonsense",
];
const BEFORE: [&str; 14] = [
    "", "", "", "abc;", "abc&", "a=b;", "x ", "\"", "'", "<", "abc,", "a?b=", "a#", "\\",
];
const AFTER: [&str; 10] = ["", "", "", ";d", ";a=b", " y", "\"", ">", "%", "=="];

impl Choices<'_> {
    fn below(&mut self, bound: usize) -> usize {
        (self.0)(bound) % bound
    }

    fn one_in(&mut self, bound: usize) -> bool {
        self.below(bound) == 0
    }

    fn of<T: Copy>(&mut self, all: &[T]) -> T {
        all[self.below(all.len())]
    }

    /// A name in one of the notations, alone or inside another one.
    fn name(&mut self) -> String {
        let name = self.of(&NAMES);
        let name = match self.below(7) {
            0 => name.to_uppercase(),
            1 => name.replace('_', "-"),
            2 => camel(name, false),
            3 => camel(name, true),
            4 => {
                let bits = self.below(1 << 16);
                let flipped = |(index, c): (usize, char)| match bits >> (index % 16) & 1 {
                    1 => c.to_ascii_uppercase(),
                    _ => c,
                };
                name.chars().enumerate().map(flipped).collect()
            }
            _ => name.to_owned(),
        };
        match self.below(7) {
            0 => format!("user[{name}]"),
            1 => format!("{name}[]"),
            2 => format!("a[][{name}][0]"),
            3 => format!("a.{name}"),
            _ => name,
        }
    }

    /// The same as it stands in a query or a form.
    fn encoded_name(&mut self) -> String {
        let name = self.name();
        match self.below(5) {
            0 => every_byte(&name),
            1 => every_byte(&every_byte(&name)),
            2 => encoded(&name),
            3 => {
                let at = self.below(name.len());
                format!(
                    "{}{}{}",
                    &name[..at],
                    every_byte(&name[at..=at]),
                    &name[at + 1..]
                )
            }
            _ => name,
        }
    }

    fn value(&mut self) -> String {
        format!("{}{SECRET}{}", self.of(&BEFORE), self.of(&AFTER))
    }

    /// `name=value` with what is left as it is and what is encoded, as careless clients have it.
    fn pair(&mut self) -> String {
        let name = self.encoded_name();
        let value = if self.one_in(3) {
            // Not a quote, a space or the like: a request line or a form cannot hold them.
            let before = self.of(&["abc;", "", "abc;d;", "a;b=", "a=b=", "?a=", "#", "x&"]);
            // After an `&`, this would be a pair with the secret for its name.
            let after = ["", ";d", ";a=b", "=="];
            let after = self.of(&after[..if before.ends_with('&') { 3 } else { 4 }]);
            format!("{before}{SECRET}{after}")
        } else {
            encoded(&self.value())
        };
        format!("{name}={value}")
    }

    fn pairs(&mut self) -> String {
        let secret = match self.below(3) {
            0 => {
                let inner = self.notation();
                let mut inner = encoded(&inner);
                for _ in 0..self.below(3) {
                    inner = encoded(&inner);
                }
                format!("{}={inner}", self.of(&["back", "data", "a%5Bb%5D"]))
            }
            _ => self.pair(),
        };
        let separator = self.of(&["&", "&", ";"]);
        match self.below(4) {
            0 => secret,
            1 => format!("page=2{separator}{secret}"),
            2 => format!("{secret}&page=2"),
            _ => format!("q=a+b&{secret}&page=2&flag"),
        }
    }

    /// A secret in text of some notation.
    fn notation(&mut self) -> String {
        let name = self.name();
        match self.below(9) {
            0 => format!("https://shop.test/a?{}", self.pair()),
            1 => format!("https://me:{SECRET}@shop.test/a"),
            2 => format!("/a?x=1&{name}={SECRET}"),
            3 => format!("{{\"{name}\":\"{SECRET}\"}}"),
            4 => format!("[{{\"name\":\"{name}\",\"value\":\"{SECRET}\"}}]"),
            5 => format!("<a><{0}>{SECRET}</{0}></a>", xml_name(&name)),
            6 => format!("<field name=\"{name}\">{SECRET}</field>"),
            7 => format!(
                "mutation {{ login(a: 1, {}: \"{SECRET}\") {{ id }} }}",
                xml_name(&name)
            ),
            _ => format!("{name}={SECRET}"),
        }
    }

    fn target(&mut self) -> String {
        match self.below(9) {
            0 => format!("http://me:{SECRET}@shop.test/a"),
            1 => format!("/go/https://me:{SECRET}@shop.test/a?b=1"),
            2 => format!(
                "/go/{}",
                encoded(&format!("https://me:{SECRET}@shop.test/"))
            ),
            3 => format!("me:{SECRET}@shop.test:443"),
            4 => format!("/a;{}={SECRET}/b", self.encoded_name()),
            5 => format!("/a/{}={SECRET}", self.encoded_name()),
            6 => format!("/a#{}={SECRET}", self.encoded_name()),
            _ => format!("/a?{}", self.pairs()),
        }
    }

    fn header(&mut self) -> Field {
        let other = self.of(&OTHER_HEADERS);
        match self.below(8) {
            0 | 1 => field(
                &case_of(self.of(&HEADERS), self.below(3)),
                &format!("{}{SECRET}", self.of(&["", "Basic ", "a="])),
            ),
            2 => field(other, &format!("https://shop.test/a?{}", self.pairs())),
            3 => field(other, &format!("https://me:{SECRET}@shop.test/a?b=1")),
            4 => field(other, &format!("/a#{}", self.pair())),
            5 => field(other, &self.notation()),
            6 => field(other, &format!("Bearer {SECRET}")),
            _ => field(
                other,
                &format!(
                    "<https://a.test/?a=b>; rel=x, <https://me:{SECRET}@b.test/?{}>",
                    self.pair()
                ),
            ),
        }
    }

    fn cookie(&mut self) -> Field {
        let name = self.of(&["Cookie", "cookie", "Set-Cookie"]);
        let value = match self.below(3) {
            0 => format!("a=b; _shop_session={SECRET}; c=d"),
            1 => format!("{SECRET}; a=b"),
            _ => format!("theme=\"x;{SECRET}\"; Path=/"),
        };
        field(name, &value)
    }

    fn body(&mut self) -> Vec<u8> {
        let name = self.name();
        match self.below(9) {
            0 | 1 => self.pairs().into_bytes(),
            2..=4 => self.json(&name).into_bytes(),
            5 => self.multipart(&name).into_bytes(),
            6 => self.xml(&name).into_bytes(),
            7 => match self.below(4) {
                0 => format!("a line with {SECRET}").into_bytes(),
                1 => format!("{name}: {SECRET}\r\nother: 1").into_bytes(),
                2 => {
                    format!("mutation {{ login({}: \"{SECRET}\") }}", xml_name(&name)).into_bytes()
                }
                _ => format!("{name} = {SECRET}").into_bytes(),
            },
            _ => {
                let mut bytes: Vec<u8> =
                    (0..self.below(40)).map(|_| self.below(256) as u8).collect();
                bytes.extend_from_slice(self.of(&[
                    &b"\0"[..],
                    b"\xff\xfe",
                    b"\x89PNG\r\n\x1a\n",
                    b"PK\x03\x04",
                ]));
                bytes.extend_from_slice(SECRET.as_bytes());
                bytes
            }
        }
    }

    fn json(&mut self, name: &str) -> String {
        let value = match self.below(4) {
            0 => format!("[{{\"deep\":\"{SECRET}\"}}]"),
            1 => format!("{{\"a\":[\"{SECRET}\",1]}}"),
            _ => serde_json::to_string(&self.value()).unwrap_or_default(),
        };
        let key = if self.one_in(4) {
            name.chars()
                .map(|c| format!("\\u{:04x}", c as u32))
                .collect()
        } else {
            name.to_owned()
        };
        let mut text = match self.below(6) {
            0 => format!(
                "{{\"{}\":\"{key}\",\"value\":{value}}}",
                self.of(&["name", "key", "field", "id"])
            ),
            1 => format!("[\"{key}\",{value}]"),
            2 => {
                let inner = self.notation();
                format!(
                    "{{\"a\":1,\"b\":{}}}",
                    serde_json::to_string(&inner).unwrap_or_default()
                )
            }
            _ => format!("{{\"a\":1, \"{key}\" : {value},\"b\":[2.50]}}"),
        };
        for _ in 0..self.below(4) {
            text = match self.below(3) {
                0 => format!("[null,{text},\"x\"]"),
                1 => format!(" {{\"user\" : {text} }}"),
                _ => format!(
                    "{{\"inner\":{}}}",
                    serde_json::to_string(&text).unwrap_or_default()
                ),
            };
        }
        if self.one_in(10) {
            text.pop();
        }
        text
    }

    fn multipart(&mut self, name: &str) -> String {
        let head = |rest: &str| format!("Content-Disposition: form-data; {rest}");
        let part = match self.below(6) {
            0 => format!(
                "{}\r\nContent-Type: application/json\r\n\r\n{}",
                head("name=\"meta\""),
                self.json(name)
            ),
            1 => format!(
                "{}\r\nContent-Type: text/plain\r\n\r\n{SECRET}",
                head("name=\"f\"; filename=\"a.txt\"")
            ),
            2 => format!("{}\r\n\r\n{SECRET}", head("name=\"f\"; filename=a")),
            3 => format!("{}\r\n\r\n{}", head("name=\"note\""), self.notation()),
            4 => format!(
                "{}\r\n{}: {SECRET}\r\n\r\n1",
                head("name=\"note\""),
                self.of(&HEADERS)
            ),
            _ => format!(
                "{}\r\n\r\n{}\r\nmore",
                head(&format!("name=\"{name}\"")),
                self.value()
            ),
        };
        let text = format!(
            "--b\r\n{}\r\n\r\n1\r\n--b\r\n{part}\r\n--b--\r\n",
            head("name=\"title\"")
        );
        match self.below(8) {
            0 => text.replace("\r\n", "\n"),
            1 => text.trim_end_matches("--\r\n").to_owned(),
            _ => text,
        }
    }

    fn xml(&mut self, name: &str) -> String {
        let name = xml_name(name);
        match self.below(4) {
            0 => format!("<?xml version=\"1.0\"?><a><{name}>x&amp;{SECRET}</{name}></a>"),
            1 => format!("<a b=\"c\" {name}=\"{SECRET}\"/>"),
            2 => format!("<s:Envelope><wsse:{name} Type=\"t\">{SECRET}</wsse:{name}></s:Envelope>"),
            _ => format!("\r\n <{name}><![CDATA[{SECRET}]]></{name}>"),
        }
    }

    /// A request with one to four secrets.
    pub fn exchange(&mut self) -> Exchange {
        let mut exchange = Exchange {
            id: 1,
            connection: 1,
            sequence: 1,
            method: self.of(&["GET", "POST", "PUT", "PATCH"]).into(),
            target: "/orders/17?page=2".into(),
            headers: vec![
                field("Host", "shop.test"),
                field("Accept", "text/html;q=0.9"),
            ],
            ..Exchange::default()
        };
        for _ in 0..=self.below(4) {
            match self.below(6) {
                0 => exchange.target = self.target(),
                1 | 2 => {
                    let header = self.header();
                    exchange.headers.push(header);
                }
                3 => {
                    let cookie = self.cookie();
                    exchange.headers.push(cookie);
                }
                _ if exchange.body.is_empty() => self.with_body(&mut exchange),
                _ => {}
            }
        }
        exchange
    }

    fn with_body(&mut self, exchange: &mut Exchange) {
        exchange.body = self.body();
        exchange.body_bytes = exchange.body.len() as u64 + u64::from(self.one_in(30));
        let content_type = self.of(&TYPES);
        if !content_type.is_empty() {
            exchange.headers.push(field("Content-Type", content_type));
        }
        if self.one_in(30) {
            exchange
                .headers
                .push(field("Content-Encoding", self.of(&["gzip", "identity"])));
        }
    }
}

fn field(name: &str, value: &str) -> Field {
    Field {
        name: name.into(),
        value: value.into(),
    }
}

fn camel(name: &str, first: bool) -> String {
    let mut upper = first;
    let mut out = String::new();
    for c in name.chars() {
        match c {
            '_' => upper = true,
            c if std::mem::take(&mut upper) => out.push(c.to_ascii_uppercase()),
            c => out.push(c),
        }
    }
    out
}

fn case_of(name: &str, choice: usize) -> String {
    match choice {
        0 => name.to_lowercase(),
        1 => name.to_uppercase(),
        _ => name.to_owned(),
    }
}

fn every_byte(text: &str) -> String {
    text.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

fn encoded(text: &str) -> String {
    form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

/// What XML and GraphQL allow in names.
fn xml_name(name: &str) -> String {
    name.replace(['[', ']'], ".")
        .trim_matches('.')
        .replace("..", ".")
}

/// Whether the secret stands in what is written.
pub fn holds(bytes: &[u8]) -> bool {
    memchr::memmem::find(bytes, SECRET.as_bytes()).is_some()
}
