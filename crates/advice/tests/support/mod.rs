//! A recommendation over all knobs, and its files.

use advice::{
    AllocatorLibrary, File, Files, Nginx, NginxWorkers, Passenger, Pitchfork, Pod, ProxyBuffers,
    Puma, Recommended, Server, Variable, Written,
};

pub fn everything(server: Server) -> Recommended {
    let variable = |name: &str, value: &str| Variable {
        name: name.to_owned(),
        value: value.to_owned(),
        secret: false,
    };
    Recommended {
        variables: vec![
            variable("RUBY_GC_HEAP_GROWTH_FACTOR", "1.25"),
            variable("GREETING", "it's 5% of \"$HOME\" # `now`"),
            variable("TABLE", "a b\\"),
        ],
        allocator: Some(AllocatorLibrary {
            name: "jemalloc".to_owned(),
            soname: "libjemalloc.so.2".to_owned(),
            package: "libjemalloc2".to_owned(),
        }),
        pool: Some(5),
        puma: Puma {
            statements: vec![
                ("wait_for_less_busy_worker", "0.01".to_owned()),
                ("fork_worker", "500".to_owned()),
            ],
            compact_before_fork: true,
            warm_up_before_fork: true,
        },
        pitchfork: Pitchfork {
            refork_after: Some("50,100,false".to_owned()),
            refork_max_unavailable: Some(2),
        },
        passenger: Passenger {
            min_instances: Some(2),
            max_instances_per_app: Some(4),
            max_request_queue_size: Some(200),
            max_requests: Some(5000),
            ..Passenger::default()
        },
        nginx: Nginx {
            worker_processes: Some(NginxWorkers::Count(2)),
            upstream_keepalive: Some(16),
            upstream: None,
            proxy_buffers: Some(ProxyBuffers {
                number: 16,
                size_bytes: 16 << 10,
            }),
        },
        pod: Pod {
            cpus: Some(1.5),
            memory_bytes: Some(1 << 30),
        },
        ..Recommended::of(server, 2, 5, false)
    }
}

/// A slot for a file's name, in any set of files.
pub fn slot<'a>(files: &'a mut Files, path: &str) -> &'a mut Option<File> {
    match path {
        "config/puma.rb" => &mut files.puma,
        "config/unicorn.rb" | "config/pitchfork.rb" => &mut files.prefork,
        ".env" => &mut files.environment,
        "Dockerfile" => &mut files.dockerfile,
        "powerband.conf" => &mut files.systemd,
        "config/database.yml" => &mut files.database_yml,
        "nginx.conf" => &mut files.nginx,
        "passenger.conf" => &mut files.apache,
        "shop.yml" => &mut files.deployment,
        "map.yml" => &mut files.configmap,
        "deploy.yml" => &mut files.kamal,
        "Procfile" => &mut files.procfile,
        other => panic!("no such file: {other}"),
    }
}

/// One file as it becomes, with all that was said.
pub fn written(server: Server, path: &str, text: &str) -> (String, Written) {
    let mut files = Files::default();
    *slot(&mut files, path) = Some(File {
        path: path.to_owned(),
        text: text.to_owned(),
    });
    let written = advice::write_down(&everything(server), &files);
    let after = written.changes.first();
    (
        after.map_or(text, |change| &change.text).to_owned(),
        written,
    )
}
