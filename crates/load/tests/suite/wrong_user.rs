//! One wrong user in a data file: which one.

use crate::support::{Server, assert_balanced};
use load::{Mode, Plan, Silent, Stop, Workload};

const LOGIN: &str = r#"
[[session]]
data = "users.csv"

[[session.request]]
path = "/login"

[[session.request]]
method = "POST"
path = "/login"
form = { email = "{{email}}", password = "{{password}}" }
status = 302
"#;

#[test]
fn the_first_failure_names_the_row_of_the_user_and_not_the_password() {
    let server = Server::new(|peer, _| {
        while let Some((head, body)) = peer.request() {
            let body = String::from_utf8(body).unwrap();
            let reply = match head.starts_with("POST") {
                true if body.contains("b%40x.test") => {
                    b"HTTP/1.1 422 No\r\nContent-Length: 0\r\n\r\n".as_slice()
                }
                true => b"HTTP/1.1 302 Found\r\nLocation: /\r\nContent-Length: 0\r\n\r\n",
                false => b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
            };
            if !peer.write(reply) {
                break;
            }
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let users = "email,password\na@x.test,one\nb@x.test,tw0\nc@x.test,three\n";
    std::fs::write(folder.path().join("users.csv"), users).unwrap();
    let workload = Workload::from_toml_in(LOGIN, folder.path()).unwrap();
    let plan = Plan::new(
        server.address,
        workload,
        Mode::closed(3),
        Stop::requests(60),
    );
    let outcome = load::run(&plan, &mut Silent).unwrap();
    assert_balanced(&outcome);
    assert_eq!(
        outcome.first_error.as_deref(),
        Some(
            "POST /login: answered 422 (line 3 of users.csv); if this is a login, the user, the password or \
             the name of its token field is wrong"
        )
    );
}
