//! What is to be written down, and the files as they are.

/// Which server it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Server {
    Puma,
    Unicorn,
    Pitchfork,
    /// No file has its settings.
    Falcon,
    Passenger,
}

/// A configuration over all knobs. A knob that is `None` stays as the files have it.
#[derive(Debug, Clone, PartialEq)]
pub struct Recommended {
    pub server: Server,
    /// Worker processes; 0 is Puma's single mode.
    pub workers: u16,
    /// Threads in each; only Puma has more than one.
    pub threads: u16,
    /// Whether to load the application before forking.
    pub preload: bool,
    /// Variables of the server's environment, the allocator's `LD_PRELOAD` excluded.
    pub variables: Vec<Variable>,
    pub allocator: Option<AllocatorLibrary>,
    /// Database connections that a process needs at most.
    pub pool: Option<u32>,
    pub puma: Puma,
    pub pitchfork: Pitchfork,
    pub passenger: Passenger,
    pub nginx: Nginx,
    pub pod: Pod,
}

impl Recommended {
    /// Nothing but processes, threads and preloading.
    #[must_use]
    pub fn of(server: Server, workers: u16, threads: u16, preload: bool) -> Recommended {
        Recommended {
            server,
            workers,
            threads,
            preload,
            variables: Vec::new(),
            allocator: None,
            pool: None,
            puma: Puma::default(),
            pitchfork: Pitchfork::default(),
            passenger: Passenger::default(),
            nginx: Nginx::default(),
            pod: Pod::default(),
        }
    }
}

/// A variable and its value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Variable {
    pub name: String,
    pub value: String,
    /// Is written nowhere: a note says that it is to be set by hand.
    pub secret: bool,
}

/// The library that takes the place of glibc's allocator.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AllocatorLibrary {
    /// e.g. `jemalloc`
    pub name: String,
    /// e.g. `libjemalloc.so.2`; empty for glibc's own, which needs none.
    pub soname: String,
    /// Debian's package, e.g. `libjemalloc2`; the text after its name and a space is for people alone.
    pub package: String,
}

/// Settings that only Puma has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Puma {
    /// Statements with their argument, such as `("fork_worker", "500")`; times are in seconds.
    pub statements: Vec<(&'static str, String)>,
    /// Whether the loaded heap is compacted, and warmed up, before workers are forked; false: as the file has it.
    pub compact_before_fork: bool,
    pub warm_up_before_fork: bool,
}

/// Settings that only Pitchfork has.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pitchfork {
    /// Requests for each generation, such as `50,100,false`.
    pub refork_after: Option<String>,
    pub refork_max_unavailable: Option<u32>,
}

/// Settings that only Passenger has.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Passenger {
    /// `None` under Passenger: the workers.
    pub max_pool_size: Option<u32>,
    pub min_instances: Option<u32>,
    pub max_instances_per_app: Option<u32>,
    pub max_request_queue_size: Option<u32>,
    pub max_requests: Option<u32>,
    /// `None` under Passenger: smart where the application is loaded before forking.
    pub spawn_method: Option<SpawnMethod>,
}

/// How Passenger makes a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpawnMethod {
    /// Forked from one that has loaded the application.
    Smart,
    /// Each loads the application.
    Direct,
}

/// Limits of the pod; `None` is one that stays as the manifest has it.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Pod {
    /// CPU quota, cores.
    pub cpus: Option<f64>,
    pub memory_bytes: Option<u64>,
}

/// Settings of the nginx in front.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Nginx {
    pub worker_processes: Option<NginxWorkers>,
    /// Idle connections to the upstream that each worker keeps.
    pub upstream_keepalive: Option<u32>,
    /// Which upstream; needed where the file has more than one.
    pub upstream: Option<String>,
    pub proxy_buffers: Option<ProxyBuffers>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NginxWorkers {
    /// One a core.
    Auto,
    Count(u32),
}

/// How many buffers a connection has for an answer, and of which size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProxyBuffers {
    pub number: u32,
    pub size_bytes: u64,
}

/// A file as it is; an empty text where there is none yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct File {
    pub path: String,
    pub text: String,
}

/// The files that are wanted; `None` is one that this application does not use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Files {
    /// `config/puma.rb`, for Puma alone.
    pub puma: Option<File>,
    /// `config/unicorn.rb` or `config/pitchfork.rb`, for these servers alone.
    pub prefork: Option<File>,
    /// `.env`; where the application loads none, [`crate::variables_by_hand`] has the variables.
    pub environment: Option<File>,
    pub dockerfile: Option<File>,
    /// The drop-in of the service's unit: see [`crate::drop_in`] for its path.
    pub systemd: Option<File>,
    /// `config/database.yml`
    pub database_yml: Option<File>,
    /// `nginx.conf` or a file that its `http` includes.
    pub nginx: Option<File>,
    /// Apache's configuration of Passenger, for Passenger alone.
    pub apache: Option<File>,
    /// A manifest of Kubernetes with the Deployment of the server.
    pub deployment: Option<File>,
    /// A manifest with the ConfigMap of its variables.
    pub configmap: Option<File>,
    /// Kamal's `config/deploy.yml`
    pub kamal: Option<File>,
    pub procfile: Option<File>,
}
