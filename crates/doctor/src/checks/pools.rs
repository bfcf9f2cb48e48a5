//! Database connections: threads of a process against its pool, and all pools against the database server.

use capacity::pool_size;
use host::{Known, Outcome, Severity};
use servers::pools::{Pool, PoolSize, RAILS_DEFAULT};

use crate::application::{ApplicationFacts, Environment};

/// A pool with the number of connections that it holds here.
struct Sized<'a> {
    pool: &'a Pool,
    connections: u32,
}

/// The pools, as the variables and `DATABASE_URL` make them.
fn sized<'a>(pools: &'a [Pool], environment: &Environment) -> Known<Vec<Sized<'a>>> {
    let mut all = Vec::new();
    for pool in pools {
        // Rails gives DATABASE_URL to the primary database, over what the file says.
        let primary = pool.database.is_empty() || pool.database == "primary";
        let url = environment.get("DATABASE_URL").filter(|_| primary);
        let connections = url
            .and_then(pool_of_url)
            .or_else(|| pool.connections(&environment.variables));
        let connections = connections.ok_or_else(|| {
            format!("the pool{} in config/database.yml is computed by Ruby; compare it with the threads yourself", of(pool))
        })?;
        all.push(Sized { pool, connections });
    }
    Ok(all)
}

/// `pool=7` among a URL's parameters.
fn pool_of_url(url: &str) -> Option<u32> {
    let (_, query) = url.split_once('?')?;
    let mut values = query
        .split('&')
        .filter_map(|pair| pair.strip_prefix("pool="));
    values.next_back()?.parse().ok()
}

fn of(pool: &Pool) -> String {
    match pool.database.as_str() {
        "" => String::new(),
        name => format!(" of {name}"),
    }
}

fn written(pool: &Pool) -> String {
    match &pool.size {
        PoolSize::Literal(_) => "a number in config/database.yml".to_owned(),
        PoolSize::Variable { name, .. } => format!("{name} or its default in config/database.yml"),
        PoolSize::Computed => "computed in config/database.yml".to_owned(),
        PoolSize::Unset => format!("Rails' default of {RAILS_DEFAULT}"),
    }
}

pub(super) fn pool(facts: &ApplicationFacts) -> Outcome {
    let pools = match &facts.pools {
        Ok(pools) if pools.is_empty() => {
            return Outcome::fine("config/database.yml names no database");
        }
        Ok(pools) => pools,
        Err(why) => return Outcome::not_known(why.clone()),
    };
    let known = facts.environment.clone().and_then(|environment| {
        let threads = facts.threads.clone()?;
        let executor = facts.async_threads.clone()?;
        Ok((sized(pools, &environment)?, threads, executor))
    });
    Outcome::of(&known, |(pools, threads, executor)| {
        let needed = pool_size(threads.count, *executor);
        let words = |sized: &Sized<'_>| {
            format!(
                "a pool{} of {} ({})",
                of(sized.pool),
                sized.connections,
                written(sized.pool)
            )
        };
        let executor_words = match executor {
            0 => String::new(),
            executor => {
                format!(" and {executor} of async queries, which need {needed} connections")
            }
        };
        let threads_words = format!(
            "{} threads ({}){executor_words}",
            threads.count, threads.from
        );
        let small: Vec<String> = pools
            .iter()
            .filter(|sized| u64::from(sized.connections) < needed)
            .map(words)
            .collect();
        if small.is_empty() {
            let all: Vec<String> = pools.iter().map(words).collect();
            return Outcome::fine(format!("{threads_words}, {}", all.join(", ")));
        }
        Outcome::found(
            Severity::HarmsServer,
            "a process needs more database connections than its pool has",
            format!("{threads_words}, {}", small.join(", ")),
            "Threads beyond the pool wait for a connection that another one holds, and fail after five seconds \
             (ActiveRecord::ConnectionTimeoutError).",
            format!(
                "write pool: <%= ENV.fetch(\"RAILS_MAX_THREADS\", {}){} %> in config/database.yml and set RAILS_MAX_THREADS \
                 for both; powerband calc pool adds up what the database must allow",
                threads.count,
                match needed - u64::from(threads.count) {
                    0 => String::new(),
                    more => format!(".to_i + {more}"),
                }
            ),
        )
    })
}

pub(super) fn connections(facts: &ApplicationFacts) -> Outcome {
    let pools = match &facts.pools {
        Ok(pools) => pools,
        Err(why) => return Outcome::not_known(why.clone()),
    };
    if !pools.iter().any(Pool::is_served) {
        return Outcome::fine(
            "no database in config/database.yml is a server with a limit of connections",
        );
    }
    let most = facts.environment.clone().and_then(|environment| {
        let workers = facts.workers.clone()?;
        let pools = sized(pools, &environment)?;
        let served = pools.iter().filter(|sized| sized.pool.is_served());
        // A pool opens what its threads ask for, and no more than it may.
        let wanted = match (&facts.threads, &facts.async_threads) {
            (Ok(threads), Ok(executor)) => pool_size(threads.count, *executor),
            _ => u64::MAX,
        };
        let a_process: u64 = served
            .map(|sized| u64::from(sized.connections).min(wanted))
            .sum();
        let processes = u64::from(workers.count.max(1));
        Ok(format!(
            "up to {} connections, {processes} × {a_process}",
            processes.saturating_mul(a_process)
        ))
    });
    let most = most
        .unwrap_or_else(|why| format!("how many connections there may be is not known ({why})"));
    Outcome::not_known(format!(
        "the database server is not asked for its limit: {most}; hold that, with jobs, consoles and a deploy that \
         overlaps, against SHOW max_connections less superuser_reserved_connections (powerband calc pool does the sum)"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::{application, counted, found, with};

    fn sized_by(size: PoolSize, threads: u32) -> ApplicationFacts {
        let mut facts = application();
        facts.pools.as_mut().unwrap()[0].size = size;
        facts.threads = Ok(counted(threads));
        facts
    }

    #[test]
    fn threads_above_the_pool_are_found() {
        assert!(matches!(pool(&application()), Outcome::Fine(_)));
        let finding = found(pool(&sized_by(PoolSize::Literal(5), 6)));
        assert_eq!(finding.severity, Severity::HarmsServer);
        assert!(
            finding
                .evidence
                .starts_with("6 threads (the test), a pool of 5"),
            "{finding:?}"
        );
        assert!(
            found(pool(&sized_by(PoolSize::Unset, 6)))
                .evidence
                .contains("Rails' default")
        );
        assert!(matches!(
            pool(&sized_by(PoolSize::Computed, 6)),
            Outcome::NotKnown(_)
        ));
    }

    #[test]
    fn an_executor_of_async_queries_needs_connections_as_calc_pool_counts_them() {
        let mut facts = sized_by(PoolSize::Literal(9), 5);
        facts.async_threads = Ok(4);
        let finding = found(pool(&facts));
        assert!(
            finding.evidence.contains("which need 10 connections"),
            "{finding:?}"
        );
        assert!(finding.remedy.contains("5).to_i + 5 %>"), "{finding:?}");
        assert!(matches!(
            pool(&ApplicationFacts {
                async_threads: Ok(3),
                ..facts.clone()
            }),
            Outcome::Fine(_)
        ));
        facts.async_threads = Err("only Ruby can tell".to_owned());
        assert!(matches!(pool(&facts), Outcome::NotKnown(_)));
    }

    #[test]
    fn what_is_not_known_is_not_passed() {
        let mut facts = application();
        facts.threads = Err("nobody counted".to_owned());
        assert_eq!(pool(&facts), Outcome::NotKnown("nobody counted".to_owned()));
        facts.pools = Err("no file".to_owned());
        assert_eq!(pool(&facts), Outcome::NotKnown("no file".to_owned()));
        assert_eq!(connections(&facts), Outcome::NotKnown("no file".to_owned()));
    }

    #[test]
    fn a_url_wins_and_is_never_shown() {
        let facts = with(
            "DATABASE_URL",
            "postgres://u:secret@h/shop?sslmode=off&pool=3",
        );
        let finding = found(pool(&facts));
        assert!(finding.evidence.contains("a pool of 3"), "{finding:?}");
        assert!(!format!("{finding:?}{facts:?}").contains("secret"));
    }

    #[test]
    fn all_connections_are_added_up_but_not_judged() {
        let Outcome::NotKnown(why) = connections(&application()) else {
            panic!("nobody asked the database");
        };
        assert!(why.contains("up to 10 connections, 2 × 5"), "{why}");
        // The pool may have five; three threads ask for three.
        let Outcome::NotKnown(why) = connections(&sized_by(PoolSize::Literal(5), 3)) else {
            panic!("nobody asked the database");
        };
        assert!(why.contains("up to 6 connections, 2 × 3"), "{why}");
        let mut file = application();
        file.pools.as_mut().unwrap()[0].adapter = Some("sqlite3".to_owned());
        assert!(matches!(connections(&file), Outcome::Fine(_)));
    }
}
