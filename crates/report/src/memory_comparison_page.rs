//! The page of `powerband memory --compare`.

use crate::Style;
use crate::figures::{bytes, duration, grouped, percent, plain, small_bytes};
use crate::memory_page::{PARTS, UNCLEAR, part_name};
use crate::sheet::Sheet;
use crate::tables::{NONE, table};
use run::memory::{Comparison, Difference, Pace, PartKind, Side};

pub(crate) fn sheet(compared: &Comparison, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    sheet.bold(&answer(compared));
    sheet.prose(
        "This compares two times, not two causes: traffic, and the time since the start, may differ. powerband compare measures \
         configurations under the same load.",
    );
    sheet.heading("Side by side");
    let mut rows = table(style, &["", "before", "after"], 1);
    let (before, after) = (&compared.before, &compared.after);
    let mut add = |label: &str, of: &dyn Fn(&Side) -> String| {
        rows.add_row([label.to_owned(), of(before), of(after)]);
    };
    add("file", &|side| plain(&side.file));
    add("begun", &|side| side.started_at.clone());
    add("length", &|side| duration(side.length_s));
    add("processes", &|side| side.processes.to_string());
    add("requests", &|side| {
        side.requests.map_or_else(|| NONE.to_owned(), grouped)
    });
    add(compared.measure.word(), &|side| {
        bytes(side.level_bytes as u64)
    });
    add("its range", &|side| {
        let (low, high) = side.level_range_bytes;
        format!("{} to {}", bytes(low as u64), bytes(high as u64))
    });
    let hourly = |side: &Side, of: fn(&Pace) -> f64| {
        side.per_hour
            .as_ref()
            .map_or_else(|| NONE.to_owned(), |pace| small_bytes(of(pace)))
    };
    add("change an hour", &|side| hourly(side, |pace| pace.bytes));
    add("at least (95 %)", &|side| {
        hourly(side, |pace| pace.low_bytes)
    });
    add("at most (95 %)", &|side| {
        hourly(side, |pace| pace.high_bytes)
    });
    for part in PARTS {
        if of_part(before, part).or(of_part(after, part)).is_some() {
            add(part_name(part), &|side| {
                of_part(side, part).map_or_else(|| NONE.to_owned(), bytes)
            });
        }
    }
    sheet.table(rows);
    sheet.prose("The level is the median of the later half of each time; parts are resident (RSS) at its end.");
    let unclear = PartKind::MallocAndRubyHeap;
    if of_part(before, unclear)
        .or(of_part(after, unclear))
        .is_some()
    {
        sheet.prose(UNCLEAR);
    }
    sheet
}

fn of_part(side: &Side, part: PartKind) -> Option<u64> {
    let found = side.parts.iter().find(|(of, _)| *of == part);
    found.map(|(_, bytes)| *bytes)
}

fn answer(compared: &Comparison) -> String {
    let difference = compared.after.level_bytes - compared.before.level_bytes;
    let by = format!(
        "{} ({})",
        small_bytes(difference.abs()),
        percent((compared.factor - 1.0).abs())
    );
    let measure = compared.measure.word();
    match compared.difference {
        Difference::Less => format!("The servers hold {by} less memory ({measure}) than before."),
        Difference::More => format!("The servers hold {by} more memory ({measure}) than before."),
        Difference::NotClear => format!(
            "The memory ({measure}) before and after is not clearly different: the levels differ by {by}, and their ranges overlap."
        ),
    }
}
