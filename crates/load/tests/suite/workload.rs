//! Workload files, right and wrong.

use load::Workload;

#[test]
fn every_key_is_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cart.json"), b"{\"n\":1}").unwrap();
    let workload = Workload::from_toml_in(
        r#"
        [[request]]
        path = "/products?page=2"
        weight = 8

        [[request]]
        name = "checkout"
        method = "POST"
        path = "/cart"
        weight = 0.5
        headers = { Content-Type = "application/json", Accept = "text/html" }
        body_file = "cart.json"

        [[request]]
        name = "checkout"
        method = "PUT"
        body = "a=b"
        "#,
        folder.path(),
    )
    .unwrap();
    let [list, post, put] = workload.requests() else {
        panic!("{workload:?}")
    };
    assert_eq!(list.name, "GET /products");
    assert_eq!(list.path, "/products?page=2");
    assert!((list.weight - 8.0).abs() < 1e-12 && (put.weight - 1.0).abs() < 1e-12);
    assert_eq!(post.body, b"{\"n\":1}");
    assert_eq!(post.headers.len(), 2);
    assert_eq!((put.path.as_str(), put.body.as_slice()), ("/", &b"a=b"[..]));
    assert_eq!(workload.names(), ["GET /products", "checkout"]);
    assert_eq!(workload.unsafe_methods(), ["POST", "PUT"]);
}

#[test]
fn a_single_get_needs_no_file() {
    let workload = Workload::get("/up").unwrap();
    assert_eq!(workload.requests()[0].method, "GET");
    assert!(workload.unsafe_methods().is_empty());
    assert!(Workload::get("up").is_err());
}

/// The key of each problem, in order.
fn problems(text: &str) -> Vec<String> {
    Workload::from_toml(text)
        .unwrap_err()
        .into_iter()
        .map(|problem| problem.key)
        .collect()
}

#[test]
fn all_problems_come_at_once_each_with_its_place() {
    let found = Workload::from_toml(
        r#"
        surprise = 1
        [[request]]
        path = "no-slash"
        weight = 0
        [[request]]
        method = "get"
        body = "x"
        body_file = "/does/not/exist"
        colour = "red"
        headers = { Host = "x", "X Y" = "v", A = "b\r\nC: d", N = 3 }
        [[request]]
        name = 5
        weight = "much"
        "#,
    )
    .unwrap_err();
    let keys: Vec<&str> = found.iter().map(|problem| problem.key.as_str()).collect();
    for key in [
        "surprise",
        "request[1].path",
        "request[1].weight",
        "request[2].method",
        "request[2].body_file",
        "request[2].colour",
        "request[2].headers.Host",
        "request[2].headers.X Y",
        "request[2].headers.A",
        "request[2].headers.N",
        "request[3].name",
        "request[3].weight",
    ] {
        assert!(keys.contains(&key), "{key} is not among {keys:?}");
    }
    for problem in found {
        assert!(!problem.value.is_empty() && !problem.remedy.is_empty());
    }
}

#[test]
fn no_request_is_a_problem() {
    for text in ["", "request = []"] {
        assert_eq!(problems(text), ["request"], "{text}");
    }
    assert_eq!(problems("request = {}"), ["request"]);
    assert_eq!(problems("request = [1]"), ["request[1]"]);
    let broken = Workload::from_toml("\n\n[[request]\n").unwrap_err();
    assert!(broken[0].remedy.contains("line 3"), "{broken:?}");
}

#[test]
fn weights_and_paths_that_cannot_be_sent_are_problems() {
    for weight in ["0", "-1", "nan", "inf", "0.0"] {
        let text = format!("[[request]]\nweight = {weight}");
        assert_eq!(problems(&text), ["request[1].weight"], "{weight}");
    }
    for path in ["", "http://x/", "/a b", "/ä", "/a#b", "/a\\r\\nX: y", "*"] {
        let text = format!("[[request]]\npath = \"{path}\"");
        assert_eq!(problems(&text), ["request[1].path"], "{path}");
    }
    for method in ["", "GET /", "CONNECT", "G\\r\\nT"] {
        let text = format!("[[request]]\nmethod = \"{method}\"\nname = \"n\"");
        assert_eq!(problems(&text), ["request[1].method"], "{method}");
    }
}

#[test]
fn too_many_names_are_a_problem_but_not_too_many_requests() {
    let with = |name: fn(usize) -> String| -> String {
        (0..300)
            .map(|i| format!("[[request]]\npath = \"/{i}\"\nname = \"{}\"\n", name(i)))
            .collect()
    };
    assert_eq!(problems(&with(|i| i.to_string())), ["request"]);
    let shared = Workload::from_toml(&with(|_| "page".into())).unwrap();
    assert_eq!(shared.requests().len(), 300);
}

#[test]
fn sessions_and_data_are_read() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.csv"), "email,next\na@x,/home\n").unwrap();
    let workload = Workload::from_toml_in(
        r#"
        [[request]]
        path = "/find?q={{email}}"
        data = "users.csv"

        [[request]]
        method = "POST"
        path = "/plain"
        form = { a = "b c", n = 1 }

        [[session]]
        weight = 3
        data = { file = "users.csv" }
        [[session.request]]
        path = "{{next}}"
        capture = { id = { regex = '(?i)ID=(\d+)' }, sid = { cookie = "sid" }, again = { header = "Location" } }
        [[session.request]]
        method = "PATCH"
        path = "/things/{{id}}"
        headers = { X-Sid = "{{sid}}" }
        body = '{"a": {{"b": 1}}, "email": "{{ email }}"}'
        [[session.request]]
        path = "{{again}}"
        "#,
        folder.path(),
    )
    .unwrap();
    let names = [
        "GET /find",
        "POST /plain",
        "GET {{next}}",
        "PATCH /things/{{id}}",
        "GET {{again}}",
    ];
    assert_eq!(workload.names(), names);
    assert_eq!(workload.unsafe_methods(), ["POST", "PATCH"]);
    let [_, form, steps @ ..] = workload.requests() else {
        panic!("{workload:?}")
    };
    assert_eq!(form.body, b"a=b+c&n=1");
    let content_type = "application/x-www-form-urlencoded".to_owned();
    assert_eq!(form.headers, [("Content-Type".to_owned(), content_type)]);
    assert!(steps.iter().all(|step| (step.weight - 1.0).abs() < 1e-12));
    assert!(workload.has_sessions());
    assert_eq!(workload.plain_path(), None);
}

#[test]
fn what_is_wrong_with_sessions_comes_at_once_each_with_its_place() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("users.csv"), "email,next\na@x,home\n").unwrap();
    let found = Workload::from_toml_in(
        r#"
        [[request]]
        path = "/find?q={{email}}"
        [[request]]
        data = "missing.csv"
        body = "{{whatever}}"
        form = { a = "b" }
        status = 404
        [[session]]
        users = 0
        colour = "red"
        data = "users.csv"
        [[session.request]]
        path = "{{next}}"
        weight = 2
        headers = { X = "{{later}}" }
        capture = { email = { form = "x" }, later = { regex = "(" }, two = { form = "a", meta = "b" } }
        [[session.request]]
        path = "/{{two}}/{{emial}}"
        capture = { j = { json = "items" }, x = { xpath = "//a" }, h = { header = "a b" }, e = { cookie = "" } }
        [[session]]
        data = { folder = "x" }
        "#,
        folder.path(),
    )
    .unwrap_err();
    let keys: Vec<&str> = found.iter().map(|problem| problem.key.as_str()).collect();
    let expected = [
        "request[1].path",
        "request[2].data",
        "request[2].form",
        "request[2].status",
        "session[1].colour",
        "session[1].users",
        "session[1].request[1].capture.later.regex",
        "session[1].request[1].capture.two",
        "session[1].request[2].capture.e.cookie",
        "session[1].request[2].capture.h.header",
        "session[1].request[2].capture.j.json",
        "session[1].request[2].capture.x.xpath",
        "session[1].request[1].weight",
        "session[1].request[1].path",
        "session[1].request[1].headers.X",
        "session[1].request[1].capture.email",
        "session[1].request[2].path",
        "session[2].data.folder",
        "session[2].data",
        "session[2].request",
    ];
    let (mut keys, mut expected) = (keys, expected.to_vec());
    keys.sort_unstable();
    expected.sort_unstable();
    assert_eq!(keys, expected, "{found:#?}");
    let told = |key: &str| {
        found
            .iter()
            .find(|problem| problem.key == key)
            .unwrap()
            .to_string()
    };
    assert!(told("session[1].request[1].headers.X").contains("before this one"));
    assert!(told("session[1].request[2].path").contains("email, next"));
    assert!(told("session[1].request[1].path").contains("\"home\""));
    assert!(told("request[2].data").contains("missing.csv"));
}
