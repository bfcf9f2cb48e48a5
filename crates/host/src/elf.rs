//! The program interpreter that an ELF file names: which C library a binary was linked against.

/// Type of the program header that holds the interpreter's path (`PT_INTERP`).
const INTERPRETER: u64 = 3;
/// A file with more program headers than this is none that a linker wrote.
const MOST_HEADERS: u64 = 4096;

/// Such as `/lib64/ld-linux-x86-64.so.2` or `/lib/ld-musl-x86_64.so.1`, from the beginning of a file. `None` for what
/// is no ELF file, for one that is linked statically, and where the beginning is too short.
#[must_use]
pub fn interpreter(bytes: &[u8]) -> Option<String> {
    let file = Elf::open(bytes)?;
    let (offset, size, count) = match file.wide {
        true => (
            file.number(0x20, 8)?,
            file.number(0x36, 2)?,
            file.number(0x38, 2)?,
        ),
        false => (
            file.number(0x1c, 4)?,
            file.number(0x2a, 2)?,
            file.number(0x2c, 2)?,
        ),
    };
    for index in 0..count.min(MOST_HEADERS) {
        let header = offset.checked_add(index.checked_mul(size)?)?;
        if file.number(header, 4)? != INTERPRETER {
            continue;
        }
        let (from, length) = match file.wide {
            true => (
                file.number(header.checked_add(0x08)?, 8)?,
                file.number(header.checked_add(0x20)?, 8)?,
            ),
            false => (
                file.number(header.checked_add(0x04)?, 4)?,
                file.number(header.checked_add(0x10)?, 4)?,
            ),
        };
        let path = file.slice(from, length)?;
        let path = path.split(|&byte| byte == 0).next()?;
        return String::from_utf8(path.to_vec()).ok();
    }
    None
}

struct Elf<'a> {
    bytes: &'a [u8],
    /// 64 bits.
    wide: bool,
    little: bool,
}

impl<'a> Elf<'a> {
    fn open(bytes: &'a [u8]) -> Option<Self> {
        let ident = bytes.get(..6)?;
        let wide = match (ident.starts_with(b"\x7fELF"), ident[4]) {
            (true, 2) => true,
            (true, 1) => false,
            _ => return None,
        };
        let little = ident[5] == 1;
        Some(Self {
            bytes,
            wide,
            little,
        })
    }

    fn slice(&self, from: u64, length: u64) -> Option<&'a [u8]> {
        let end = from.checked_add(length)?;
        self.bytes
            .get(usize::try_from(from).ok()?..usize::try_from(end).ok()?)
    }

    fn number(&self, from: u64, length: u64) -> Option<u64> {
        let bytes = self.slice(from, length)?.iter();
        let grow = |number: u64, byte: &u8| (number << 8) | u64::from(*byte);
        Some(match self.little {
            true => bytes.rev().fold(0, grow),
            false => bytes.fold(0, grow),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A 64-bit little-endian file with two program headers, the second of which names `path`.
    fn file(path: &str) -> Vec<u8> {
        let mut bytes = vec![0; 0x40 + 2 * 0x38];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        bytes[0x20] = 0x40;
        bytes[0x36] = 0x38;
        bytes[0x38] = 2;
        let second = 0x40 + 0x38;
        bytes[0x40] = 6;
        bytes[second] = 3;
        bytes[second + 0x08] = u8::try_from(bytes.len()).unwrap();
        bytes[second + 0x20] = u8::try_from(path.len() + 1).unwrap();
        bytes.extend(path.as_bytes());
        bytes.push(0);
        bytes
    }

    #[test]
    fn the_interpreter_tells_the_c_library() {
        for path in ["/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"] {
            assert_eq!(interpreter(&file(path)).as_deref(), Some(path));
        }
    }

    #[test]
    fn what_names_none_is_none() {
        let mut statically = file("/lib/ld.so");
        statically[0x40 + 0x38] = 1;
        assert_eq!(interpreter(&statically), None);
        assert_eq!(interpreter(b"#!/bin/sh\n"), None);
        let whole = file("/lib/ld.so");
        for length in 0..whole.len() {
            assert_eq!(interpreter(&whole[..length]), None, "{length} bytes");
        }
    }

    #[test]
    fn this_test_is_an_elf_file_itself() {
        let mut bytes = std::fs::read("/proc/self/exe").unwrap();
        bytes.truncate(1 << 16);
        let found = interpreter(&bytes);
        // A statically linked one names none.
        if cfg!(target_env = "gnu") {
            assert!(found.unwrap().starts_with('/'));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken_without_a_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), wide in 1u8..3) {
            if bytes.len() > 6 {
                bytes[..6].copy_from_slice(&[0x7f, b'E', b'L', b'F', wide, 1]);
            }
            let found = interpreter(&bytes);
            prop_assert!(found.is_none_or(|path| path.len() < bytes.len()));
        }
    }
}
