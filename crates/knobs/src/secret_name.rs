//! Names of fields, headers, cookies and variables whose values are secrets. This is the only list: redaction of
//! recorded traffic, of answers that are compared, and of variables all use it. It includes what Rails 8 filters by
//! default.

/// Anywhere in a name of which only letters and digits are left: `passw` is in `user[password_confirmation]`.
const PARTS: [&str; 42] = [
    "accesscode",
    "accesskey",
    "accountnum",
    "acctnum",
    "activationcode",
    "apikey",
    "authcode",
    "authorization",
    "backupcode",
    "cardnum",
    "ccnum",
    "certificate",
    "clientcert",
    "confirmationcode",
    "credential",
    "creditcard",
    "crypt",
    "csrf",
    "cvc",
    "cvv",
    "email",
    "jwt",
    "passcode",
    "passkey",
    "passphrase",
    "passw",
    "privatekey",
    "pwd",
    "recoverycode",
    "recoveryphrase",
    "routingnum",
    "saml",
    "secret",
    "securitycode",
    "seedphrase",
    "sessid",
    "sessionid",
    "signature",
    "socialsecurity",
    "token",
    "verificationcode",
    "xsrf",
];

/// A word of the name.
const WORDS: [&str; 32] = [
    "2fa",
    "accountno",
    "assertion",
    "auth",
    "authentication",
    "bearer",
    "cardno",
    "cert",
    "cred",
    "creds",
    "dsn",
    "hmac",
    "hotp",
    "iban",
    "ibannumber",
    "key",
    "keys",
    "mfa",
    "mnemonic",
    "nonce",
    "oauth",
    "pass",
    "passport",
    "pem",
    "pfx",
    "pin",
    "puk",
    "sid",
    "sig",
    "tfa",
    "totp",
    "verifier",
];

/// The last word of the name: a `session_type` is none, nor is a `ticket_id`.
const LAST: [&str; 8] = [
    "card", "code", "codes", "cookie", "cookies", "sess", "session", "ticket",
];

/// At either end of a word: in the middle of one they are letters of another, as in `classname` and `footprint`.
const ENDS: [&str; 3] = ["otp", "salt", "ssn"];

/// Words that end in `key` or `pass` and mean something else.
const OTHER_WORDS: [&str; 12] = [
    "bypass",
    "compass",
    "donkey",
    "encompass",
    "hockey",
    "hotkey",
    "jockey",
    "monkey",
    "surpass",
    "trespass",
    "turkey",
    "whiskey",
];

/// Before `key`: columns and orders.
const PLAIN_KEYS: [&str; 7] = [
    "foreign",
    "group",
    "order",
    "partition",
    "primary",
    "public",
    "sort",
];

/// Words before `code` that make no secret.
const PLAIN_CODES: [&str; 38] = [
    "airport",
    "area",
    "bar",
    "category",
    "char",
    "city",
    "color",
    "colour",
    "country",
    "coupon",
    "course",
    "currency",
    "department",
    "dial",
    "discount",
    "error",
    "exit",
    "http",
    "iso",
    "item",
    "lang",
    "language",
    "locale",
    "post",
    "postal",
    "product",
    "promo",
    "province",
    "qr",
    "reason",
    "region",
    "response",
    "size",
    "sku",
    "state",
    "status",
    "tax",
    "zip",
];

/// Longer names are cut into words in memory of their own.
const SHORT: usize = 64;

/// Whether a value of this name is a secret: `user[password]`, `apiKey`, `SECURITY-CODE`. Words are separated by any
/// character that is neither letter nor digit, or by letter case.
#[must_use]
pub fn names_a_secret(name: &str) -> bool {
    // Every entry has a letter; times, ports and addresses have none.
    if name.is_ascii() && !name.bytes().any(|byte| byte.is_ascii_alphabetic()) {
        return false;
    }
    with_reduced(name, has_part)
        || has_secret_word(name.split(|c: char| !c.is_alphanumeric()))
        || (name.bytes().any(|byte| byte.is_ascii_uppercase())
            && has_secret_word(cased_words(name)))
}

/// Letters and digits alone, in lower case; without an allocation for the names that there usually are, because this
/// is asked for each header and field of each request.
pub fn with_reduced<T>(name: &str, then: impl FnOnce(&str) -> T) -> T {
    if name.len() > SHORT || !name.is_ascii() {
        let all = name.chars().filter(|c| c.is_alphanumeric());
        return then(&all.flat_map(char::to_lowercase).collect::<String>());
    }
    let mut kept = [0; SHORT];
    let mut length = 0;
    for byte in name.bytes().filter(u8::is_ascii_alphanumeric) {
        kept[length] = byte.to_ascii_lowercase();
        length += 1;
    }
    then(std::str::from_utf8(&kept[..length]).unwrap_or_default())
}

fn has_part(reduced: &str) -> bool {
    let bytes = reduced.as_bytes();
    (0..bytes.len()).any(|at| {
        // The first letter without a call, because nearly all entries end there.
        PARTS
            .iter()
            .map(|part| part.as_bytes())
            .any(|part| part[0] == bytes[at] && bytes[at..].starts_with(part))
    })
}

fn has_secret_word<'a>(words: impl Iterator<Item = &'a str>) -> bool {
    let mut words = words.filter(|word| !word.is_empty()).peekable();
    let mut before = String::new();
    while let Some(word) = words.next() {
        let word = word.to_lowercase();
        let is_last = words.peek().is_none();
        if is_secret_word(&word, &before, is_last) {
            return true;
        }
        before = word;
    }
    false
}

fn is_secret_word(word: &str, before: &str, is_last: bool) -> bool {
    // `password2`, `key1`.
    let base = word.trim_end_matches(|c: char| c.is_ascii_digit());
    let among = |list: &[&str]| list.contains(&base);
    match base {
        "key" | "keys" => return !PLAIN_KEYS.contains(&before),
        "code" | "codes" => return is_last && !PLAIN_CODES.contains(&before),
        "no" | "nr" => return matches!(before, "account" | "acct" | "card" | "cc" | "iban"),
        _ => {}
    }
    let is_key = |word: &str| {
        word.strip_suffix("key")
            .is_some_and(|before| !PLAIN_KEYS.contains(&before))
    };
    among(&WORDS)
        || WORDS.contains(&word)
        || (is_last && among(&LAST))
        || ENDS
            .iter()
            .any(|end| base.starts_with(end) || base.ends_with(end))
        || ((is_key(base) || base.ends_with("pass")) && !among(&OTHER_WORDS))
}

/// `userAPIKey` is of the words `user`, `API` and `Key`.
fn cased_words(name: &str) -> impl Iterator<Item = &str> {
    let bytes = name.as_bytes();
    let mut start = 0;
    let mut ends = (1..=bytes.len()).filter(move |at| {
        let Some(&byte) = bytes.get(*at) else {
            return true;
        };
        let last = bytes[at - 1];
        let next_is_lower = bytes.get(at + 1).is_some_and(u8::is_ascii_lowercase);
        let begins = byte.is_ascii_uppercase() && (!last.is_ascii_uppercase() || next_is_lower);
        begins || (byte.is_ascii() && !byte.is_ascii_alphanumeric())
    });
    std::iter::from_fn(move || {
        let end = ends.next()?;
        let word = name.get(start..end).unwrap_or_default();
        start = end;
        Some(word.trim_matches(|c: char| !c.is_alphanumeric()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_is_found() {
        for part in PARTS {
            assert!(
                has_part(part) && names_a_secret(&format!("x{part}x")),
                "{part}"
            );
        }
        for word in WORDS.iter().chain(&LAST).chain(&ENDS) {
            assert!(
                names_a_secret(word) && names_a_secret(&format!("my-{word}")),
                "{word}"
            );
            let capital = word[..1].to_uppercase() + &word[1..];
            assert!(
                names_a_secret(&format!("my{capital}")) || word.starts_with('2'),
                "{word}"
            );
        }
    }

    #[test]
    fn each_entry_has_a_letter() {
        for entry in PARTS.iter().chain(&WORDS).chain(&LAST).chain(&ENDS) {
            assert!(
                entry.bytes().any(|byte| byte.is_ascii_alphabetic()),
                "{entry}"
            );
        }
    }

    #[test]
    fn names_in_every_notation() {
        for name in [
            "password",
            "PASSWORD",
            "pAsSwOrD",
            "user[password]",
            "user[password_confirmation]",
            "passwd",
            "user_pwd",
            "USER_PWD",
            "dbPwd",
            "passcode",
            "security_code",
            "securityCode",
            "SECURITYCODE",
            "otp_attempt",
            "user[otp_attempt]",
            "SAMLResponse",
            "saml_request",
            "code",
            "auth_code",
            "ticket",
            "session",
            "_shop_session",
            "iban",
            "userIban",
            "account_number",
            "accountNo",
            "encryption_key",
            "encryptionKey",
            "encryptionkey",
            "stripe_key",
            "key",
            "clientSecret",
            "client-secret",
            "access_token",
            "authenticity_token",
            "Api-Key",
            "card[cvv]",
            "payment.card",
            "cards[][card]",
            " pin ",
            "pIn",
            "pin1",
            "email",
            "e-mail",
            "user_email_address",
            "salt",
            "password_salt",
            "ssn",
            "user_ssn",
            "ssnLast4",
            "X-Session-Id",
            "X-Auth-Key",
            "Ocp-Apim-Subscription-Key",
            "X-Functions-Key",
            "X-GitHub-OTP",
            "PHPSESSID",
            "JSESSIONID",
            "connect.sid",
            "SECRET_KEY_BASE",
            "PGPASS",
            "DB_PASS",
            "userAPIKey",
            "wsse:Password",
            "Schlüssel_key",
            "encrypted_name",
            "ssl_client_cert",
            "2fa",
        ] {
            assert!(names_a_secret(name), "{name}");
        }
    }

    #[test]
    fn ordinary_names_stay() {
        for name in [
            "",
            "page",
            "q",
            "cardboard",
            "pinned",
            "passenger",
            "spin",
            "compass",
            "zip_code",
            "postcode",
            "post_code",
            "countryCode",
            "country_code",
            "HTTPStatusCode",
            "sort_key",
            "sort",
            "primaryKey",
            "monkey",
            "keyword",
            "keyboard",
            "class_name",
            "classname",
            "footprint",
            "laptop",
            "author",
            "authors",
            "session_type",
            "ticket_id",
            "code_name",
            "decode",
            "encoding",
            "card_type",
            "shipping",
            "user[name]",
            "results_alt",
            "name",
            "id",
            "utf8",
            "commit",
            "state",
            "locale",
            "barcode",
            "discount_code",
            "account_notes",
            "possible",
            "passive",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }
}
