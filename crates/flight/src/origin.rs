//! Where a process ran, as headers of flight and of events files record it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::sync::OnceLock;

use crate::bytes::u64_at;

/// Where and until when a process number means something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Origin {
    /// The inode of `/proc/self/ns/pid`: containers have one each.
    pub pid_namespace: u64,
    /// `/proc/sys/kernel/random/boot_id`, which changes when the machine restarts.
    pub boot_id: [u8; 16],
}

impl Origin {
    /// `None` where a part of it is zero: it was not recorded.
    pub(crate) fn recorded(pid_namespace: u64, boot_id: [u8; 16]) -> Option<Self> {
        (pid_namespace != 0 && boot_id != [0; 16]).then_some(Self {
            pid_namespace,
            boot_id,
        })
    }

    /// From the 24 bytes at `offset` of a header.
    pub(crate) fn at(bytes: &[u8], offset: usize) -> Option<Self> {
        let boot_id = bytes.get(offset + 8..offset + 24)?;
        Self::recorded(u64_at(bytes, offset)?, boot_id.try_into().ok()?)
    }

    /// Of this process.
    pub(crate) fn here() -> Option<Self> {
        static HERE: OnceLock<Option<Origin>> = OnceLock::new();
        *HERE.get_or_init(|| {
            let namespace = fs::metadata("/proc/self/ns/pid").ok()?.ino();
            let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
            Self::recorded(namespace, boot_id(&text)?)
        })
    }
}

/// The bytes of a UUID.
pub(crate) fn boot_id(text: &str) -> Option<[u8; 16]> {
    let digits = text.trim().replace('-', "");
    let number = u128::from_str_radix(&digits, 16).ok()?;
    (digits.len() == 32).then_some(number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_boot_id_is_a_uuid() {
        let id = [
            0x3a, 0x51, 0xe4, 0xe6, 0xa7, 0x35, 0x4a, 0x70, 0x8b, 0xfe, 0x92, 0xe0, 0xce, 0x45,
            0x03, 0x00,
        ];
        assert_eq!(boot_id("3a51e4e6-a735-4a70-8bfe-92e0ce450300\n"), Some(id));
        for text in ["", "3a51", "3a51e4e6-a735-4a70-8bfe-92e0ce45030x", "+1"] {
            assert_eq!(boot_id(text), None, "{text}");
        }
    }
}
