//! Files as people write them, and every problem of one.

use super::*;

const WHOLE: &str = r#"
# Five threads or three?
name   = "threads"
key    = "salt"
unit   = "host"
period = "6h"
starts = 2026-12-01T00:00:00+01:00
lasts  = "14d"
looks  = 7

[[arm]]
name = "three"

[[arm]]
name  = "five"
share = "20%"
set   = ["gc.heap_growth_factor=1.3", "allocator=jemalloc"]
[arm.environment]
RAILS_MAX_THREADS = 5

[guardrails]
errors = "1%"
p99    = "+20%"
memory = "+15%"
"#;

fn problems(text: &str) -> Vec<String> {
    let found = read(text).expect_err("problems");
    found.iter().map(ToString::to_string).collect()
}

#[test]
fn a_whole_file() {
    let experiment = read(WHOLE).unwrap();
    assert_eq!(
        (experiment.name.as_str(), experiment.key.as_str()),
        ("threads", "salt")
    );
    assert_eq!(experiment.unit, UnitKind::Host);
    assert_eq!(
        (experiment.period_s, experiment.lasts_s),
        (21_600, 14 * 86_400)
    );
    assert_eq!(experiment.starts_s, 1_796_079_600);
    assert_eq!((experiment.looks, experiment.slice_s), (7, 300));
    let five = &experiment.arms[1];
    assert!((experiment.arms[0].share - 0.8).abs() < 1e-12 && five.share == 0.2);
    let variables = five.variables();
    assert_eq!(variables["RAILS_MAX_THREADS"], "5");
    assert_eq!(variables["RUBY_GC_HEAP_GROWTH_FACTOR"], "1.3");
    assert_eq!(five.knobs.allocator(), Some(knobs::Allocator::Jemalloc));
    let guardrails = experiment.guardrails;
    assert_eq!(
        (guardrails.errors, guardrails.p99, guardrails.memory),
        (Some(0.01), Some(0.2), Some(0.15))
    );
}

#[test]
fn what_is_left_out_has_a_default() {
    let text = "name = 'a'\nstarts = 2026-12-01T00:00:00Z\n[[arm]]\nname = 'x'\n[[arm]]\nname = 'y'\nshare = '50%'\nenvironment = { A = 1 }\n";
    let experiment = read(text).unwrap();
    assert_eq!(
        (experiment.key.as_str(), experiment.unit),
        ("a", UnitKind::Pod)
    );
    assert_eq!(
        (experiment.looks, experiment.period_s, experiment.lasts_s),
        (10, 21_600, 1_209_600)
    );
    assert_eq!(experiment.guardrails, Guardrails::default());
    let limited = read(&format!("{text}[guardrails]\nrestarts = 2.5\n")).unwrap();
    assert_eq!(limited.guardrails.restarts, Some(2.5));
    // A short experiment has short slices.
    let short = text.replace(
        "[[arm]]\nname = 'x'",
        "lasts = '60s'\nperiod = '60s'\nlooks = 2\n[[arm]]\nname = 'x'",
    );
    assert_eq!(read(&short).unwrap().slice_s, 1);
    // A long one has slices that can all be fetched.
    let long = text.replace("[[arm]]\nname = 'x'", "lasts = '366d'\n[[arm]]\nname = 'x'");
    assert_eq!(read(&long).unwrap().slice_s, 1_582);
}

#[test]
fn the_digest_is_of_the_meaning() {
    let digest = |text: &str| read(text).unwrap().digest();
    let whole = digest(WHOLE);
    let commented = WHOLE
        .replace("# Five", "# Perhaps five")
        .replace("\"14d\"", "\"2weeks\"");
    assert_eq!(whole, digest(&commented));
    let others = [
        ("\"salt\"", "\"pepper\""),
        ("MAX_THREADS = 5", "MAX_THREADS = 6"),
        ("=1.3", "=1.4"),
        ("jemalloc", "tcmalloc"),
        ("\"20%\"", "\"21%\""),
        ("\"host\"", "\"pod\""),
        ("\"+15%\"", "\"+16%\""),
        ("looks  = 7", "looks  = 6"),
        ("\"five\"", "\"cinq\""),
    ];
    for (was, is) in others {
        assert_ne!(whole, digest(&WHOLE.replace(was, is)), "{is}");
    }
}

#[test]
fn every_problem_at_once_with_its_line() {
    let text = "name = ''\nunit = 'node'\nperiod = 6\nstarts = 'today'\nlooks = 11\nweeks = 2\n\
                [[arm]]\nname = 'a b'\nshare = '50%'\n\
                [[arm]]\nname = 'five'\nshare = '60%'\nset = ['gc.nothing=1', 'front.x', 'ruby=3.4']\n\
                [arm.environment]\nRUBYOPT = '-W'\n'A-B' = 1\nC = [1]\n\
                [guardrails]\np99 = '20%'\nerrors = '200%'\nlatency = '1%'\nmemory = '+2000%'\nrestarts = '2 a day'\n";
    let found = problems(text);
    let starts = |line: usize, words: &str| {
        let head = format!("line {line}: {words}");
        assert!(
            found.iter().any(|problem| problem.starts_with(&head)),
            "{head}\n{found:#?}"
        );
    };
    starts(1, "name = \"\": no name");
    starts(
        2,
        "unit = \"node\": no kind of unit; give pod, host or process",
    );
    starts(3, "period = \"6\": a time without a unit");
    starts(4, "starts = \"today\": no instant");
    starts(
        5,
        "looks = \"11\": out of range; give a whole number from 1 to 10",
    );
    starts(6, "weeks: unknown key; the keys here are name,");
    starts(8, "arm.name = \"a b\"");
    starts(
        9,
        "arm.share = \"50%\": the first arm has what the others leave",
    );
    starts(12, "arm.share = \"60%\": out of range; give 5% to 50%");
    starts(13, "arm.set = \"gc.nothing=1\"");
    starts(13, "arm.set = \"front.x\": no knob");
    starts(13, "arm.set = \"ruby\": no knob of the environment");
    starts(15, "arm.environment.RUBYOPT: the agent needs it");
    starts(16, "arm.environment.A-B: no name of a variable");
    starts(17, "arm.environment.C: a array where a plain value belongs");
    starts(
        19,
        "guardrails.p99 = \"20%\": no increase in per cent; give +1% to +1000%, such as +2%",
    );
    starts(20, "guardrails.errors = \"200%\": out of range");
    starts(21, "guardrails.latency: unknown key");
    starts(
        22,
        "guardrails.memory = \"+2000%\": out of range; give +1% to +1000%",
    );
    starts(
        23,
        "guardrails.restarts = \"2 a day\": no number in this range; give a number from 0.1 to 1000",
    );
}

#[test]
fn what_does_not_go_together() {
    let base = "name = 'a'\nstarts = 2026-12-01T00:00:00Z\nlasts = '1h'\nperiod = '1h'\n[[arm]]\nname = 'x'\n";
    let other = |name: &str, share: &str| {
        format!("[[arm]]\nname = '{name}'\nshare = '{share}'\nenvironment = {{ A = '{name}' }}\n")
    };
    assert!(problems(base)[0].contains("1 arms"));
    let all = [base, &other("y", "50%"), &other("z", "48%")].concat();
    assert!(problems(&all)[0].contains("the first arm has 2 % left"));
    let twice = [base, &other("x", "50%")].concat();
    assert!(problems(&twice)[0].contains("x is there twice"));
    let long = [base, &other("y", "50%")]
        .concat()
        .replace("period = '1h'", "period = '2h'");
    assert!(problems(&long)[0].starts_with("line 4: period = \"2h\": longer than the experiment"));
    let coarse = [base, &other("y", "50%")]
        .concat()
        .replace("period = '1h'", "slice = '5m'\nperiod = '1h'");
    assert!(problems(&coarse)[0].starts_with("line 4: slice = \"5m\": each of 10 looks has 360 s"));
    let fine = [base, &other("y", "50%")].concat().replace(
        "lasts = '1h'\nperiod = '1h'",
        "lasts = '366d'\nslice = '5m'",
    );
    assert_eq!(
        problems(&fine),
        [
            "line 4: slice = \"5m\": the experiment has 105408 slices, and at most 20000 are fetched; give a slice of 1582s or more"
        ]
    );
    let preloaded = [
        base,
        "[[arm]]\nname = 'y'\nshare = '50%'\nset = ['allocator=jemalloc']\nenvironment = { LD_PRELOAD = 'x.so' }\n",
    ];
    assert_eq!(
        problems(&preloaded.concat()),
        [
            "line 7: arm.environment: LD_PRELOAD is also what a knob of arm.set sets; give one of them"
        ]
    );
    let same = [base, "[[arm]]\nname = 'y'\nshare = '50%'\n"].concat();
    assert!(problems(&same)[0].contains("differs in nothing"));
    let holdout = read(&format!("{same}holdout = true\n")).unwrap();
    assert_eq!(holdout.holdout(), Some(1));
    assert_ne!(
        holdout.digest(),
        read(&all.replace("'48%'", "'40%'")).unwrap().digest()
    );
    let with_settings = format!("{same}holdout = true\nset = ['allocator=jemalloc']\n");
    assert!(problems(&with_settings)[0].contains("a holdout has the settings of the first arm"));
    assert!(
        problems(&format!("{same}holdout = 'yes'\n"))[0]
            .contains("neither true nor false; give true or false")
    );
    let of_first = base.replace("name = 'x'\n", "name = 'x'\nholdout = true\n");
    let of_first = format!("{of_first}{}", other("y", "50%"));
    assert!(problems(&of_first)[0].contains("the first arm is what a holdout is compared with"));
    let second = "[[arm]]\nname = 'z'\nshare = '10%'\nholdout = true\n";
    let two = format!("{same}holdout = true\n{second}");
    assert!(problems(&two)[0].contains("two arms have holdout = true"));
    assert!(problems("name = ")[0].starts_with("line 1: the file: no TOML"));
    assert_eq!(problems("").len(), 3, "{:?}", problems(""));
}
