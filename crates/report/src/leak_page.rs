//! The page of `powerband leak`: each leak with what keeps it, the endpoints that leave it and the lines that make it.

use crate::Style;
use crate::figures::{bytes, counted, grouped, percent, small_bytes};
use crate::sheet::Sheet;
use crate::survivors_page::short;
use crate::tables::{NONE, in_parts};
use run::leak::{Answer, Asked, Class, Course, Document, Endpoint, Rate, Retained, Site, Step};

/// Lines and endpoints of each leak; `--full` and the document have more.
const SHOWN: usize = 4;

pub(crate) fn sheet(document: &Document, in_full: bool, style: Style) -> Sheet {
    let mut sheet = Sheet::new(style);
    let requests: u64 = document.requests_by_round.iter().sum();
    sheet.bold(&document.sentence);
    sheet.prose(&format!(
        "{} in {}, one at a time ({}); {} were alive at the end, {}.",
        counted(requests, "request"),
        counted(document.requests_by_round.len(), "round"),
        document.settings,
        counted(document.objects, "object"),
        bytes(document.bytes)
    ));
    let most = if in_full { usize::MAX } else { SHOWN };
    for (number, leak) in (1..).zip(&document.leaks) {
        sheet.heading(&format!("Leak {number}: {}", title(&leak.path)));
        one(&mut sheet, leak, most);
    }
    others(&mut sheet, &document.others);
    if in_full {
        alive(&mut sheet, &document.alive);
    }
    sheet.listed("What limits this", &limits(document));
    sheet
}

fn one(sheet: &mut Sheet, leak: &Retained, most: usize) {
    sheet.labelled(
        "Grows        ",
        &format!(
            "{} and {} per thousand requests.",
            rate(&leak.objects_per_thousand, &|objects| {
                grouped(objects.round() as u64) + " objects"
            }),
            rate(&leak.bytes_per_thousand, &small_bytes)
        ),
    );
    sheet.labelled("Endpoint     ", &endpoints(leak, most));
    if let Some(at) = made_at(&leak.sites) {
        sheet.labelled("Made at      ", &at);
    }
    sheet.labelled("Kept by      ", &path(leak));
    sheet.labelled("To be done   ", &remedy(leak));
    if leak.sites.is_empty() {
        return;
    }
    sheet.line("");
    let head = ["class, and line that makes them", "objects", "size", "kept"];
    let rows = leak.sites.iter().take(most).map(row);
    let rows: Vec<_> = rows.collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
}

fn row(site: &Site) -> Vec<String> {
    let place = site.made_at.as_deref().map_or(NONE, short);
    vec![
        // One column, as on the page of survivors.
        format!("{} {place}", site.class),
        grouped(site.objects),
        small_bytes(site.bytes as f64),
        match site.directly {
            0 => "by another one".to_owned(),
            _ => "directly".to_owned(),
        },
    ]
}

/// The application's own line where there is one, else the line of what is kept directly.
fn made_at(sites: &[Site]) -> Option<String> {
    let own = sites.iter().find(|site| site.in_application);
    let site = own.or_else(|| sites.iter().find(|site| site.made_at.is_some()))?;
    Some(format!("{} ({}).", site.made_at.as_deref()?, site.class))
}

fn rate(rate: &Rate, written: &dyn Fn(f64) -> String) -> String {
    match rate.between {
        Some([low, high]) => format!(
            "{} (95 %: {} to {})",
            written(rate.estimate),
            written(low),
            written(high)
        ),
        None => written(rate.estimate),
    }
}

fn endpoints(leak: &Retained, most: usize) -> String {
    let endpoints: &[Endpoint] = &leak.endpoints;
    if endpoints.is_empty() {
        return match leak.sites.is_empty() {
            true => "not known: what grows holds no objects, as an array of numbers does.",
            false => "not known: the objects were made after the last request of a round, such as by a thread in the background.",
        }
        .to_owned();
    }
    let each = endpoints.iter().take(most).map(|one| {
        let share = one.leaving as f64 / one.requests.max(1) as f64;
        format!(
            "{} ({} of its {}, {})",
            named(&one.name),
            percent(share),
            counted(one.requests, "request"),
            counted(one.objects, "object")
        )
    });
    let left = endpoints.len().saturating_sub(most);
    let more = (left > 0).then(|| format!("{left} more"));
    each.chain(more).collect::<Vec<_>>().join(", ") + "."
}

fn named(endpoint: &str) -> &str {
    match endpoint {
        "" => "an endpoint without a name",
        named => named,
    }
}

/// What keeps them, in a few words.
fn title(path: &[Step]) -> String {
    let named = path.iter().rposition(|step| step.name.is_some());
    let from = named.map_or(path.len().saturating_sub(1), |at| at.saturating_sub(1));
    let mut steps = path[from..].iter();
    let first = steps
        .next()
        .map_or_else(String::new, |step| match (named, &step.name) {
            (Some(0), Some(name)) => name.clone(),
            _ => step.what.clone(),
        });
    steps.fold(first, |title, step| match &step.name {
        Some(name) if is_constant(name) => format!("{title}::{name}"),
        Some(name) => format!("{name} of {title}"),
        None => title,
    })
}

fn is_constant(name: &str) -> bool {
    name.starts_with(char::is_uppercase) && !name.contains(['.', '['])
}

fn path(leak: &Retained) -> String {
    let steps = leak.path.iter().map(|step| match &step.name {
        Some(name) => format!("{name} ({})", step.what),
        None => step.what.clone(),
    });
    let path = steps.collect::<Vec<_>>().join(" \u{2192} ");
    let size = match leak.sizes.as_deref() {
        Some([first, .., last]) => format!(
            ", of {} at first and {} at last",
            grouped(*first),
            grouped(*last)
        ),
        _ => String::new(),
    };
    let many = match leak.keepers {
        0 | 1 => String::new(),
        many => format!(", and {} more of the kind", grouped(many - 1)),
    };
    format!("{path}{size}{many}.")
}

fn remedy(leak: &Retained) -> String {
    let last = leak.path.iter().rfind(|step| step.name.is_some());
    let name = last.and_then(|step| step.name.as_deref());
    let what = match name {
        Some(name) => format!("look for the code that adds to {name}"),
        None => "look for the code that adds to it".to_owned(),
    };
    let defined = last.and_then(|step| step.defined_at.as_deref());
    let defined = defined.map_or_else(String::new, |at| format!(" (defined at {})", short(at)));
    format!(
        "{what}{defined}; remove entries that are no longer needed, limit their number, or keep them outside of the process."
    )
}

fn others(sheet: &mut Sheet, others: &[Retained]) {
    if others.is_empty() {
        return;
    }
    sheet.heading("What else requests left");
    let head = [
        "kept by",
        "objects a round",
        "size per thousand requests",
        "what it is",
    ];
    let rows = others.iter().map(|one| {
        let rounds = one.objects_by_round.iter().map(|count| grouped(*count));
        vec![
            title(&one.path),
            rounds.collect::<Vec<_>>().join(", "),
            small_bytes(one.bytes_per_thousand.estimate),
            worded(one.course).to_owned(),
        ]
    });
    let rows: Vec<_> = rows.collect();
    sheet.tables(in_parts(sheet.style(), &head, &rows));
}

fn alive(sheet: &mut Sheet, classes: &[Class]) {
    sheet.heading("What was alive at the end");
    let rows = classes.iter().map(|one| {
        vec![
            one.class.clone(),
            grouped(one.objects),
            small_bytes(one.bytes as f64),
        ]
    });
    let rows: Vec<_> = rows.collect();
    sheet.tables(in_parts(
        sheet.style(),
        &["class", "objects", "size"],
        &rows,
    ));
}

fn worded(course: Course) -> &'static str {
    match course {
        Course::Growing => "a leak",
        Course::Filling => "a cache that fills",
        Course::Replaced => "a cache that drops old entries",
        Course::Undecided => "not decided: too few requests",
    }
}

fn limits(document: &Document) -> Vec<String> {
    let mut said = Vec::new();
    if document.answer == Answer::Leak {
        said.push(
            "A cache that is not full after these requests looks like a leak; more requests (--requests) decide it.".to_owned(),
        );
    }
    if !document.seldom.is_empty() {
        let each = document.seldom.iter();
        let each: Vec<String> = each
            .map(|Asked { name, requests }| format!("{} ({requests})", named(name)))
            .collect();
        said.push(format!(
            "Endpoints with too few requests to show a leak: {}. Give them more weight in the workload, or send more requests (--requests).",
            each.join(", ")
        ));
    }
    said.push("Memory that a C extension keeps outside of Ruby's objects is not seen here; powerband memory shows it as malloc.".to_owned());
    said.extend(document.warnings.iter().cloned());
    said
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(what: &str, name: Option<&str>) -> Step {
        Step {
            what: what.to_owned(),
            name: name.map(str::to_owned),
            defined_at: None,
        }
    }

    #[test]
    fn a_leak_is_shown_with_its_endpoint_line_and_path() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/leak");
        let text = std::fs::read_to_string(format!("{folder}/keeping.json")).unwrap();
        let document: Document = serde_json::from_str(&text).unwrap();
        let style = Style {
            width: 100,
            colour: false,
        };
        let page = sheet(&document, true, style).into_text();
        for said in [
            "2 leaks found: each of 6 rounds, 1,200 requests in all, left objects that nothing frees.",
            "Keeping::SEEN\n",
            ": @numbers of Keeping\n",
            "Endpoint     GET /leak (100.0 % of its",
            "Made at      config.ru:16 (Hash).",
            "Kept by      Keeping \u{2192} SEEN (Array)",
            "look for the code that adds to SEEN (defined at",
            "not known: what grows holds no objects, as an array of numbers does.",
            "What was alive at the end",
            "Endpoints with too few requests to show a leak: GET /seldom (4).",
        ] {
            assert!(page.contains(said), "{said}: {page}");
        }
    }

    #[test]
    fn a_path_is_called_by_its_last_name() {
        let constant = [step("Shop::Recent", None), step("Array", Some("SEEN"))];
        assert_eq!(title(&constant), "Shop::Recent::SEEN");
        let shards = [
            step("Shop", None),
            step("Array", Some("@shards")),
            step("Hash", None),
        ];
        assert_eq!(title(&shards), "@shards of Shop");
        let local = [
            step("Thread", None),
            step("Hash", Some("Thread.current[:log]")),
        ];
        assert_eq!(title(&local), "Thread.current[:log] of Thread");
        assert_eq!(
            title(&[step("root vm", None), step("Array", None)]),
            "Array"
        );
        assert_eq!(title(&[step("Hash", Some("$seen"))]), "$seen");
        assert_eq!(title(&[]), "");
    }

    #[test]
    fn why_no_endpoint_is_known_depends_on_whether_objects_are() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../contract/samples/leak");
        let text = std::fs::read_to_string(format!("{folder}/keeping.json")).unwrap();
        let document: Document = serde_json::from_str(&text).unwrap();
        let mut leaks = document.leaks;
        leaks
            .iter_mut()
            .for_each(|leak| leak.endpoints = Vec::new());
        let said = leaks.iter().map(|leak| {
            let said = endpoints(leak, SHOWN);
            (
                leak.sites.is_empty(),
                said.contains("holds no objects"),
                said.contains("a thread in the background"),
            )
        });
        let mut said: Vec<_> = said.collect();
        said.sort_unstable();
        assert_eq!(said, [(false, false, true), (true, true, false)]);
    }
}
