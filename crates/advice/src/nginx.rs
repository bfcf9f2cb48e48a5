//! nginx in front of the server: its workers, the connections it keeps to the upstream, the buffers of answers.
//!
//! A directive is changed where it stands. A new one goes where it is allowed: `worker_processes` at the top of the main
//! file, `keepalive` at the end of the upstream (after what balances), `proxy_buffers` in `http`, or in the server of a file
//! that `http` includes, where it cannot meet another.

mod parsed;

use crate::text::{indent, usual_ending};
use crate::{Change, Nginx, NginxWorkers, Note, ProxyBuffers};
use parsed::{Directive, parse};

/// Main files have one of these outside of every block.
const OF_MAIN: [&str; 5] = ["events", "http", "pid", "user", "worker_processes"];

/// What of it the file can hold; the rest as notes.
pub fn write(path: &str, before: &str, nginx: &Nginx, notes: &mut Vec<Note>) -> Change {
    let mut said: Vec<String> = Vec::new();
    let mut text = before.to_owned();
    if !text.is_empty() && !text.ends_with('\n') {
        text.push_str(usual_ending(before));
    }
    let steps: [&Step<'_>; 3] = [
        &|text, all, said| workers(text, all, nginx.worker_processes?, said),
        &|text, all, said| keepalive(text, all, nginx, said),
        &|text, all, said| buffers(text, all, nginx.proxy_buffers?, said),
    ];
    for step in steps {
        // Parsed again, because the step before moved what follows.
        let Some(all) = parse(&text) else {
            let said = "a block or a quote is not closed, or Lua stands in it: it is changed by hand or not at all.";
            notes.push(Note::new(path, said));
            return Change::private(path, before, text);
        };
        if let Some(Edit { from, to, put }) = step(&text, &all, &mut said) {
            text.replace_range(from..to, &put);
        }
    }
    notes.extend(said.into_iter().map(|said| Note::new(path, said)));
    Change::private(path, before, text)
}

/// Finds what one setting changes; reports settings that it cannot change.
type Step<'a> = dyn Fn(&str, &[Directive], &mut Vec<String>) -> Option<Edit> + 'a;

struct Edit {
    from: usize,
    to: usize,
    put: String,
}

fn workers(
    text: &str,
    all: &[Directive],
    wanted: NginxWorkers,
    said: &mut Vec<String>,
) -> Option<Edit> {
    let value = match wanted {
        NginxWorkers::Auto => "auto".to_owned(),
        NginxWorkers::Count(count) => count.to_string(),
    };
    let top: Vec<&Directive> = all.iter().filter(|d| d.parent.is_none()).collect();
    if let Some(there) = top.iter().find(|d| d.words[0] == "worker_processes") {
        return replace(text, there, &value, said);
    }
    if top.iter().any(|d| OF_MAIN.contains(&d.words[0].as_str())) {
        let at = line_start(text, top.first()?.start);
        return Some(Edit {
            from: at,
            to: at,
            put: format!("worker_processes {value};{}", usual_ending(text)),
        });
    }
    said.push(format!(
        "worker_processes belongs into nginx.conf, outside of http: `worker_processes {value};`."
    ));
    None
}

fn keepalive(text: &str, all: &[Directive], nginx: &Nginx, said: &mut Vec<String>) -> Option<Edit> {
    let count = nginx.upstream_keepalive?;
    let upstream = |i: &usize| {
        let d = &all[*i];
        let name = d.words.get(1);
        d.words[0] == "upstream"
            && d.close.is_some()
            && (nginx.upstream.is_none() || nginx.upstream.as_ref() == name)
    };
    let found: Vec<usize> = (0..all.len()).filter(upstream).collect();
    let [block] = found[..] else {
        said.push(match found.len() {
            0 => format!(
                "the upstream is not in this file; add `keepalive {count};` at its end, and let proxy_pass name the upstream."
            ),
            several => format!(
                "there are {several} upstreams; add `keepalive {count};` at the end of the application's."
            ),
        });
        return None;
    };
    let name = all[block].words.get(1).cloned().unwrap_or_default();
    let passes = |d: &&Directive| {
        let to = d.words.get(1).and_then(|url| url.split("://").nth(1));
        let to = to.and_then(|rest| rest.split('/').next());
        d.words[0] == "proxy_pass" && to == Some(name.as_str())
    };
    let bare = all.iter().filter(passes).any(|pass| !keeps(all, pass));
    if bare && count > 0 {
        said.push(format!(
            "connections to {name} are kept only with `proxy_http_version 1.1;` and `proxy_set_header Connection \"\";` \
             beside its proxy_pass and the other proxy_set_header lines."
        ));
    }
    let there = all
        .iter()
        .find(|d| d.parent == Some(block) && d.words[0] == "keepalive");
    match there {
        Some(there) => replace(text, there, &count.to_string(), said),
        None => append(text, all, block, &format!("keepalive {count};")),
    }
}

/// Whether HTTP/1.1 without `Connection: close` is set where the directive stands or around it.
fn keeps(all: &[Directive], pass: &Directive) -> bool {
    let mut around = Some(pass.parent);
    let (mut version, mut header) = (false, false);
    while let Some(block) = around {
        for d in all.iter().filter(|d| d.parent == block) {
            let words: Vec<&str> = d.words.iter().map(String::as_str).collect();
            version |= matches!(words[..], ["proxy_http_version", "1.1" | "2"]);
            header |= matches!(words[..], ["proxy_set_header", name, _] if name.eq_ignore_ascii_case("connection"));
        }
        around = block.map(|at| all[at].parent);
    }
    version && header
}

fn buffers(
    text: &str,
    all: &[Directive],
    wanted: ProxyBuffers,
    said: &mut Vec<String>,
) -> Option<Edit> {
    let value = format!("{} {}", wanted.number, size(wanted.size_bytes));
    if wanted.number < 2 || wanted.size_bytes == 0 {
        said.push(format!(
            "proxy_buffers {value}: nginx takes two buffers at least."
        ));
        return None;
    }
    let there: Vec<usize> = (0..all.len())
        .filter(|i| all[*i].words[0] == "proxy_buffers")
        .collect();
    if let Some(outermost) = there.iter().min_by_key(|i| depth(all, **i)) {
        let others = there
            .iter()
            .filter(|i| *i != outermost && !says(&all[**i], &value));
        let lines: Vec<String> = others
            .map(|i| line_of(text, all[*i].start).to_string())
            .collect();
        if !lines.is_empty() {
            said.push(format!(
                "proxy_buffers {value} does not reach where the file sets others: line {}.",
                lines.join(", ")
            ));
        }
        return replace(text, &all[*outermost], &value, said);
    }
    let line = format!("proxy_buffers {value};");
    let top = |name: &str| {
        let named = |i: &usize| {
            all[*i].parent.is_none() && all[*i].words[0] == name && all[*i].close.is_some()
        };
        (0..all.len()).filter(named).collect::<Vec<usize>>()
    };
    if let Some(http) = top("http").first() {
        return append(text, all, *http, &line);
    }
    match top("server")[..] {
        [server] => append(text, all, server, &line),
        [] if all.is_empty() => Some(Edit {
            from: text.len(),
            to: text.len(),
            put: format!("{line}{}", usual_ending(text)),
        }),
        _ => {
            said.push(format!(
                "add `{line}` to the servers that pass to the application."
            ));
            None
        }
    }
}

fn says(directive: &Directive, value: &str) -> bool {
    directive.words[1..].join(" ").eq_ignore_ascii_case(value)
}

/// A directive with another number of words, or over several lines, most likely lacks its `;`, so that its end is not known.
fn replace(text: &str, directive: &Directive, value: &str, said: &mut Vec<String>) -> Option<Edit> {
    let Directive {
        words,
        arguments,
        start,
        ..
    } = directive;
    if says(directive, value) {
        return None;
    }
    if words.len() != value.split(' ').count() + 1 || text[arguments.clone()].contains('\n') {
        let line = line_of(text, *start);
        said.push(format!("line {line}: let it be `{} {value};`.", words[0]));
        return None;
    }
    Some(Edit {
        from: arguments.start,
        to: arguments.end,
        put: value.to_owned(),
    })
}

/// At the end of a block, indented like what stands in it.
fn append(text: &str, all: &[Directive], block: usize, line: &str) -> Option<Edit> {
    let close = all[block].close?;
    let start = line_start(text, close);
    if !text[start..close].trim().is_empty() {
        let space = if text[..close].ends_with(' ') {
            ""
        } else {
            " "
        };
        return Some(Edit {
            from: close,
            to: close,
            put: format!("{space}{line} "),
        });
    }
    let inside = all.iter().rfind(|d| d.parent == Some(block));
    let inside = inside.map(|d| indent(&text[line_start(text, d.start)..]).to_owned());
    let indent = inside.unwrap_or_else(|| format!("{}    ", &text[start..close]));
    Some(Edit {
        from: start,
        to: start,
        put: format!("{indent}{line}{}", usual_ending(text)),
    })
}

fn depth(all: &[Directive], at: usize) -> usize {
    std::iter::successors(all[at].parent, |parent| all[*parent].parent).count()
}

fn line_start(text: &str, at: usize) -> usize {
    text[..at].rfind('\n').map_or(0, |end| end + 1)
}

fn line_of(text: &str, at: usize) -> usize {
    text[..at].matches('\n').count() + 1
}

/// As nginx writes sizes.
fn size(bytes: u64) -> String {
    match bytes {
        whole if whole % (1 << 20) == 0 => format!("{}m", whole >> 20),
        whole if whole % (1 << 10) == 0 => format!("{}k", whole >> 10),
        odd => odd.to_string(),
    }
}

#[cfg(test)]
mod tests;
