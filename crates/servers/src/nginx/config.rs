//! nginx's configuration as text.

use super::{Built, Nginx};

/// What nginx leaves in its folder.
pub(super) const LEFT: [&str; 6] = [
    "nginx.pid",
    "client_body",
    "proxy",
    "fastcgi",
    "uwsgi",
    "scgi",
];
const UPSTREAM: &str = "server_under_test";

/// Names of files are relative to the folder that it lies in.
pub(super) fn text(nginx: &Nginx, port: u16, upstream: u16, built: &Built) -> String {
    let Nginx {
        workers,
        worker_connections,
        keepalive,
        ..
    } = nginx;
    // A master that runs as root would run its workers as another user, which may not read private files.
    let user = if rustix::process::geteuid().is_root() {
        "user root root;\n"
    } else {
        ""
    };
    let kept = match keepalive {
        0 => String::new(),
        kept => format!("    keepalive {kept};\n"),
    };
    // Else nginx talks HTTP/1.0 to the server, and asks it to close.
    let connection = match keepalive {
        0 => "",
        _ => {
            "      proxy_http_version 1.1;\n\
             \x20     proxy_set_header Connection \"\";\n"
        }
    };
    let tls = if nginx.tls {
        format!(
            "    ssl_certificate {};\n    ssl_certificate_key {};\n",
            super::certificate::CERTIFICATE,
            super::certificate::KEY
        )
    } else {
        String::new()
    };
    let ssl = if nginx.tls { " ssl" } else { "" };
    let (number, bytes) = nginx.proxy_buffers;
    let buffering = if nginx.proxy_buffering { "on" } else { "off" };
    let idle_ms = nginx.keepalive_timeout.as_millis();
    let temporary = temporary(&built.arguments);
    format!(
        r#"# Written by powerband for one start of nginx.
daemon off;
master_process on;
{user}pid nginx.pid;
error_log stderr warn;
worker_processes {workers};
events {{
  worker_connections {worker_connections};
}}
http {{
  access_log off;
{temporary}  keepalive_timeout {idle_ms}ms;
  # Of a proxy in front of this one, or of who stands for it.
  map $http_x_forwarded_proto $client_scheme {{
    "" $scheme;
    default $http_x_forwarded_proto;
  }}
  upstream {UPSTREAM} {{
    server 127.0.0.1:{upstream};
{kept}  }}
  server {{
    listen 127.0.0.1:{port}{ssl};
{tls}    location / {{
      proxy_pass http://{UPSTREAM};
{connection}      proxy_set_header Host $http_host;
      proxy_set_header X-Request-Start "t=${{msec}}";
      proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
      proxy_set_header X-Forwarded-Proto $client_scheme;
      proxy_buffering {buffering};
      proxy_buffers {number} {bytes};
    }}
  }}
}}
"#
    )
}

/// Folders for what does not fit into memory; an nginx that was built without a module does not know its own.
fn temporary(arguments: &str) -> String {
    let mut lines = String::from("  client_body_temp_path client_body;\n");
    for module in ["proxy", "fastcgi", "uwsgi", "scgi"] {
        if !arguments.contains(&format!("--without-http_{module}_module")) {
            lines += &format!("  {module}_temp_path {module};\n");
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn built(arguments: &str) -> Built {
        Built {
            version: "nginx 1".into(),
            arguments: arguments.into(),
        }
    }

    #[test]
    fn connections_to_the_server_are_kept_only_when_asked() {
        let text = |keepalive| {
            let nginx = Nginx {
                keepalive,
                ..Nginx::default()
            };
            text(&nginx, 1, 2, &built(""))
        };
        let (off, on) = (text(0), text(16));
        assert!(!off.contains("keepalive 0") && !off.contains("Connection"));
        assert!(on.contains("    keepalive 16;\n"), "{on}");
        assert!(on.contains("proxy_http_version 1.1;\n      proxy_set_header Connection \"\";"));
    }

    #[test]
    fn a_module_that_was_left_out_is_not_spoken_of() {
        let text = text(
            &Nginx::default(),
            1,
            2,
            &built("--without-http_scgi_module"),
        );
        assert!(text.contains("  uwsgi_temp_path uwsgi;") && !text.contains("scgi_temp"));
    }
}
