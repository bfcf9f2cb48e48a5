//! `powerband.toml` as text values: which keys there are, and that nothing else is written there.
//!
//! The values themselves are checked where flags are checked, in `resolve`.

use super::named_files::NamedFiles;
use super::sections::Reader;
use super::{Asked, Problem, Request};
use std::path::Path;
use toml::Table;

/// Reads the text of `powerband.toml`; `path` is where it lies, for messages and relative names.
///
/// # Errors
/// Every problem of the file itself; [`read_all`] gives what could be read as well.
pub fn read_file(text: &str, path: &Path) -> Result<Request, Vec<Problem>> {
    let (request, problems) = read_all(text, path);
    if problems.is_empty() {
        Ok(request)
    } else {
        Err(problems)
    }
}

/// The tables of a file.
///
/// # Errors
/// It is not TOML.
pub fn tables(text: &str, path: &Path) -> Result<Table, Problem> {
    text.parse::<Table>().map_err(|e| {
        let what = format!(
            "{} is not TOML: {}",
            path.display(),
            e.to_string().trim_end()
        );
        Problem::with(what, "correct the line that it names")
    })
}

/// What a file is called in the origins of its values.
pub fn short_name(path: &Path) -> String {
    path.file_name().map_or_else(
        || path.display().to_string(),
        |n| n.to_string_lossy().into_owned(),
    )
}

/// What could be read, and every problem, so that those of the values can be reported with those of the
/// file.
pub fn read_all(text: &str, path: &Path) -> (Request, Vec<Problem>) {
    let base_dir = path.parent().map(Path::to_path_buf).unwrap_or_default();
    let mut request = Request {
        base_dir,
        ..Request::default()
    };
    let mut table = match tables(text, path) {
        Ok(table) => table,
        Err(problem) => return (request, vec![problem]),
    };
    let mut reader = Reader {
        file: short_name(path),
        problems: Vec::new(),
    };

    if let Some(mut app) = reader.section(&mut table, "app") {
        request.app_dir = reader.text(&mut app, "app", "dir");
        request.prepare = reader.text(&mut app, "app", "prepare");
        request.environment = reader.text(&mut app, "app", "environment");
        if let Some(mut env) = reader.section_in(&mut app, "app", "env") {
            let keys: Vec<String> = env.keys().cloned().collect();
            for key in keys {
                if let Some(value) = reader.text(&mut env, "app.env", &key) {
                    request.env.insert(key, value);
                }
            }
        }
        reader.rest(app, "app", &["dir", "prepare", "environment", "env"]);
    }
    if let Some(mut server) = reader.section(&mut table, "server") {
        request.kind = reader.text(&mut server, "server", "kind");
        request.command = reader.text(&mut server, "server", "command");
        request.server_config = reader.text(&mut server, "server", "config");
        request.front = reader.text(&mut server, "server", "front");
        request.tls = reader.text(&mut server, "server", "tls");
        request.ready_path = reader.text(&mut server, "server", "ready_path");
        request.boot_timeout = reader.text(&mut server, "server", "boot_timeout");
        request.port = reader.text(&mut server, "server", "port");
        reader.rest(
            server,
            "server",
            &[
                "kind",
                "command",
                "config",
                "front",
                "tls",
                "ready_path",
                "boot_timeout",
                "port",
            ],
        );
    }
    request.services = reader.services(&mut table);
    if let Some(baseline) = reader.section(&mut table, "baseline") {
        let origin = format!("baseline in {}", reader.file);
        let mut settings = Vec::new();
        reader.typed(&baseline, "", "baseline", &mut settings);
        request.baseline = Some(Asked::new(settings.join(","), origin));
    }
    request.arms = reader.arms(&mut table);
    if let Some(mut objective) = reader.section(&mut table, "objective") {
        request.slo = reader.text(&mut objective, "objective", "slo");
        request.max_memory = reader.text(&mut objective, "objective", "max_memory");
        request.rate = reader.text(&mut objective, "objective", "rate");
        request.least = reader.text(&mut objective, "objective", "least");
        request.total_rate = reader.text(&mut objective, "objective", "total_rate");
        request.server_cost = reader.text(&mut objective, "objective", "server_cost");
        let keys = [
            "slo",
            "max_memory",
            "rate",
            "least",
            "total_rate",
            "server_cost",
        ];
        reader.rest(objective, "objective", &keys);
    }
    if let Some(mut tune) = reader.section(&mut table, "tune") {
        request.knobs = reader.texts(&mut tune, "tune", "knobs");
        for (key, place) in [
            ("budget", &mut request.budget),
            ("blocks", &mut request.blocks),
            ("calibrate", &mut request.calibrate),
            ("max_arms", &mut request.max_arms),
            ("earlier_runs", &mut request.earlier_runs),
            ("margin", &mut request.margin),
            ("seed", &mut request.seed),
            ("threads", &mut request.threads),
            ("workers", &mut request.workers),
            ("window", &mut request.window),
            ("age", &mut request.age),
            ("timeout", &mut request.timeout),
            ("connections", &mut request.connections),
            ("generator_core", &mut request.generator_core),
            ("keep_alive", &mut request.keep_alive),
            ("runs_dir", &mut request.runs_dir),
        ] {
            *place = reader.text(&mut tune, "tune", key);
        }
        reader.rest(
            tune,
            "tune",
            &[
                "budget",
                "blocks",
                "calibrate",
                "max_arms",
                "earlier_runs",
                "margin",
                "seed",
                "threads",
                "workers",
                "window",
                "age",
                "timeout",
                "connections",
                "generator_core",
                "keep_alive",
                "knobs",
                "runs_dir",
            ],
        );
    }
    if let Some(mut files) = reader.section(&mut table, "files") {
        request.files = NamedFiles::of(|key| reader.text(&mut files, "files", key));
        reader.rest(files, "files", &NamedFiles::KEYS);
    }
    if let Some(mut safety) = reader.section(&mut table, "safety") {
        request.allow_unsafe = reader.text(&mut safety, "safety", "allow_unsafe");
        request.allow_remote = reader.texts(&mut safety, "safety", "allow_remote");
        reader.rest(safety, "safety", &["allow_unsafe", "allow_remote"]);
    }
    if let Some(mut check) = reader.section(&mut table, "check") {
        request.against = reader.text(&mut check, "check", "against");
        request.revision = reader.text(&mut check, "check", "revision");
        request.assertions = reader.texts(&mut check, "check", "assert");
        reader.rest(check, "check", &["against", "revision", "assert"]);
    }
    if let Some(mut hooks) = reader.section(&mut table, "hooks") {
        request.before_trial = reader.text(&mut hooks, "hooks", "before_trial");
        request.after_trial = reader.text(&mut hooks, "hooks", "after_trial");
        reader.rest(hooks, "hooks", &["before_trial", "after_trial"]);
    }
    if let Some(mut workload) = reader.section(&mut table, "workload") {
        request.workload_file = reader.text(&mut workload, "workload", "file");
        request.replay_host = reader.text(&mut workload, "workload", "replay_host");
        request.path = reader.text(&mut workload, "workload", "path");
        request.headers = reader.texts(&mut workload, "workload", "headers");
        request.workload_command = reader.text(&mut workload, "workload", "command");
        request.command_timeout = reader.text(&mut workload, "workload", "command_timeout");
        let mut inline = Table::new();
        for key in ["request", "session"] {
            inline.extend(
                workload
                    .remove(key)
                    .map(|entries| (key.to_owned(), entries)),
            );
        }
        if !inline.is_empty() {
            let origin = format!("workload in {}", reader.file);
            request.workload_inline = Some(Asked::new(inline.to_string(), origin));
        }
        reader.rest(
            workload,
            "workload",
            &[
                "file",
                "replay_host",
                "path",
                "headers",
                "request",
                "session",
                "command",
                "command_timeout",
            ],
        );
    }
    let sections = [
        "app",
        "server",
        "service",
        "baseline",
        "arm",
        "objective",
        "tune",
        "check",
        "files",
        "safety",
        "hooks",
        "workload",
    ];
    for key in table.keys() {
        reader.unknown(key, &sections);
    }
    (request, reader.problems)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Request, Vec<Problem>> {
        read_file(text, Path::new("/app/powerband.toml"))
    }

    #[test]
    fn every_key_finds_its_place() {
        let request = read(
            "[app]\ndir = '.'\n[app.env]\nA = 1\n[server]\nport = 3000\n[baseline]\nthreads = 3\nworkers = 0\n\
             [objective]\nslo = 'p99=250ms'\n[tune]\nthreads = [1, 2]\nbudget = '8m'\nage = '50k-requests'\nkeep_alive = true\n[workload]\nheaders = ['Authorization: a, b', 'X-A: c']\n[safety]\nallow_unsafe = true\nallow_remote = ['db.staging:5432', 'cache:6379']\n\
             [[service]]\nname = 'upstream'\ncommand = 'ruby x.rb {port}'\nport_env = 'UPSTREAM_PORT'\n\
             [[workload.request]]\npath = '/'\n[[workload.session]]\n[[workload.session.request]]\npath = '/a'\n",
        )
        .unwrap();
        assert_eq!(request.base_dir, Path::new("/app"));
        assert_eq!(request.age.as_ref().unwrap().text, "50k-requests");
        let origin = "tune.age in powerband.toml";
        assert_eq!(request.age.as_ref().unwrap().origin, origin);
        assert_eq!(request.env["A"].text, "1");
        assert_eq!(request.threads.unwrap().text, "1,2");
        assert_eq!(request.baseline.unwrap().text, "threads=3,workers=0");
        assert_eq!(
            request.budget.unwrap().origin,
            "tune.budget in powerband.toml"
        );
        let allowed = request.allow_remote.iter().map(|a| a.text.as_str());
        assert!(allowed.eq(["db.staging:5432", "cache:6379"]));
        assert_eq!(request.services[0].name.text, "upstream");
        let headers = request.headers.iter().map(|h| h.text.as_str());
        assert!(headers.eq(["Authorization: a, b", "X-A: c"]));
        assert_eq!(request.keep_alive.unwrap().text, "true");
        let workload = load::Workload::from_toml(&request.workload_inline.unwrap().text).unwrap();
        assert_eq!(workload.names(), ["GET /", "GET /a"]);
    }

    #[test]
    fn what_a_file_gives_is_listed_and_its_secrets_are_not() {
        let file = read(
            "[app]\nprepare = 'bin/prepare'\n[app.env]\nTOKEN = 'hunter2'\n[objective]\nslo = 'p99=250ms'\n\
             [tune]\nbudget = '3m'\nblocks = 6\n[[workload.request]]\npath = '/'\n",
        )
        .unwrap();
        let flags = Request {
            blocks: Some(Asked::new("8", "--blocks")),
            ..Request::default()
        };
        let mut request = flags.or(file);
        assert_eq!(
            request.given_by("powerband.toml"),
            "slo = \"p99=250ms\", budget = \"3m\", [app], [workload]"
        );
        request.quick = Some(Asked::new("true", "--quick"));
        let given = request.given_by("powerband.toml");
        assert_eq!(given, "slo = \"p99=250ms\", [app], [workload]");
        assert_eq!(Request::default().given_by("powerband.toml"), "");
    }

    #[test]
    fn what_a_file_says_has_the_name_of_that_file() {
        let text = "[workload]\nrequest = []\n[baseline]\nthreads = 3\n";
        let request = read_file(text, Path::new("/app/ci.toml")).unwrap();
        let inline = request.workload_inline.unwrap();
        assert_eq!(inline.origin, "workload in ci.toml");
        assert_eq!(request.baseline.unwrap().origin, "baseline in ci.toml");
    }

    #[test]
    fn knobs_of_the_environment_are_typed_as_on_the_command_line() {
        let request = read(
            "[baseline]\nthreads = 3\nyjit = true\nmalloc_conf = 'narenas:2,tcache:false'\n\
             [baseline.gc]\nmalloc_limit = '32MiB'\nheap_growth_factor = 1.1\n[baseline.env]\nGREETING = 'a,b=c'\n",
        )
        .unwrap();
        let arm = crate::config::parse_arm(
            &request.baseline.unwrap(),
            &crate::Arm::of(run::Settings::PUMA_DEFAULT),
        )
        .unwrap();
        assert_eq!(arm.settings.threads, 3);
        let variables = arm.overlay.variables();
        for (variable, value) in [
            ("RUBY_YJIT_ENABLE", "1"),
            ("MALLOC_CONF", "narenas:2,tcache:false"),
            ("RUBY_GC_MALLOC_LIMIT", "33554432"),
            ("RUBY_GC_HEAP_GROWTH_FACTOR", "1.1"),
            ("GREETING", "a,b=c"),
        ] {
            assert_eq!(variables[variable], value, "{variable}");
        }
    }

    #[test]
    fn versions_are_text() {
        let request = read("[baseline]\nruby = '3.10'\n[baseline.gem]\npuma = '8.0'\n").unwrap();
        assert_eq!(request.baseline.unwrap().text, "gem.puma=8.0,ruby=3.10");
        let problems = read("[baseline]\nruby = 3.10\npuma = 8.0\n").unwrap_err();
        let text = problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n");
        for key in ["baseline.ruby in", "baseline.puma in"] {
            assert!(text.contains(key), "{text}");
        }
        assert!(text.contains("write it in quotes"), "{text}");
    }

    #[test]
    fn all_unknown_keys_are_told_at_once() {
        let problems = read("[tune]\nbugdet = '8m'\n[sever]\n[app]\ndirr = '.'\n").unwrap_err();
        let text = problems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join("\n");
        for (key, meant) in [
            ("tune.bugdet", "tune.budget"),
            ("sever", "server"),
            ("app.dirr", "app.dir"),
        ] {
            assert!(text.contains(key), "{key} is missing in {text}");
            let remedy = format!("did you mean {meant}?");
            assert!(text.contains(&remedy), "{remedy} is missing in {text}");
        }
    }

    #[test]
    fn text_that_is_no_toml_names_the_line() {
        let problems = read("[tune\nbudget = 8").unwrap_err();
        assert!(
            problems[0].to_string().contains("line 1"),
            "{}",
            problems[0]
        );
    }

    #[test]
    fn flags_win_over_the_file() {
        let flags = Request {
            budget: Some(Asked::new("1h", "--budget")),
            path: Some(Asked::new("/", "--path")),
            ..Request::default()
        };
        let file = read("[tune]\nbudget = '8m'\nseed = 7\n[workload]\nfile = 'w.toml'\n").unwrap();
        let both = flags.or(file);
        assert_eq!(both.budget.unwrap().text, "1h");
        assert_eq!(both.seed.unwrap().text, "7");
        assert_eq!(
            (both.workload_file, both.path.unwrap().text.as_str()),
            (None, "/")
        );
    }
}
