//! What the memory consists of, and how that changed in the time.

use crate::figures::{bytes, counted, grouped, percent, small_bytes};
use crate::sheet::Sheet;
use crate::tables::{NONE, table};
use run::memory::{Document, MakeUp, PartKind, Process, RubyHeap};
use std::collections::BTreeMap;

/// In the order of the page.
pub(crate) const PARTS: [PartKind; 7] = [
    PartKind::RubyHeap,
    PartKind::Malloc,
    PartKind::MallocAndRubyHeap,
    PartKind::Stacks,
    PartKind::Code,
    PartKind::Files,
    PartKind::Shared,
];
/// Pages of Ruby's heap that grew by this share while the live slots did not grow by a fifth of it are held by fewer objects.
const MORE_PAGES: f64 = 0.05;

/// What the row of [`PartKind::MallocAndRubyHeap`] means.
pub(crate) const UNCLEAR: &str = "malloc or Ruby's heap: which of the two is not known of processes without a flight file, such as a \
                                  cluster's master, and of swapped memory. The row is not the sum of the others.";

pub(crate) fn part_name(part: PartKind) -> &'static str {
    match part {
        PartKind::RubyHeap => "Ruby's heap",
        PartKind::Malloc => "malloc and the like",
        PartKind::MallocAndRubyHeap => "malloc or Ruby's heap",
        PartKind::Stacks => "main stack",
        PartKind::Code => "code",
        PartKind::Files => "data of programs",
        PartKind::Shared => "shared memory",
    }
}

/// Resident bytes of a part.
pub(crate) fn part_sum(made: &MakeUp, part: PartKind) -> u64 {
    let of = made.parts.iter().filter(|of| of.of == part);
    of.map(|of| of.rss_bytes).sum()
}

pub fn write(sheet: &mut Sheet, document: &Document) {
    // A process that began or ended in the time would look like a change of the others.
    let stayed: Vec<&Process> = document
        .processes
        .iter()
        .filter(|p| !p.ended && !p.began)
        .collect();
    let made: Vec<(&MakeUp, &MakeUp)> = stayed
        .iter()
        .filter_map(|process| process.first.as_ref().zip(process.last.as_ref()))
        .collect();
    let began = document.processes.iter().filter(|p| p.began && !p.ended);
    let began: Vec<&MakeUp> = began.filter_map(|process| process.last.as_ref()).collect();
    if made.is_empty() && began.is_empty() {
        return;
    }
    sheet.heading("What it consists of, resident (RSS)");
    let mut head = vec!["part", "first", "last", "change"];
    if !began.is_empty() {
        head.push("began later");
    }
    let mut rows = table(sheet.style(), &head, 1);
    for part in PARTS {
        let first: u64 = made.iter().map(|(first, _)| part_sum(first, part)).sum();
        let last: u64 = made.iter().map(|(_, last)| part_sum(last, part)).sum();
        let later: u64 = began.iter().map(|last| part_sum(last, part)).sum();
        if first.max(last).max(later) > 0 {
            let known = |there: bool, figure: String| if there { figure } else { NONE.to_owned() };
            let stayed = first.max(last) > 0;
            let mut row = vec![
                part_name(part).to_owned(),
                known(stayed, bytes(first)),
                known(stayed, bytes(last)),
                known(stayed, change(first, last)),
            ];
            if !began.is_empty() {
                row.push(known(later > 0, bytes(later)));
            }
            rows.add_row(row);
        }
    }
    sheet.table(rows);
    if !began.is_empty() {
        sheet.prose(&format!(
            "first, last and change are of the {} that ran all the time; \"began later\" is the last reading of the other {}.",
            counted(made.len(), "process"),
            began.len()
        ));
    }
    let shared: (u64, u64) = made.iter().fold((0, 0), |sum, (first, last)| {
        (
            sum.0 + first.shared_since_fork_bytes,
            sum.1 + last.shared_since_fork_bytes,
        )
    });
    if shared.0 + shared.1 > 0 {
        sheet.labelled(
            "Shared since a fork  ",
            &format!(
                "{} of it at first, {} at last ({}): pages of a parent or of siblings that neither side has written to. A page that is \
                 written to is copied and then takes memory in each process.",
                bytes(shared.0),
                bytes(shared.1),
                change(shared.0, shared.1)
            ),
        );
    }
    let any = |part| {
        let lasts = made
            .iter()
            .map(|(_, last)| *last)
            .chain(began.iter().copied());
        lasts.into_iter().any(|last| part_sum(last, part) > 0)
    };
    if any(PartKind::Malloc) {
        sheet.prose("malloc and the like: threads' stacks and compiled code of a JIT are in it, which the kernel does not name.");
    }
    if any(PartKind::MallocAndRubyHeap) {
        sheet.prose(match stayed.iter().any(|process| process.last_heap.is_some()) {
            true => {
                UNCLEAR
            }
            false => {
                "How much of it is Ruby's heap is known where none of the memory is swapped out and the agent's flight file is read: \
                 start the server with powerband run -- CMD, and read powerband memory DIR where its flight files are in another folder \
                 (--flight-dir)."
            }
        });
    }
    heaps(sheet, &stayed);
}

fn heaps(sheet: &mut Sheet, stayed: &[&Process]) {
    let heaps: Vec<(&RubyHeap, &RubyHeap)> = stayed
        .iter()
        .filter_map(|process| process.first_heap.as_ref().zip(process.last_heap.as_ref()))
        .collect();
    if heaps.is_empty() {
        return;
    }
    sheet.heading("Ruby's heap, as the agent recorded it at the latest requests");
    let sum = |of: fn(&RubyHeap) -> u64| {
        heaps.iter().fold((0, 0), |sum, (first, last)| {
            (
                u64::saturating_add(sum.0, of(first)),
                u64::saturating_add(sum.1, of(last)),
            )
        })
    };
    let (pages, live, free) = (
        sum(|heap| heap.pages.saturating_mul(heap.page_bytes)),
        sum(|heap| heap.live_slots),
        sum(|heap| heap.free_slots),
    );
    let share = free.1 as f64 / (live.1 + free.1).max(1) as f64;
    sheet.labelled(
        "- ",
        &format!("pages: {} ({})", bytes(pages.1), change(pages.0, pages.1)),
    );
    sheet.labelled(
        "- ",
        &format!(
            "slots: {} live ({:+}), {} free ({} of all)",
            grouped(live.1),
            i128::from(live.1) - i128::from(live.0),
            grouped(free.1),
            percent(share)
        ),
    );
    let pools = heaps.iter().flat_map(|(_, last)| &last.pools);
    let mut by_size = BTreeMap::<u64, (u64, Option<u64>)>::new();
    for pool in pools {
        let sum = by_size.entry(pool.slot_bytes).or_insert((0, Some(0)));
        sum.0 = sum.0.saturating_add(pool.slots);
        sum.1 = sum
            .1
            .zip(pool.live_slots)
            .map(|(sum, live)| sum.saturating_add(live));
    }
    let mut rows = table(sheet.style(), &["slot size", "slots", "live"], 0);
    for (slot_bytes, (slots, live)) in by_size {
        let live = live.map_or_else(|| NONE.to_owned(), grouped);
        rows.add_row([format!("{slot_bytes} B"), grouped(slots), live]);
    }
    sheet.table(rows);
    let grew = |(first, last): (u64, u64)| last as f64 / first.max(1) as f64 - 1.0;
    if grew(pages) > MORE_PAGES && grew(live) < grew(pages) / 5.0 {
        sheet.prose(
            "The pages grew, and the live slots hardly did: Ruby's heap is fragmented, or garbage has not been collected yet.",
        );
    }
    sheet.prose("Fragmentation of malloc's memory cannot be seen from outside.");
}

fn change(first: u64, last: u64) -> String {
    let change = last as f64 - first as f64;
    let sign = if change > 0.0 { "+" } else { "" };
    format!("{sign}{}", small_bytes(change))
}
