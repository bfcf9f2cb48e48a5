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
