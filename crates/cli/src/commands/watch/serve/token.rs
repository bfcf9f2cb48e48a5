//! The secret of an address: it gives access to the page. It is printed once, with the page's address, and nowhere else.

use crate::Failure;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

/// Too many to be guessed.
const BYTES: usize = 16;

/// A secret.
pub struct Token {
    text: String,
    /// Of this process alone.
    key: hmac::Key,
}

impl Token {
    /// A new one.
    pub fn random() -> Result<Token, Failure> {
        let (random, mut bytes) = (SystemRandom::new(), [0; BYTES]);
        let key = hmac::Key::generate(hmac::HMAC_SHA256, &random);
        let filled = random.fill(&mut bytes).and(key);
        let key = filled.map_err(|_| {
            Failure::no_answer("the system gives no random numbers for a token; serve on loopback")
        })?;
        let text = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Token { text, key })
    }

    /// For the page's address.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether a text is the secret. How long that takes does not depend on how much of it is right: digests under a random
    /// key are compared, in constant time.
    pub fn is(&self, given: &str) -> bool {
        let tag = hmac::sign(&self.key, self.text.as_bytes());
        hmac::verify(&self.key, given.as_bytes(), tag.as_ref()).is_ok()
    }
}

/// Without the secret.
impl std::fmt::Debug for Token {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_token_is_it() {
        let token = Token::random().unwrap();
        assert_eq!(token.text().len(), 32);
        assert!(token.is(token.text()));
        for wrong in ["", &token.text()[1..], &token.text().to_uppercase(), "0"] {
            assert!(wrong == token.text() || !token.is(wrong), "{wrong}");
        }
        assert!(!token.is(Token::random().unwrap().text()));
        assert_eq!(format!("{token:?}"), "Token");
    }
}
