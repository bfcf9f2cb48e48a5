//! What the figures of `calc pool` mean in words, and the lines that follow for files.

use run::calc::{Pool, PoolFile};

/// PgBouncer's own default, where no rate says how many are busy.
const DEFAULT_POOL_SIZE: u32 = 20;

/// The answer.
pub fn sentence(pool: &Pool) -> String {
    let opened = format!(
        "Up to {} connections between deploys and {} during a deploy",
        pool.running, pool.most
    );
    match pool.limit {
        None => format!(
            "{opened}: compare with the server's max_connections, and leave some for administrators."
        ),
        Some(limit) if limit.free_running < 0 => format!(
            "{opened}: already between deploys {} more than the {} that the server can give. Put PgBouncer in front, or run with fewer \
             threads or processes.",
            -limit.free_running, limit.usable
        ),
        Some(limit) if limit.free_deploying < 0 => format!(
            "{opened}: enough between deploys, but during a deploy {} more than the {} that the server can give. Let deploys \
             overlap less, raise max_connections, or put PgBouncer in front.",
            -limit.free_deploying, limit.usable
        ),
        Some(limit) => format!(
            "{opened}: the server can give {}, so that {} are free even then. No pooler is needed.",
            limit.usable, limit.free_deploying
        ),
    }
}

/// What the figures take for granted.
pub fn assumptions() -> Vec<String> {
    [
        "One database. Each further database, replica or shard has a pool of its own in every process; calculate it against its own \
         server.",
        "These are the most connections that can be open: a pool opens them as threads need them, and closes those that are \
         idle for 300 s (idle_timeout).",
        "A pool needs one connection for each thread; with an executor of async queries (load_async) also one for each of its \
         threads and one more, as the Rails guide on configuring says. Job servers that run further threads (Solid Queue: 2) \
         need as many connections more.",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// What to look at.
pub fn warnings(pool: &Pool) -> Vec<String> {
    let mut warnings = Vec::new();
    if let Some(present) = pool.present_pool {
        for (name, fleet) in [("web", pool.web), ("job", pool.jobs)] {
            if fleet.processes == 0 {
                continue;
            }
            if u64::from(present) > fleet.pool {
                warnings.push(format!(
                    "pool: {present} is {} more than a {name} process with {} can use. That does no harm: a process opens no \
                     more connections than its threads need, so the figures above count {}. It may stay, or follow the threads as in the \
                     line for config/database.yml.",
                    u64::from(present) - fleet.pool,
                    run::counted(fleet.threads, "thread"),
                    fleet.pool
                ));
            } else if u64::from(present) < fleet.pool {
                warnings.push(format!(
                    "the present pool of {present} is {} too few for a {name} process: its threads can wait for a connection, which looks like I/O and \
                     ends in ActiveRecord::ConnectionTimeoutError after 5 s (checkout_timeout). powerband inspect shows such waits.",
                    fleet.pool - u64::from(present)
                ));
            }
        }
    }
    if let (Some(busy), Some(limit)) = (pool.busy, pool.limit) {
        if busy.enough > limit.usable {
            warnings.push(format!(
                "Even a pooler needs {} connections for {:.1} busy on average, more than the server can give: shorten \
                 transactions.",
                busy.enough, busy.mean
            ));
        } else if u64::from(busy.enough) * 4 < pool.running {
            warnings.push(format!(
                "Of {} connections {:.1} work at once on average, and {} suffice 99.9 % of the time: the others are open and idle.",
                pool.running, busy.mean, busy.enough
            ));
        }
    }
    warnings
}

/// `database.yml`, and PgBouncer's file where one is needed.
pub fn files(pool: &Pool) -> Vec<PoolFile> {
    let more = pool.web.pool - u64::from(pool.web.threads);
    let (of, sum) = match more {
        0 => ("The threads of this process.", String::new()),
        more => (
            "The threads of this process, those of its async-query executor, and one.",
            format!(".to_i + {more}"),
        ),
    };
    let mut lines = vec![
        "production:".to_owned(),
        format!("  # {of} Rails 8.1 calls it max_connections."),
        format!(
            "  pool: <%= ENV.fetch(\"RAILS_MAX_THREADS\", {}){sum} %>",
            pool.web.threads
        ),
        "  checkout_timeout: 5  # seconds that a thread waits for a connection".to_owned(),
    ];
    if pool.jobs.processes > 0 {
        lines.push(format!(
            "  # Start job processes with RAILS_MAX_THREADS={}, so that their pools are {}.",
            pool.jobs.threads, pool.jobs.pool
        ));
    }
    let mut files = Vec::new();
    if pool.pooler {
        lines.push("  # Through PgBouncer: its port, and nothing that needs a session.".to_owned());
        lines.push("  port: 6432".to_owned());
        lines.push(
            "  prepared_statements: false  # may stay on with PgBouncer 1.21 or newer and max_prepared_statements over 0".to_owned(),
        );
        lines.push(
            "  advisory_locks: false  # and run migrations on the database's own port".to_owned(),
        );
        let usable = pool.limit.map_or(u32::MAX, |limit| {
            limit.usable.saturating_sub(pool.others).max(1)
        });
        let size = pool
            .busy
            .map_or(DEFAULT_POOL_SIZE, |busy| busy.enough)
            .min(usable);
        let why = match pool.busy {
            Some(busy) => format!(
                "{:.1} are busy on average, this many suffice 99.9 % of the time",
                busy.mean
            ),
            None => "PgBouncer's default; give --rate and --transaction for a figure of your own"
                .to_owned(),
        };
        files.push(PoolFile {
            name: "pgbouncer.ini".to_owned(),
            lines: vec![
                "[pgbouncer]".to_owned(),
                "pool_mode = transaction".to_owned(),
                format!("default_pool_size = {size}  ; {why}"),
                format!("max_client_conn = {}", pool.most),
            ],
        });
    }
    files.insert(
        0,
        PoolFile {
            name: "config/database.yml".to_owned(),
            lines,
        },
    );
    files
}
