//! `/proc/<pid>/smaps`: what a process's resident memory is mapped from. Pure.
//!
//! Mappings are added up while they are read: a process has hundreds, and no list of them is needed. What only a name could say
//! and the kernel does not name (a thread's stack, one of malloc's arenas) stays anonymous.

use crate::procfs::kilobytes;

/// What a mapping is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mapped {
    /// Private pages of a file that may be executed: programs and libraries.
    Code,
    /// Other private pages of files: constants and variables of programs and libraries.
    Files,
    /// The main thread's stack, and those of other threads where they are named.
    Stacks,
    /// What `brk` extends: malloc's main arena.
    Brk,
    /// Pages of Ruby's heap, where Ruby names them (3.4 and later, on kernels that keep names).
    RubyHeap,
    /// All other private memory that no file is behind.
    Anonymous,
    /// Mapped to be shared with other processes, whether a file is behind it or not.
    Shared,
}

impl Mapped {
    /// All, in the order of [`Maps::parts`].
    pub const ALL: [Mapped; 7] = [
        Mapped::Code,
        Mapped::Files,
        Mapped::Stacks,
        Mapped::Brk,
        Mapped::RubyHeap,
        Mapped::Anonymous,
        Mapped::Shared,
    ];
}

/// Memory of the mappings of one kind, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Part {
    pub rss_bytes: u64,
    /// A page shared by n processes counts 1/n.
    pub pss_bytes: u64,
    /// Not shared with another process.
    pub private_bytes: u64,
    pub swap_bytes: u64,
}

impl Part {
    fn add(&mut self, other: &Part) {
        self.rss_bytes = self.rss_bytes.saturating_add(other.rss_bytes);
        self.pss_bytes = self.pss_bytes.saturating_add(other.pss_bytes);
        self.private_bytes = self.private_bytes.saturating_add(other.private_bytes);
        self.swap_bytes = self.swap_bytes.saturating_add(other.swap_bytes);
    }
}

/// The mappings of a process, added up.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Maps {
    parts: [Part; Mapped::ALL.len()],
}

impl Maps {
    /// Those of one kind.
    #[must_use]
    pub fn of(&self, kind: Mapped) -> Part {
        self.parts[kind as usize]
    }

    /// Those of these kinds, added up.
    #[must_use]
    pub fn sum(&self, kinds: &[Mapped]) -> Part {
        let mut sum = Part::default();
        kinds.iter().for_each(|kind| sum.add(&self.of(*kind)));
        sum
    }

    /// All of them.
    #[must_use]
    pub fn total(&self) -> Part {
        self.sum(&Mapped::ALL)
    }
}

/// `/proc/<pid>/smaps`; `None` where there is no mapping with its memory.
#[must_use]
pub fn parse_smaps(text: &str) -> Option<Maps> {
    let mut maps = Maps::default();
    let mut kind = None;
    let mut known = false;
    for line in text.lines() {
        if let Some(next) = mapping(line) {
            kind = Some(next);
            continue;
        }
        let (Some(kind), Some((name, bytes))) = (kind, kilobytes(line).next()) else {
            continue;
        };
        let part = &mut maps.parts[kind as usize];
        let counter = match name {
            "Rss" => &mut part.rss_bytes,
            "Pss" => &mut part.pss_bytes,
            "Private_Clean" | "Private_Dirty" | "Private_Hugetlb" => &mut part.private_bytes,
            "Swap" => &mut part.swap_bytes,
            _ => continue,
        };
        *counter = counter.saturating_add(bytes);
        known |= name == "Pss";
    }
    known.then_some(maps)
}

/// What the first line of a mapping is of, such as `7f00-7f10 r-xp 00000000 08:01 77 /usr/bin/ruby`; `None` for any other line.
fn mapping(line: &str) -> Option<Mapped> {
    let mut words = line.split_ascii_whitespace();
    let (from, to) = words.next()?.split_once('-')?;
    let hexadecimal = |word: &str| u64::from_str_radix(word, 16).is_ok();
    if !hexadecimal(from) || !hexadecimal(to) {
        return None;
    }
    let permissions = words.next()?.as_bytes();
    // Offset and device; a file has an inode.
    let inode = words.nth(2)?;
    let name = words.next().unwrap_or_default();
    let executable = permissions.get(2) == Some(&b'x');
    Some(match name {
        _ if permissions.get(3) == Some(&b's') => Mapped::Shared,
        "[heap]" => Mapped::Brk,
        _ if name.starts_with("[stack") => Mapped::Stacks,
        _ if name.starts_with("[anon:Ruby:") && name.contains("heap_page") => Mapped::RubyHeap,
        // glibc names them only where its tunable glibc.mem.decorate_maps says so.
        "[anon:" if line.contains("glibc: pthread stack") => Mapped::Stacks,
        // The kernel's own pages, such as [vdso].
        _ if name.starts_with('[') && !name.starts_with("[anon") => Mapped::Code,
        _ if inode != "0" && executable => Mapped::Code,
        _ if inode != "0" => Mapped::Files,
        _ => Mapped::Anonymous,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A mapping with so many kB resident, of which `private` are not shared and the rest with one other process.
    fn entry(head: &str, rss: u64, private: u64) -> String {
        let pss = private + (rss - private) / 2;
        format!(
            "{head}\nSize: {rss} kB\nKernelPageSize: 4 kB\nRss: {rss} kB\nPss: {pss} kB\nPss_Dirty: {pss} kB\n\
             Shared_Clean: 0 kB\nShared_Dirty: {} kB\nPrivate_Clean: {private} kB\nPrivate_Dirty: 0 kB\n\
             Anonymous: {rss} kB\nSwap: 1 kB\nTHPeligible: 0\nVmFlags: rd wr mr\n",
            rss - private
        )
    }

    #[test]
    fn each_mapping_is_added_to_its_kind() {
        let heads = [
            (
                "55d0-55d1 r-xp 00001000 08:01 77   /usr/bin/ruby 3.3 (deleted)",
                Mapped::Code,
            ),
            (
                "55d1-55d2 r--p 00001000 08:01 77   /usr/bin/ruby",
                Mapped::Files,
            ),
            ("55d2-55d3 rw-p 00000000 00:00 0    [heap]", Mapped::Brk),
            ("7f00-7f01 rw-p 00000000 00:00 0 ", Mapped::Anonymous),
            (
                "7f01-7f02 rw-p 00000000 00:00 0    [anon:Ruby:GC:default:heap_page_body_allocate]",
                Mapped::RubyHeap,
            ),
            (
                "7f02-7f03 rw-p 00000000 00:00 0    [anon: glibc: pthread stack: 42]",
                Mapped::Stacks,
            ),
            (
                "7f03-7f04 rw-p 00000000 00:00 0    [anon:Ruby:io_buffer_map_memory]",
                Mapped::Anonymous,
            ),
            (
                "7f04-7f05 rw-s 00000000 00:19 9    /run/powerband/0/1.flight",
                Mapped::Shared,
            ),
            ("7f05-7f06 rw-p 00000000 00:00 0    [stack]", Mapped::Stacks),
            ("7f06-7f07 r-xp 00000000 00:00 0    [vdso]", Mapped::Code),
        ];
        for (head, kind) in heads {
            let maps = parse_smaps(&entry(head, 40, 10)).unwrap();
            let expected = Part {
                rss_bytes: 40 << 10,
                pss_bytes: 25 << 10,
                private_bytes: 10 << 10,
                swap_bytes: 1 << 10,
            };
            assert_eq!(maps.of(kind), expected, "{head}");
            assert_eq!(maps.total(), expected, "{head}");
        }
        let all: String = heads.iter().map(|(head, _)| entry(head, 40, 10)).collect();
        let maps = parse_smaps(&all).unwrap();
        assert_eq!(maps.total().rss_bytes, 400 << 10);
        assert_eq!(maps.of(Mapped::Stacks).rss_bytes, 80 << 10);
    }

    #[test]
    fn kinds_are_numbered_as_the_parts_are() {
        for (index, kind) in Mapped::ALL.into_iter().enumerate() {
            assert_eq!(kind as usize, index);
        }
    }

    #[test]
    fn other_text_is_no_smaps() {
        for text in [
            "",
            "Rss: 4 kB\n",
            "55d0-55d1 r-xp 0 08:01 77 /a\n",
            "no-body\nPss: 1 kB\n",
        ] {
            assert_eq!(parse_smaps(text), None, "{text:?}");
        }
    }
}
