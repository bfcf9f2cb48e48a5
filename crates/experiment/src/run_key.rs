//! The secret key of one run, with which it keeps digests of values that may be secrets.
//!
//! A resumed run must be asked the same as before, environments and hooks included. The document has a digest of each, and
//! a document is passed on, so the digests are HMAC-SHA256 (RFC 2104, FIPS 180-4) under a random key that stays in the run
//! folder, outside the document: a guess cannot be tested without the key.

use crate::error::Stopped;
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};
use run::Folder;

/// Bytes of a key: those of the hash, as RFC 2104 advises.
const KEY_BYTES: usize = 32;
/// Bytes of a digest that are kept: enough that two values never share it.
const DIGEST_BYTES: usize = 16;

/// The key of one run.
pub struct RunKey(hmac::Key);

impl RunKey {
    /// A new random key, written into the folder.
    pub fn create(folder: &Folder) -> Result<RunKey, Stopped> {
        let mut bytes = [0; KEY_BYTES];
        SystemRandom::new().fill(&mut bytes).map_err(|_| {
            Stopped::NoAnswer("the system gives no random numbers for the run's key".to_owned())
        })?;
        folder.write_key(&bytes)?;
        Ok(RunKey::of(&bytes))
    }

    /// The key that the folder holds.
    pub fn read(folder: &Folder) -> Result<RunKey, Stopped> {
        Ok(RunKey::of(&folder.read_key()?))
    }

    fn of(bytes: &[u8]) -> RunKey {
        RunKey(hmac::Key::new(hmac::HMAC_SHA256, bytes))
    }

    /// 32 hexadecimal digits that stand for the text.
    pub fn digest(&self, text: &str) -> String {
        let tag = hmac::sign(&self.0, text.as_bytes());
        let kept = &tag.as_ref()[..DIGEST_BYTES];
        kept.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

/// Without the key.
impl std::fmt::Debug for RunKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("RunKey")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_digest_is_the_first_half_of_hmac_sha256() {
        // RFC 4231, test case 2.
        assert_eq!(
            RunKey::of(b"Jefe").digest("what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c7"
        );
    }

    #[test]
    fn every_run_has_a_key_of_its_own_that_only_the_owner_reads() {
        use std::os::unix::fs::PermissionsExt;
        let root = tempfile::tempdir().unwrap();
        let folder = |id| Folder::create(root.path(), id).unwrap();
        let (one, other) = (folder("one"), folder("other"));
        let key = RunKey::create(&one).unwrap();
        let digest = key.digest("hunter2");
        assert_eq!(RunKey::read(&one).unwrap().digest("hunter2"), digest);
        let of_other = RunKey::create(&other).unwrap().digest("hunter2");
        assert_ne!(of_other, digest);
        let mode = std::fs::metadata(one.path().join("key")).unwrap();
        assert_eq!(mode.permissions().mode() & 0o777, 0o600);
        std::fs::write(one.path().join("key"), b"short").unwrap();
        let refused = RunKey::read(&one).unwrap_err().to_string();
        assert!(refused.contains("key"), "{refused}");
    }
}
