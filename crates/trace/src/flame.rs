//! Flame graphs of call sites: speedscope's own format, and folded stacks, which Firefox Profiler, speedscope and
//! flamegraph.pl open. The class of the objects is the innermost frame.

use crate::survivors::{Fate, Sites};
use flight::survivors::{Site, Step};
use serde_json::{Value, json};
use std::collections::HashMap;
use std::io::{self, Write};

const FATES: [(Fate, &str); 2] = [(Fate::Old, "become old"), (Fate::Young, "die young")];

/// Writes a file for <https://www.speedscope.app>: objects and bytes of each fate, estimated for all objects from one in
/// `every`.
///
/// # Errors
/// When `to` cannot be written.
pub fn write_speedscope(
    to: &mut impl Write,
    sites: &Sites,
    every: u32,
    exporter: &str,
) -> io::Result<()> {
    let mut frames = Frames::default();
    let stacks: Vec<Vec<usize>> = (sites.sites.iter())
        .map(|site| frames.stack(sites, site))
        .collect();
    let mut profiles = Vec::new();
    for (fate, name) in FATES {
        profiles.push(profile(
            sites,
            &stacks,
            &format!("objects that {name}"),
            "none",
            |site| fate.count(site).saturating_mul(u64::from(every)),
        ));
        profiles.push(profile(
            sites,
            &stacks,
            &format!("bytes of objects that {name}"),
            "bytes",
            |site| fate.bytes(site).saturating_mul(u64::from(every)),
        ));
    }
    let document = json!({
        "$schema": "https://www.speedscope.app/file-format-schema.json",
        "name": "survivors",
        "exporter": exporter,
        "activeProfileIndex": 0,
        "shared": {"frames": frames.all},
        "profiles": profiles,
    });
    serde_json::to_writer(&mut *to, &document)?;
    to.write_all(b"\n")
}

fn profile(
    sites: &Sites,
    stacks: &[Vec<usize>],
    name: &str,
    unit: &str,
    weight: impl Fn(&Site) -> u64,
) -> Value {
    let weighed = || {
        let weights = sites.sites.iter().map(&weight);
        stacks.iter().zip(weights).filter(|(_, weight)| *weight > 0)
    };
    let total: u64 = weighed()
        .map(|(_, weight)| weight)
        .fold(0, u64::saturating_add);
    json!({
        "type": "sampled", "name": name, "unit": unit, "startValue": 0, "endValue": total,
        "samples": weighed().map(|(stack, _)| stack).collect::<Vec<_>>(),
        "weights": weighed().map(|(_, weight)| weight).collect::<Vec<_>>(),
    })
}

/// The frames of the file: one for each line of a method, and one for each class.
#[derive(Default)]
struct Frames {
    all: Vec<Value>,
    steps: HashMap<(usize, u32), usize>,
    classes: HashMap<String, usize>,
}

impl Frames {
    /// From the outermost to the class.
    fn stack(&mut self, sites: &Sites, site: &Site) -> Vec<usize> {
        let mut stack: Vec<usize> = (site.steps.iter().rev())
            .map(|step| self.step(sites, step))
            .collect();
        let all = &mut self.all;
        let class = self.classes.entry(site.class.clone()).or_insert_with(|| {
            all.push(json!({"name": site.class}));
            all.len() - 1
        });
        stack.push(*class);
        stack
    }

    fn step(&mut self, sites: &Sites, step: &Step) -> usize {
        let all = &mut self.all;
        *self
            .steps
            .entry((step.frame, step.line))
            .or_insert_with(|| {
                let frame = &sites.frames[step.frame];
                all.push(match step.line {
                    0 => json!({"name": frame.label}),
                    line => json!({"name": frame.label, "file": frame.path, "line": line}),
                });
                all.len() - 1
            })
    }
}

/// Writes folded stacks: a line for each site and fate, with the number of sampled objects. Firefox Profiler makes a sample
/// of each, so estimates for all objects would be too many for it. The outermost frame is the fate.
///
/// # Errors
/// When `to` cannot be written.
pub fn write_folded(to: &mut impl Write, sites: &Sites) -> io::Result<()> {
    for (fate, name) in FATES {
        for site in &sites.sites {
            let count = fate.count(site);
            if count == 0 {
                continue;
            }
            write!(to, "{name}")?;
            for step in site.steps.iter().rev() {
                write!(to, ";{}", folded(sites, step))?;
            }
            writeln!(to, ";{} {count}", plain(&site.class))?;
        }
    }
    Ok(())
}

fn folded(sites: &Sites, step: &Step) -> String {
    let frame = &sites.frames[step.frame];
    match step.line {
        0 => plain(&frame.label),
        line => plain(&format!("{} {}:{line}", frame.label, frame.path)),
    }
}

/// Without what separates frames and lines.
fn plain(text: &str) -> String {
    text.replace(';', ":").replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::survivors::samples::{frame, recording, site};
    use crate::survivors::sites;

    fn two() -> Sites {
        let frames = vec![
            frame("/a.rb", "block in A;a"),
            frame("<cfunc>", "Integer#times"),
        ];
        let found = vec![
            site("String", &[(1, 0), (0, 3)], 2, 0),
            site("Hash", &[(0, 4)], 1, 5),
        ];
        sites([&recording(frames, found)])
    }

    #[test]
    fn speedscope_has_objects_and_bytes_of_each_fate() {
        let mut bytes = Vec::new();
        write_speedscope(&mut bytes, &two(), 100, "powerband 1").unwrap();
        let document: Value = serde_json::from_slice(&bytes).unwrap();
        let frames = document["shared"]["frames"].as_array().unwrap();
        let profiles = document["profiles"].as_array().unwrap();
        assert_eq!(profiles.len(), 4);
        assert_eq!(profiles[0]["weights"], json!([200, 100]));
        assert_eq!(profiles[0]["endValue"], 300);
        assert_eq!(profiles[1]["weights"], json!([8_000, 4_000]));
        assert_eq!(
            profiles[2]["weights"],
            json!([500]),
            "no sample without a weight"
        );
        let named: Vec<&Value> = (profiles[0]["samples"][0].as_array().unwrap().iter())
            .map(|index| &frames[index.as_u64().unwrap() as usize]["name"])
            .collect();
        assert_eq!(named, ["block in A;a", "Integer#times", "String"]);
        assert_eq!(
            frames[0],
            json!({"name": "block in A;a", "file": "/a.rb", "line": 3})
        );
    }

    #[test]
    fn folded_stacks_have_a_line_for_each_site_and_fate() {
        let mut bytes = Vec::new();
        write_folded(&mut bytes, &two()).unwrap();
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            "become old;block in A:a /a.rb:3;Integer#times;String 2\n\
             become old;block in A:a /a.rb:4;Hash 1\n\
             die young;block in A:a /a.rb:4;Hash 5\n"
        );
    }
}
