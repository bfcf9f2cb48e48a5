//! Allocators that take the place of glibc's when their library is loaded first.

/// The variable that loads a library first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// An allocator.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Allocator {
    Glibc,
    Jemalloc,
    Tcmalloc,
    Mimalloc,
}

impl Allocator {
    /// All that there are, glibc's first.
    pub const ALL: [Allocator; 4] = [
        Allocator::Glibc,
        Allocator::Jemalloc,
        Allocator::Tcmalloc,
        Allocator::Mimalloc,
    ];

    /// As it is typed.
    pub fn name(self) -> &'static str {
        match self {
            Allocator::Glibc => "glibc",
            Allocator::Jemalloc => "jemalloc",
            Allocator::Tcmalloc => "tcmalloc",
            Allocator::Mimalloc => "mimalloc",
        }
    }

    /// By its name.
    pub fn named(name: &str) -> Option<Allocator> {
        Allocator::ALL.into_iter().find(|a| a.name() == name)
    }

    /// File names of its library, the best first; none for glibc's, which is there without one.
    pub fn libraries(self) -> &'static [&'static str] {
        match self {
            Allocator::Glibc => &[],
            Allocator::Jemalloc => &["libjemalloc.so.2", "libjemalloc.so"],
            Allocator::Tcmalloc => &["libtcmalloc_minimal.so.4", "libtcmalloc.so.4"],
            Allocator::Mimalloc => &["libmimalloc.so.3", "libmimalloc.so.2", "libmimalloc.so"],
        }
    }

    /// Which of Debian's packages has it.
    pub fn package(self) -> &'static str {
        match self {
            Allocator::Glibc => "libc6",
            Allocator::Jemalloc => "libjemalloc2",
            Allocator::Tcmalloc => "libtcmalloc-minimal4 (Debian 13: libtcmalloc-minimal4t64)",
            Allocator::Mimalloc => "libmimalloc3 (Debian 12: libmimalloc2.0)",
        }
    }

    /// Whose library a path is; `None` for libraries that give no memory.
    pub fn of(path: &str) -> Option<Allocator> {
        let file = path.rsplit('/').next().unwrap_or(path);
        Allocator::ALL
            .into_iter()
            .skip(1)
            .find(|allocator| file.starts_with("lib") && file[3..].starts_with(allocator.name()))
    }

    /// The allocator of a process with these files mapped: glibc where it has none of the others.
    pub fn mapped<'a>(files: impl IntoIterator<Item = &'a str>) -> Allocator {
        let found = files.into_iter().find_map(Allocator::of);
        found.unwrap_or(Allocator::Glibc)
    }
}

/// What `LD_PRELOAD` is to hold: the library first, then what was there already, less other allocators.
pub fn preload(existing: Option<&str>, library: Option<&str>) -> String {
    let others = existing
        .unwrap_or_default()
        .split([':', ' '])
        .filter(|path| !path.is_empty() && Allocator::of(path).is_none());
    library
        .into_iter()
        .chain(others)
        .collect::<Vec<_>>()
        .join(":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_allocator_takes_the_place_of_another_and_of_nothing_else() {
        let je = "/usr/lib/libjemalloc.so.2";
        assert_eq!(preload(None, Some(je)), je);
        assert_eq!(
            preload(Some("libfaketime.so.1"), Some(je)),
            format!("{je}:libfaketime.so.1")
        );
        assert_eq!(
            preload(Some("/x/libtcmalloc.so.4 a.so"), Some(je)),
            format!("{je}:a.so")
        );
        assert_eq!(preload(Some(je), None), "");
        assert_eq!(preload(None, None), "");
    }

    #[test]
    fn a_process_tells_by_what_it_has_mapped() {
        assert_eq!(
            Allocator::mapped(["/usr/lib/libc.so.6", "[heap]"]),
            Allocator::Glibc
        );
        for allocator in Allocator::ALL {
            for library in allocator.libraries() {
                let path = format!("/opt/lib/{library}");
                assert_eq!(Allocator::mapped(["/lib/libc.so.6", &path]), allocator);
            }
            assert_eq!(Allocator::named(allocator.name()), Some(allocator));
        }
    }
}
