//! What stands in the configurations that Powerband writes for the programs it starts.

use crate::knob::{Kind, Knob, Place, Program};

const fn directive(
    name: &'static str,
    program: Program,
    variable: &'static str,
    kind: Kind,
    default: &'static str,
    example: &'static str,
    about: &'static str,
) -> Knob {
    let place = (Place::Configuration(program), variable);
    Knob::plain(name, place, kind, default, example, about)
}

const PROCESSES: Kind = Kind::Whole {
    least: 1,
    most: 1024,
    of: "processes",
};
const PROCESSES_OR_NONE: Kind = Kind::Whole {
    least: 0,
    most: 1024,
    of: "processes",
};

const REQUESTS: Kind = Kind::Whole {
    least: 0,
    most: 1_000_000,
    of: "requests",
};

pub const KNOBS: &[Knob] = &[
    directive(
        "puma.wait_for_less_busy_worker",
        Program::Puma,
        "wait_for_less_busy_worker",
        Kind::Milliseconds {
            least: 0,
            most: 1000,
        },
        "5ms",
        "1ms",
        "How long a busy worker of a cluster waits before it takes a connection, so that an idle one may. Puma 7.0.0 to 7.0.3 do not look \
         at it.",
    ),
    Knob {
        caution: "Needs two workers or more. A trial measures the refork only if worker 0 answers more requests than the number.",
        ..directive(
            "puma.fork_worker",
            Program::Puma,
            "fork_worker",
            REQUESTS,
            "off",
            "1000",
            "Workers are forked from worker 0, and once more after so many of its requests; 0: only on request (SIGURG).",
        )
    },
    directive(
        "puma.queue_requests",
        Program::Puma,
        "queue_requests",
        Kind::Switch,
        "on",
        "off",
        "Whether Puma reads a request before a thread takes it. `off`: a thread waits for each request of a slow client itself.",
    ),
    directive(
        "puma.enable_keep_alives",
        Program::Puma,
        "enable_keep_alives",
        Kind::Switch,
        "on",
        "off",
        "Whether a connection stays open for further requests. Puma 6.5 and newer.",
    ),
    directive(
        "puma.max_fast_inline",
        Program::Puma,
        "max_fast_inline",
        REQUESTS,
        "10",
        "1",
        "Requests of one connection that a thread serves in a row while other connections wait. Puma 5 and 6.",
    ),
    directive(
        "puma.max_keep_alive",
        Program::Puma,
        "max_keep_alive",
        REQUESTS,
        "999",
        "100",
        "Requests after which Puma closes a connection. Puma 7 and newer.",
    ),
    directive(
        "puma.persistent_timeout",
        Program::Puma,
        "persistent_timeout",
        Kind::Whole {
            least: 1,
            most: 86_400,
            of: "seconds",
        },
        "20; 65 from Puma 7 on",
        "65",
        "How long an idle connection stays open. Behind a proxy, longer than the proxy keeps its own.",
    ),
    directive(
        "puma.fiber_per_request",
        Program::Puma,
        "fiber_per_request",
        Kind::Switch,
        "off",
        "on",
        "Whether each request runs in a fiber of its own, so that no fiber-local variable outlives it. Puma 7 and newer.",
    ),
    directive(
        "puma.max_io_threads",
        Program::Puma,
        "max_io_threads",
        Kind::Whole {
            least: 0,
            most: 1024,
            of: "threads",
        },
        "0",
        "5",
        "Threads over the maximum for requests that the application marks as waiting for I/O. Puma 8 and newer.",
    ),
    Knob {
        caution: "Read Pitchfork's FORK_SAFETY.md first: a library that does not survive a fork breaks the next generation. A trial \
                  measures reforking only if each worker answers more requests than the first number.",
        ..directive(
            "pitchfork.refork_after",
            Program::Pitchfork,
            "refork_after",
            Kind::Counts {
                least: 1,
                most: 100_000_000,
                of: "requests",
            },
            "off",
            "50,100,1000",
            "Requests of a worker after which the next generation of workers is forked from it, so that they share what it has warmed \
             up: one number for each generation, the last for all that follow.",
        )
    },
    directive(
        "pitchfork.refork_max_unavailable",
        Program::Pitchfork,
        "refork_max_unavailable",
        Kind::Whole {
            least: 1,
            most: 256,
            of: "workers",
        },
        "a tenth of the workers, at least 1",
        "2",
        "Workers that are replaced at the same time when a generation follows another.",
    ),
    directive(
        "passenger.min_instances",
        Program::Passenger,
        "PassengerMinInstances",
        PROCESSES,
        "1",
        "2",
        "Application processes that are kept even when idle.",
    ),
    directive(
        "passenger.max_instances_per_app",
        Program::Passenger,
        "PassengerMaxInstancesPerApp",
        PROCESSES_OR_NONE,
        "0, no limit",
        "2",
        "Most processes of one application, within the pool.",
    ),
    directive(
        "passenger.max_request_queue_size",
        Program::Passenger,
        "PassengerMaxRequestQueueSize",
        REQUESTS,
        "100",
        "200",
        "Requests that wait for a process before others get status 503; 0: no limit.",
    ),
    directive(
        "passenger.max_requests",
        Program::Passenger,
        "PassengerMaxRequests",
        Kind::Whole {
            least: 0,
            most: 100_000_000,
            of: "requests",
        },
        "0, never",
        "1000",
        "Requests after which a process is replaced.",
    ),
    directive(
        "nginx.workers",
        Program::Nginx,
        "worker_processes",
        PROCESSES,
        "1",
        "2",
        "Worker processes of nginx.",
    ),
    directive(
        "nginx.keepalive",
        Program::Nginx,
        "keepalive",
        Kind::Whole {
            least: 0,
            most: 10_000,
            of: "connections",
        },
        "0, none",
        "32",
        "Idle connections to the application's server that each worker of nginx keeps.",
    ),
    directive(
        "nginx.proxy_buffering",
        Program::Nginx,
        "proxy_buffering",
        Kind::Switch,
        "on",
        "off",
        "Whether nginx takes the whole answer before a slow client has it, so that the application's thread is free.",
    ),
    Knob {
        caution: "Answers that do not fit go through files.",
        ..directive(
            "nginx.proxy_buffers",
            Program::Nginx,
            "proxy_buffers",
            Kind::Whole {
                least: 3,
                most: 4096,
                of: "buffers",
            },
            "8",
            "32",
            "Buffers of 4 KiB in which nginx keeps an answer, for each connection to the application's server.",
        )
    },
];
