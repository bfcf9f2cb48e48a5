//! Writes Grafana's dashboards to `packaging/monitoring/grafana`: `make dashboards`.

mod grafana;
mod panels;

use std::fs;
use std::path::PathBuf;

fn monitoring() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../packaging/monitoring")
}

fn main() -> std::io::Result<()> {
    let folder = monitoring().join("grafana");
    fs::create_dir_all(&folder)?;
    for dashboard in &panels::DASHBOARDS {
        fs::write(
            folder.join(dashboard.file()),
            grafana::dashboard(dashboard, &panels::DASHBOARDS),
        )?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_files_are_what_the_table_says() {
        let folder = monitoring().join("grafana");
        let mut expected = BTreeSet::new();
        for dashboard in &panels::DASHBOARDS {
            let written = fs::read_to_string(folder.join(dashboard.file())).unwrap_or_default();
            let made = grafana::dashboard(dashboard, &panels::DASHBOARDS);
            assert!(
                written == made,
                "{} is another one: make dashboards",
                dashboard.file()
            );
            expected.insert(dashboard.file());
        }
        let there = fs::read_dir(folder).unwrap();
        let there = there.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        assert_eq!(there.collect::<BTreeSet<_>>(), expected);
    }

    /// The names of series that a text asks for, without those of rules, which have a colon, and of the mirror.
    fn asked_for(text: &str) -> BTreeSet<String> {
        let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
        let words = text.split(|c| !is_of_name(c));
        let series =
            words.filter(|word| word.starts_with("powerband_") || word.starts_with("http_server_"));
        series
            .filter(|word| !word.contains(':') && !word.starts_with("powerband_mirror"))
            .map(|word| {
                let suffixes = ["_bucket", "_sum", "_count"];
                let found = suffixes.iter().find_map(|suffix| word.strip_suffix(suffix));
                found.unwrap_or(word).to_owned()
            })
            .collect()
    }

    #[test]
    fn every_series_that_is_asked_for_is_one_of_ours() {
        let shown = metrics::Shown {
            endpoints: 1,
            opentelemetry: true,
        };
        let families = metrics::families(
            &metrics::Sums::default(),
            &metrics::Gauges::default(),
            shown,
        );
        let mut ours: BTreeSet<String> = families.into_iter().map(|family| family.name).collect();
        ours.insert(metrics::Family::build_info("").name);
        let rules = fs::read_to_string(monitoring().join("powerband.rules.yml")).unwrap();
        let mut asked = asked_for(&rules);
        assert!(asked.len() > 10, "{asked:?}");
        for dashboard in &panels::DASHBOARDS {
            let of_this = asked_for(&grafana::dashboard(dashboard, &panels::DASHBOARDS));
            assert!(of_this.len() > 2, "{}", dashboard.title);
            asked.extend(of_this);
        }
        let unknown: Vec<_> = asked.difference(&ours).collect();
        assert!(unknown.is_empty(), "{unknown:?}");
    }

    #[test]
    fn dashboards_use_the_rules_that_are_there() {
        let rules = fs::read_to_string(monitoring().join("powerband.rules.yml")).unwrap();
        for dashboard in &panels::DASHBOARDS {
            let text = grafana::dashboard(dashboard, &panels::DASHBOARDS);
            let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
            let recorded = text
                .split(|c| !is_of_name(c))
                .filter(|word| word.contains(":powerband_"));
            for name in recorded {
                assert!(
                    rules.contains(&format!("record: {name}\n")),
                    "{}: {name}",
                    dashboard.title
                );
            }
        }
    }
}
