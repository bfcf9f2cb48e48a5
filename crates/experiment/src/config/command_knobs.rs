//! The knobs that `tune` searches for a command, and what runs today.

use super::command::{no_knob, of_a_server, of_servers};
use super::{Asked, Problem, Request, parse_baseline, placeholders, search_knobs};
use crate::request::{Arm, Goal, SearchKnob};
use knobs::{Allocator, ENV, GEM, Overlay, VALUE};
use run::Settings;

/// The knobs that `tune` searches for a command, without the values that run today, and these.
pub fn searched(request: &Request, problems: &mut Vec<Problem>) -> (Vec<SearchKnob>, Overlay) {
    let is_setting = |asked: &&Asked| {
        let name = asked.text.split('=').next().unwrap_or_default();
        knobs::SETTINGS.contains(&name.trim())
    };
    let (settings, asked): (Vec<&Asked>, Vec<&Asked>) = request.knobs.iter().partition(is_setting);
    problems.extend(settings.iter().flat_map(|asked| of_servers(asked)));
    let asked: Vec<Asked> = asked.into_iter().cloned().collect();
    let mut knobs = match search_knobs::resolve(&asked, &Goal::Tune) {
        Ok(knobs) => knobs,
        Err(found) => {
            problems.extend(found);
            return Default::default();
        }
    };
    let is_of_server = |knob: &SearchKnob| {
        let values = knob.values.iter();
        let mut overlays = values.filter_map(|value| Overlay::of(&[(&knob.name, value)]).ok());
        overlays.any(|overlay| !of_a_server(&overlay).is_empty())
    };
    // What is usual for servers is not asked for.
    knobs.retain(|knob| !(knob.usual && is_of_server(knob)));
    let of_servers = knobs.iter().filter(|knob| is_of_server(knob));
    problems.extend(of_servers.map(|knob| no_knob(&knob.name, "")));
    let mut today = baseline(request, problems);
    if let Some(command) = &request.workload_command {
        let names = today.placeholders().into_keys();
        let typed = names.filter(|name| {
            !knobs
                .iter()
                .any(|knob| knob.name == format!("{VALUE}{name}"))
        });
        problems
            .extend(typed.filter_map(|name| placeholders::fills_nothing(&name, &[&command.text])));
    }
    for knob in &mut knobs {
        problems.extend(without_today(knob, &mut today, request));
    }
    knobs.retain(|knob| !knob.usual || !knob.values.is_empty());
    if knobs.is_empty() && settings.is_empty() {
        let asked = request.workload_command.as_ref();
        problems.push(Problem::with(
            format!(
                "{}: no knob is named whose values tune could try with the command",
                asked.map_or("--workload-command", |asked| &asked.origin)
            ),
            "name one with its values, such as --knobs value.concurrency=5,10,25 for {concurrency} in the command",
        ));
    }
    problems.extend(of_several_bundles(&knobs, &today));
    problems.extend(without_allocator(&knobs, &today));
    (knobs, today)
}

/// Gems with another setting that a bundle depends on: bundles are made for each value by itself, and not for several together.
fn of_several_bundles(knobs: &[SearchKnob], today: &Overlay) -> Option<Problem> {
    let gem = |name: &str| name.starts_with(GEM);
    let all: Vec<String> = (knobs.iter().map(|knob| knob.name.clone()))
        .chain(today.chosen().into_iter().map(|chosen| chosen.knob))
        .collect();
    let mut of_bundles = all
        .iter()
        .filter(|name| gem(name) || name.starts_with(ENV) || *name == "gemfile");
    let named = all.iter().find(|name| gem(name))?;
    (of_bundles.nth(1).is_some()).then(|| {
        Problem::with(
            format!("{named}: tune cannot combine the version of a gem with another gem, gemfile or env.NAME"),
            "search it alone, or compare the combinations with powerband compare",
        )
    })
}

/// Options of an allocator that neither runs today nor is searched.
fn without_allocator(knobs: &[SearchKnob], today: &Overlay) -> Vec<Problem> {
    if knobs.iter().any(|knob| knob.name == "allocator") {
        return Vec::new();
    }
    let needed = |knob: &SearchKnob| {
        let mut values = knob.values.iter();
        values.find_map(|value| Overlay::of(&[(&knob.name, value)]).ok()?.needs())
    };
    let lacking = knobs
        .iter()
        .filter_map(|knob| Some((knob, needed(knob)?.1)));
    let lacking = lacking
        .filter(|(_, whose)| *whose != Allocator::Glibc && today.allocator() != Some(*whose));
    lacking
        .map(|(knob, whose)| {
            Problem::with(
                format!("{} has no effect without {}", knob.name, whose.name()),
                format!(
                    "add --baseline allocator={0} or --knobs allocator={0}",
                    whose.name()
                ),
            )
        })
        .collect()
}

/// What `--baseline` or the file's `[baseline]` sets for a command.
fn baseline(request: &Request, problems: &mut Vec<Problem>) -> Overlay {
    let Some(asked) = &request.baseline else {
        return Overlay::default();
    };
    // A file's may be a server's, too.
    if asked.origin.starts_with("--") {
        problems.extend(of_servers(asked));
    }
    match parse_baseline(asked, &Arm::of(Settings::PUMA_DEFAULT)) {
        Ok(arm) => {
            let knobs = of_a_server(&arm.overlay);
            problems.extend(knobs.iter().map(|knob| no_knob(knob, "")));
            arm.overlay
        }
        Err(found) => {
            problems.extend(found);
            Overlay::default()
        }
    }
}

/// Takes today's value out of those that are tried. A placeholder has to have one: without a baseline it is the first.
fn without_today(knob: &mut SearchKnob, today: &mut Overlay, request: &Request) -> Vec<Problem> {
    let mut problems = Vec::new();
    let placeholder = knob.name.strip_prefix(VALUE);
    if let (Some(name), Some(command)) = (placeholder, &request.workload_command) {
        problems.extend(placeholders::fills_nothing(name, &[&command.text]));
    }
    let runs = |value: &str, today: &Overlay| {
        Overlay::of(&[(&knob.name, value)]).is_ok_and(|value| today.holds(&value))
    };
    let named = today.chosen().iter().any(|chosen| chosen.knob == knob.name);
    if placeholder.is_some()
        && !named
        && let Some(first) = knob.values.first()
        && let Err(wrong) = today.set(&knob.name, first)
    {
        problems.push(Problem::with(wrong.what, wrong.remedy));
    }
    let others = knob.values.iter().filter(|value| !runs(value, today));
    let mut others: Vec<String> = others.cloned().collect();
    let contradictions = |value: &String| {
        let mut with = today.clone();
        let set = with.set(&knob.name, value);
        set.map_or_else(|_| Vec::new(), |()| with.contradictions())
    };
    if knob.usual {
        // Nobody named it: what does not go with the baseline is left out.
        others.retain(|value| contradictions(value).is_empty());
        knob.values = others;
        return problems;
    }
    let wrong = others.iter().flat_map(contradictions);
    problems.extend(wrong.map(|wrong| Problem::with(wrong.what, wrong.remedy)));
    if others.is_empty() {
        problems.push(Problem::with(
            format!("{} has one value, which runs today already", knob.name),
            format!("give others too, such as --knobs {}=V1,V2", knob.name),
        ));
    }
    knob.values = others;
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The knobs as they are tried, what runs today, and what is wrong.
    fn searched_for(
        command: &str,
        knobs: &[&str],
        baseline: Option<&str>,
    ) -> (Vec<String>, String, Vec<String>) {
        let asked = |text: &&str| Asked::new(*text, "--knobs");
        let request = Request {
            workload_command: Some(Asked::new(command, "--workload-command")),
            knobs: knobs.iter().map(asked).collect(),
            baseline: baseline.map(|text| Asked::new(text, "--baseline")),
            ..Request::default()
        };
        let mut problems = Vec::new();
        let (knobs, today) = searched(&request, &mut problems);
        let shown = |knob: &SearchKnob| format!("{}={}", knob.name, knob.values.join(","));
        let problems = problems.iter().map(ToString::to_string).collect();
        (
            knobs.iter().map(shown).collect(),
            today.to_string(),
            problems,
        )
    }

    #[test]
    fn what_runs_today_is_the_baseline_s_value_and_else_the_first_of_a_placeholder() {
        let command = "sidekiq -c {concurrency}";
        let knobs = ["value.concurrency=5,10,25", "gc.malloc_limit=32MiB"];
        let (tried, today, wrong) = searched_for(command, &knobs, None);
        let others = ["value.concurrency=10,25", "gc.malloc_limit=32MiB"];
        assert_eq!(
            (tried, today.as_str(), wrong),
            (
                others.map(str::to_owned).to_vec(),
                "value.concurrency=5",
                Vec::new()
            )
        );
        let baseline = "value.concurrency=10,env.QUEUE=low";
        let (tried, today, wrong) = searched_for(command, &knobs[..1], Some(baseline));
        assert_eq!(tried, ["value.concurrency=5,25"]);
        assert_eq!(today, "env.QUEUE=low, value.concurrency=10");
        assert_eq!(wrong, [""; 0]);
    }

    #[test]
    fn a_search_without_anything_to_try_or_with_knobs_of_a_server_is_refused() {
        let command = "sidekiq -c {concurrency}";
        for (knobs, baseline, said) in [
            (&[][..], None, "no knob is named"),
            (&["value.concurrency=5"], None, "has one value"),
            (&["value.size=5,6"], None, "value.size fills nothing"),
            (&["threads=1,2"], None, "threads in --knobs is a server's"),
            (&["warmup=on"], None, "warmup is a server's"),
            (&["yjit=on"], Some("workers=2"), "workers in --baseline is"),
            (&["yjit=on"], Some("pool=2"), "pool is a server's"),
            (
                &["malloc_arena_max=2"],
                Some("allocator=jemalloc"),
                "malloc_arena_max means nothing to jemalloc",
            ),
        ] {
            let (_, _, wrong) = searched_for(command, knobs, baseline);
            assert_eq!(wrong.len(), 1, "{knobs:?}: {wrong:?}");
            assert!(wrong[0].contains(said), "{wrong:?}");
        }
        // What is usual for a server and means nothing here is left out.
        let (tried, _, wrong) = searched_for(command, &["usual"], None);
        assert_eq!(wrong, [""; 0]);
        assert!(
            tried.contains(&"malloc_arena_max=2".to_owned()),
            "{tried:?}"
        );
        assert!(
            !tried.iter().any(|knob| knob.starts_with("warmup")),
            "{tried:?}"
        );
    }

    #[test]
    fn what_a_search_cannot_measure_is_refused() {
        let wrong = |command, knobs: &[&str], baseline| searched_for(command, knobs, baseline).2;
        let gems = wrong("rake", &["gem.rack=2.2,3.1"], Some("env.QUEUE=low"));
        assert!(
            gems[0].starts_with("gem.rack: tune cannot combine"),
            "{gems:?}"
        );
        assert_eq!(wrong("rake", &["gem.rack=2.2,3.1"], None), [""; 0]);
        let alone = wrong("rake", &["malloc_conf=narenas:2"], None);
        assert!(
            alone[0].starts_with(
                "malloc_conf has no effect without jemalloc; add --baseline allocator=jemalloc"
            ),
            "{alone:?}"
        );
        let named = Some("allocator=jemalloc");
        assert_eq!(wrong("rake", &["malloc_conf=narenas:2"], named), [""; 0]);
        let misspelt = wrong("rake {jobs}", &["value.jobs=1,2"], Some("value.job=2"));
        assert!(
            misspelt[0].starts_with("value.job fills nothing"),
            "{misspelt:?}"
        );
    }

    #[test]
    fn a_usual_knob_that_does_not_go_with_the_baseline_is_left_out() {
        let (tried, _, wrong) = searched_for("rake", &["usual"], Some("allocator=jemalloc"));
        assert_eq!(wrong, [""; 0]);
        assert!(
            !tried
                .iter()
                .any(|knob| knob.starts_with("malloc_arena_max")),
            "{tried:?}"
        );
    }
}
