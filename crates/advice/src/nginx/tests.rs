use super::*;

const MAIN: &str = "user www-data;
worker_processes auto; # one a core
events { worker_connections 768; }
http {
    upstream shop {
        least_conn;
        server unix:/run/shop.sock fail_timeout=0;
    }
    map $http_upgrade $up { default 'a;}'; \"\" \"${x}\"; }
    server {
        location / {
            proxy_set_header Authorization \"Basic hunter2\";
            proxy_pass http://shop;
        }
    }
}
";

fn all() -> Nginx {
    Nginx {
        worker_processes: Some(NginxWorkers::Count(4)),
        upstream_keepalive: Some(32),
        upstream: None,
        proxy_buffers: Some(ProxyBuffers {
            number: 16,
            size_bytes: 16 << 10,
        }),
    }
}

fn with(before: &str, nginx: &Nginx) -> (Change, Vec<String>) {
    let mut notes = Vec::new();
    let change = write("nginx.conf", before, nginx, &mut notes);
    let again = write("nginx.conf", &change.text, nginx, &mut Vec::new());
    assert_eq!(again.diff, "", "{}", change.text);
    (change, notes.into_iter().map(|note| note.text).collect())
}

#[test]
fn each_directive_comes_where_it_is_allowed() {
    let (change, notes) = with(MAIN, &all());
    let wanted = MAIN
        .replace("auto;", "4;")
        .replace(
            "fail_timeout=0;\n",
            "fail_timeout=0;\n        keepalive 32;\n",
        )
        .replace("    }\n}\n", "    }\n    proxy_buffers 16 16k;\n}\n");
    assert_eq!(change.text, wanted);
    assert!(!change.diff.contains("hunter2"), "{}", change.diff);
    assert!(
        notes.len() == 1 && notes[0].contains("proxy_http_version"),
        "{notes:?}"
    );
    let kept = "proxy_http_version 1.1; proxy_set_header Connection '';\n";
    let (_, notes) = with(
        &MAIN.replace("    server {\n", &format!("    server {{\n{kept}")),
        &all(),
    );
    assert!(notes.is_empty(), "{notes:?}");
}

#[test]
fn what_stands_there_is_changed_there() {
    let before = "http {\r\n\tupstream a { server x; }\r\n\tupstream b { keepalive 2; }\r\n\tproxy_buffers 8 4k;\r\n\tserver { proxy_buffers 2 4k; }\r\n}\r\n";
    let nginx = Nginx {
        upstream: Some("a".to_owned()),
        ..all()
    };
    let (change, notes) = with(before, &nginx);
    let wanted = before
        .replace("server x; ", "server x; keepalive 32; ")
        .replace("8 4k", "16 16k");
    assert_eq!(change.text, format!("worker_processes 4;\r\n{wanted}"));
    assert!(notes[0].contains("line 6"), "{notes:?}");
    let (change, notes) = with(
        before,
        &Nginx {
            proxy_buffers: None,
            ..all()
        },
    );
    assert!(
        !change.diff.contains("keepalive") && notes[0].contains("2 upstreams"),
        "{notes:?}"
    );
}

#[test]
fn a_file_that_http_includes_gets_what_belongs_there() {
    let site = "server {\n    listen 80;\n}\n";
    let (change, notes) = with(site, &all());
    assert_eq!(
        change.text,
        site.replace("80;\n", "80;\n    proxy_buffers 16 16k;\n")
    );
    assert_eq!(notes.len(), 2, "{notes:?}");
    let (change, notes) = with("", &all());
    assert_eq!(
        (change.text.as_str(), notes.len()),
        ("proxy_buffers 16 16k;\n", 2)
    );
}

#[test]
fn what_cannot_be_read_is_left_alone() {
    for before in [
        "http {\n",
        "worker_processes 2\n",
        "a \"b;\n",
        "}\n",
        "http { server { content_by_lua_block { local a = '}' } } }\n",
    ] {
        let (change, notes) = with(before, &all());
        assert_eq!((change.diff.as_str(), notes.len()), ("", 1), "{before}");
    }
}
