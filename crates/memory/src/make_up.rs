//! What the memory of a process consists of: its mappings, and what the agent says of Ruby's heap.

use flight::Heap;
use host::{Mapped, Maps};
use run::memory::{MakeUp, Part, PartKind};
use small_sort::SmallSort;

/// The parts at this time, largest first. Parts without memory are left out.
pub fn make_up(maps: &Maps, heap: Option<&Heap>, at_s: f64) -> MakeUp {
    let whole = |of: PartKind, part: host::Part| Part {
        of,
        rss_bytes: part.rss_bytes,
        pss_bytes: Some(part.pss_bytes),
        private_bytes: Some(part.private_bytes),
    };
    let of = |kind| maps.of(kind);
    let mut parts = vec![
        whole(PartKind::Code, of(Mapped::Code)),
        whole(PartKind::Files, of(Mapped::Files)),
        whole(PartKind::Stacks, of(Mapped::Stacks)),
        whole(PartKind::Shared, of(Mapped::Shared)),
    ];
    let unnamed = maps.sum(&[Mapped::Brk, Mapped::Anonymous]);
    let named = of(Mapped::RubyHeap);
    if named.rss_bytes > 0 {
        parts.push(whole(PartKind::RubyHeap, named));
        parts.push(whole(PartKind::Malloc, unnamed));
    } else {
        match ruby_heap(&unnamed, heap) {
            Some(rss_bytes) => parts.extend([
                alone(PartKind::RubyHeap, rss_bytes),
                alone(PartKind::Malloc, unnamed.rss_bytes - rss_bytes),
            ]),
            None => parts.push(whole(PartKind::MallocAndRubyHeap, unnamed)),
        }
    }
    parts.retain(|part| part.rss_bytes > 0);
    parts.small_sort_by_key(|part| std::cmp::Reverse(part.rss_bytes));
    let anonymous = maps.sum(&[
        Mapped::Brk,
        Mapped::Anonymous,
        Mapped::RubyHeap,
        Mapped::Stacks,
    ]);
    MakeUp {
        at_s,
        parts,
        shared_since_fork_bytes: anonymous.rss_bytes.saturating_sub(anonymous.private_bytes),
        swap_bytes: maps.total().swap_bytes,
    }
}

/// Resident bytes of Ruby's heap. Ruby writes to every page of it when it makes it, so that all of it is resident unless some is
/// swapped out, whose owner is unknown.
fn ruby_heap(unnamed: &host::Part, heap: Option<&Heap>) -> Option<u64> {
    let heap = heap?;
    let bytes = heap.pages.checked_mul(heap.page_bytes.into())?;
    (unnamed.swap_bytes == 0 && bytes > 0 && bytes <= unnamed.rss_bytes).then_some(bytes)
}

/// A part that has no mappings of its own.
fn alone(of: PartKind, rss_bytes: u64) -> Part {
    Part {
        of,
        rss_bytes,
        pss_bytes: None,
        private_bytes: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mapping(head: &str, rss: u64, private: u64, swap: u64) -> String {
        format!(
            "{head}\nRss: {rss} kB\nPss: {rss} kB\nPrivate_Dirty: {private} kB\nSwap: {swap} kB\n"
        )
    }

    fn maps(swap: u64, ruby: &str) -> Maps {
        let text = [
            mapping("10-20 r-xp 0 08:01 7 /usr/bin/ruby", 300, 0, 0),
            mapping("20-30 rw-p 0 00:00 0 [heap]", 1_000, 400, swap),
            mapping("30-40 rw-p 0 00:00 0 ", 2_000, 900, 0),
            mapping(&format!("40-50 rw-p 0 00:00 0 {ruby}"), 640, 64, 0),
            mapping("50-60 rw-p 0 00:00 0 [stack]", 60, 60, 0),
        ];
        host::smaps::parse_smaps(&text.concat()).unwrap()
    }

    fn heap(pages: u64) -> Heap {
        Heap {
            mono_ns: 1,
            pages,
            page_bytes: 65_536,
            live_slots: 1,
            free_slots: 1,
            old_objects: 1,
            pools: Vec::new(),
        }
    }

    fn kb(made: &MakeUp) -> Vec<(PartKind, u64)> {
        made.parts
            .iter()
            .map(|part| (part.of, part.rss_bytes >> 10))
            .collect()
    }

    #[test]
    fn the_agent_says_how_much_of_what_has_no_name_is_rubys() {
        let made = make_up(&maps(0, ""), Some(&heap(10)), 3.0);
        let expected = [
            (PartKind::Malloc, 3_000),
            (PartKind::RubyHeap, 640),
            (PartKind::Code, 300),
            (PartKind::Stacks, 60),
        ];
        assert_eq!(kb(&made), expected);
        assert_eq!((made.at_s, made.swap_bytes), (3.0, 0));
        assert_eq!(made.shared_since_fork_bytes >> 10, 3_700 - 1_424);
        let rss: u64 = made.parts.iter().map(|part| part.rss_bytes).sum();
        assert_eq!(rss, maps(0, "").total().rss_bytes);
        assert_eq!(made.parts[1].private_bytes, None);
    }

    #[test]
    fn names_say_more_than_the_agent() {
        let named = maps(5, "[anon:Ruby:GC:default:heap_page_body_allocate]");
        let made = make_up(&named, Some(&heap(1)), 0.0);
        assert_eq!(
            kb(&made)[..2],
            [(PartKind::Malloc, 3_000), (PartKind::RubyHeap, 640)]
        );
        assert_eq!(made.parts[1].private_bytes, Some(64 << 10));
    }

    #[test]
    fn what_cannot_be_told_apart_stays_together() {
        let together = |swap, heap: Option<Heap>| {
            let made = make_up(&maps(swap, ""), heap.as_ref(), 0.0);
            assert_eq!(kb(&made)[0], (PartKind::MallocAndRubyHeap, 3_640));
            assert_eq!(made.parts.len(), 3);
        };
        together(0, None);
        // More than there is: swapped out, or of another instant.
        together(0, Some(heap(1_000)));
        together(0, Some(heap(0)));
        together(8, Some(heap(10)));
    }
}
