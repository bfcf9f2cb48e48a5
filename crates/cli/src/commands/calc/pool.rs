//! `calc pool`.

use super::given::{Given, share, some_time_s, whole};
use super::pool_words;
use crate::args::PoolArgs;
use capacity::{Connecting, Connections, Fleet, busy_connections, connections};
use experiment::config::{Asked, Problem, parse_rate};
use run::calc::{Document, Pool, PoolBusy, PoolFleet, PoolLimit};

/// Consoles, migrations and monitoring by default; what PostgreSQL keeps for administrators likewise.
const OTHERS: u32 = 3;
const RESERVED: u32 = 3;
/// A pooler's connections may be too few for this part of the time.
const BEYOND: f64 = 0.001;

/// The connections of what was asked.
pub fn pool(args: &PoolArgs, given: &mut Given) -> Option<Document> {
    let limit = limit(args, given);
    let present = given.optional(&args.pool, "--pool", |a| {
        whole(a, 1, 100_000, "connections")
    });
    let busy = busy(args, given);
    let of = connecting(args, given)?;
    if !given.problems.is_empty() {
        return None;
    }
    let counted = given.formula(
        "--deploy-overlap",
        "give a share from 0 to 100%",
        connections(&of),
    )?;
    let mut pool = Pool {
        web: fleet(of.web, counted.web_pool, counted.web),
        jobs: fleet(of.jobs, counted.job_pool, counted.jobs),
        async_threads: of.async_threads,
        others: of.others,
        deploy_overlap: of.overlap,
        running: counted.running,
        deploy: counted.deploy,
        most: counted.most,
        limit: limit.map(|(most, reserved)| against(most, reserved, &counted)),
        present_pool: present,
        busy,
        pooler: false,
        files: Vec::new(),
    };
    let short = pool.limit.is_some_and(|limit| limit.free_deploying < 0);
    pool.pooler = short;
    pool.files = pool_words::files(&pool);
    Some(Document {
        sentence: pool_words::sentence(&pool),
        assumptions: pool_words::assumptions(),
        warnings: pool_words::warnings(&pool),
        exit_code: u8::from(short),
        pool: Some(pool),
        ..super::blank()
    })
}

fn connecting(args: &PoolArgs, given: &mut Given) -> Option<Connecting> {
    let processes = |a: &Asked| whole(a, 0, 100_000, "processes");
    let threads = |a: &Asked| whole(a, 1, 1024, "threads");
    let web_processes = given.required(
        &args.web_processes,
        "--web-processes",
        "give the web processes on all hosts together, such as --web-processes 4; 0 when there are none",
        processes,
    );
    let web_threads = given.required(
        &args.web_threads,
        "--web-threads",
        "give the threads of each, such as --web-threads 5",
        threads,
    );
    let job_processes = given.optional(&args.job_processes, "--job-processes", processes);
    let job_threads = given.optional(&args.job_threads, "--job-threads", threads);
    if job_processes.is_some_and(|n| n > 0) && args.job_threads.is_none() {
        given.problems.push(Problem::with(
            "--job-threads is missing",
            "give the threads of each job process, such as --job-threads 10",
        ));
    }
    if args.job_threads.is_some() && args.job_processes.is_none() {
        given.problems.push(Problem::with(
            "--job-processes is missing",
            "give the job processes on all hosts together, such as --job-processes 2, or leave --job-threads out",
        ));
    }
    let async_threads = given.optional(&args.async_executor, "--async-executor", |a| {
        whole(a, 0, 1024, "threads")
    });
    let others = given.optional(&args.others, "--others", |a| {
        whole(a, 0, 100_000, "connections")
    });
    let overlap = given.optional(&args.deploy_overlap, "--deploy-overlap", share);
    Some(Connecting {
        web: Fleet {
            processes: web_processes?,
            threads: web_threads?,
        },
        jobs: Fleet {
            processes: job_processes.unwrap_or(0),
            threads: job_threads.unwrap_or(1),
        },
        async_threads: async_threads.unwrap_or(0),
        others: others.unwrap_or(OTHERS),
        overlap: overlap.unwrap_or(1.0),
    })
}

fn limit(args: &PoolArgs, given: &mut Given) -> Option<(u32, u32)> {
    let most = given.optional(&args.max_connections, "--max-connections", |a| {
        whole(a, 1, 1_000_000, "connections")
    });
    let reserved = given.optional(&args.reserved, "--reserved", |a| {
        whole(a, 0, 100_000, "connections")
    });
    let (most, reserved) = (most?, reserved.unwrap_or(RESERVED));
    if reserved >= most {
        given.problems.push(Problem::with(
            format!("--reserved = {reserved} leaves nothing of --max-connections = {most}"),
            "give a smaller reserve, or the limit that the server really has (SHOW max_connections)",
        ));
        return None;
    }
    Some((most, reserved))
}

fn against(max_connections: u32, reserved: u32, counted: &Connections) -> PoolLimit {
    let usable = max_connections - reserved;
    let free = |of: u64| i64::from(usable) - i64::try_from(of).unwrap_or(i64::MAX);
    PoolLimit {
        max_connections,
        reserved,
        usable,
        free_running: free(counted.running),
        free_deploying: free(counted.most),
    }
}

fn busy(args: &PoolArgs, given: &mut Given) -> Option<PoolBusy> {
    let rate = given.optional(&args.rate, "--rate", parse_rate);
    let time = given.optional(&args.transaction, "--transaction", some_time_s);
    match (&args.rate, &args.transaction) {
        (Some(_), None) => given.problems.push(Problem::with(
            "--transaction is missing",
            "give the mean time for which a transaction has its connection, such as --transaction 12ms, or leave --rate out",
        )),
        (None, Some(_)) => given.problems.push(Problem::with(
            "--rate is missing",
            "give the transactions each second, such as --rate 200, or leave --transaction out",
        )),
        _ => {}
    }
    let (rate, time) = (rate?, time?);
    let most = 1e5;
    if rate * time > most {
        given.problems.push(Problem::with(
            format!(
                "--rate, --transaction: {:.0} connections would be busy at once",
                rate * time
            ),
            "give a lower rate or a shorter time",
        ));
        return None;
    }
    let found = given.formula(
        "--rate, --transaction",
        "give both over 0",
        busy_connections(rate, time, BEYOND),
    )?;
    Some(PoolBusy {
        rate_per_s: rate,
        time_ms: time * 1e3,
        mean: found.mean,
        enough: found.enough,
    })
}

fn fleet(fleet: Fleet, pool: u64, connections: u64) -> PoolFleet {
    PoolFleet {
        processes: fleet.processes,
        threads: fleet.threads,
        pool,
        connections,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(max_connections: &str) -> PoolArgs {
        let text = |t: &str| Some(t.to_owned());
        PoolArgs {
            web_processes: text("4"),
            web_threads: text("5"),
            job_processes: text("2"),
            job_threads: text("10"),
            async_executor: text("4"),
            others: None,
            deploy_overlap: None,
            max_connections: text(max_connections),
            reserved: None,
            pool: None,
            rate: None,
            transaction: None,
        }
    }

    fn calculated(args: &PoolArgs) -> Document {
        let mut given = Given::default();
        pool(args, &mut given).unwrap_or_else(|| panic!("{:?}", given.problems))
    }

    /// 73 run and 70 more are there while a deploy overlaps.
    #[test]
    fn what_does_not_fit_asks_for_a_pooler() {
        let short = calculated(&asked("100"));
        let found = short.pool.unwrap();
        let limit = found.limit.unwrap();
        assert_eq!((found.running, found.most, limit.usable), (73, 143, 97));
        assert_eq!((limit.free_running, limit.free_deploying), (24, -46));
        assert_eq!((found.pooler, short.exit_code), (true, 1));
        let names: Vec<&str> = found.files.iter().map(|f| f.name.as_str()).collect();
        assert_eq!(names, ["config/database.yml", "pgbouncer.ini"]);
        let fits = calculated(&asked("150"));
        assert_eq!(fits.exit_code, 0);
        assert_eq!(fits.pool.unwrap().files.len(), 1);
    }

    #[test]
    fn what_database_yml_says_is_ruby_that_adds_up() {
        let lines = calculated(&asked("150"))
            .pool
            .unwrap()
            .files
            .remove(0)
            .lines
            .join("\n");
        assert!(
            lines.contains(r#"pool: <%= ENV.fetch("RAILS_MAX_THREADS", 5).to_i + 5 %>"#),
            "{lines}"
        );
        assert!(lines.contains("RAILS_MAX_THREADS=10"), "{lines}");
    }

    #[test]
    fn a_pool_that_is_too_small_is_said() {
        let mut args = asked("150");
        args.pool = Some("5".to_owned());
        let said = calculated(&args).warnings.join("\n");
        assert!(said.contains("wait for a connection"), "{said}");
    }

    #[test]
    fn what_follows_from_a_pool_that_is_too_large_is_said() {
        let mut args = asked("150");
        (args.web_threads, args.job_processes) = (Some("3".to_owned()), None);
        (args.job_threads, args.async_executor) = (None, None);
        args.pool = Some("5".to_owned());
        let said = calculated(&args).warnings.join("\n");
        assert!(
            said.contains("pool: 5 is 2 more than a web process with 3 threads"),
            "{said}"
        );
        assert!(
            said.contains("does no harm") && said.contains("count 3."),
            "{said}"
        );
        args.pool = Some("3".to_owned());
        assert!(calculated(&args).warnings.is_empty());
    }

    #[test]
    fn everything_wrong_is_reported_at_once() {
        let args = PoolArgs {
            web_processes: None,
            web_threads: Some("0".to_owned()),
            job_processes: Some("2".to_owned()),
            job_threads: None,
            async_executor: Some("-1".to_owned()),
            others: Some("few".to_owned()),
            deploy_overlap: Some("300%".to_owned()),
            max_connections: Some("2".to_owned()),
            reserved: None,
            pool: Some("0".to_owned()),
            rate: Some("10".to_owned()),
            transaction: None,
        };
        let mut given = Given::default();
        assert!(pool(&args, &mut given).is_none());
        assert_eq!(given.problems.len(), 9, "{:#?}", given.problems);
    }
}
