use super::*;
use crate::Server;

const DEPLOYMENT: &str = "apiVersion: v1
kind: Service
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: shop}
spec:
  replicas: 3 # pods
  template:
    spec:
      containers:
        - name: proxy
          image: envoy:1
        - name: app
          image: shop:1 # pinned
          command: [bundle, exec, puma, -b, \"tcp://0.0.0.0:3000\", -t, \"3:3\"]
          env:
            # of the answer
            - name: WEB_CONCURRENCY
              value: \"4\"
            - name: DATABASE_URL
              valueFrom: {secretKeyRef: {name: db, key: url}}
          resources:
            requests: {cpu: \"2\", memory: 384Mi}
            limits: {memory: 768Mi}
";

fn recommended(pod: Pod) -> Recommended {
    Recommended {
        pod,
        ..Recommended::of(Server::Puma, 2, 5, true)
    }
}

fn wanted() -> [Wanted; 2] {
    [
        Wanted::is("RAILS_MAX_THREADS", 5),
        Wanted::is("WEB_CONCURRENCY", 2),
    ]
}

const POD: Pod = Pod {
    cpus: Some(1.5),
    memory_bytes: Some(1 << 30),
};

fn changed(before: &str, pod: Pod, adds: bool) -> (String, Vec<Note>) {
    let (recommended, wanted, mut notes) = (recommended(pod), wanted(), Vec::new());
    let asked = Asked {
        recommended: &recommended,
        wanted: &wanted,
        adds,
    };
    let change = deployment("deployment.yml", before, asked, &mut notes);
    let again = deployment("deployment.yml", &change.text, asked, &mut Vec::new());
    assert_eq!(again.diff, "", "its own output changes");
    (change.text, notes)
}

#[test]
fn limits_variables_and_flags_change_where_they_stand_and_comments_stay() {
    let (after, notes) = changed(DEPLOYMENT, POD, true);
    let expected = DEPLOYMENT
        .replace("-t, \"3:3\"", "-t, \"5:5\"")
        .replace("value: \"4\"", "value: \"2\"")
        .replace("            # of the answer\n", "            # of the answer\n            - name: RAILS_MAX_THREADS\n              value: \"5\"\n")
        .replace("{cpu: \"2\", memory: 384Mi}", "{cpu: \"1500m\", memory: 384Mi}")
        .replace("limits: {memory: 768Mi}", "limits: {cpu: 1500m, memory: 1Gi}");
    assert_eq!(after, expected);
    assert!(notes.is_empty(), "{notes:?}");
    // A ConfigMap has what is missing, and the limits were not measured.
    let (after, _) = changed(DEPLOYMENT, Pod::default(), false);
    assert!(
        !after.contains("RAILS_MAX_THREADS") && after.contains("{memory: 768Mi}"),
        "{after}"
    );
}

#[test]
fn a_limit_with_a_fraction_is_written_once_and_the_rest_too() {
    for (cpus, quantity) in [(0.7, "700m"), (0.3333, "333m"), (1.15, "1150m")] {
        let pod = Pod {
            cpus: Some(cpus),
            ..POD
        };
        let (after, notes) = changed(DEPLOYMENT, pod, true);
        let limits = format!("limits: {{cpu: {quantity}, memory: 1Gi}}");
        assert!(
            after.contains(&limits) && after.contains("-t, \"5:5\""),
            "{after}"
        );
        assert!(
            after.contains(&format!("cpu: \"{quantity}\"")),
            "a request of more: {after}"
        );
        assert!(notes.is_empty(), "{notes:?}");
    }
}

#[test]
fn a_worker_of_jobs_is_not_the_server() {
    let worker = "image: shop:1\n          command: [bundle, exec, sidekiq]\n          env: [{name: RAILS_MAX_THREADS, value: \"9\"}]";
    let before = DEPLOYMENT.replace("image: envoy:1", worker);
    let (after, notes) = changed(&before, POD, true);
    assert!(notes.is_empty(), "{notes:?}");
    assert!(after.contains(worker) && after.contains("-t, \"5:5\""));
    let without_command = before
        .replace(
            "          command: [bundle, exec, puma, -b, \"tcp://0.0.0.0:3000\", -t, \"3:3\"]\n",
            "",
        )
        .replace(
            "            - name: WEB_CONCURRENCY\n              value: \"4\"\n",
            "",
        );
    let (after, notes) = changed(&without_command, POD, true);
    assert_eq!(after, without_command);
    assert!(
        notes[0].text.contains("none of its containers"),
        "{notes:?}"
    );
}

#[test]
fn a_container_without_resources_and_variables_gets_them() {
    let before = "kind: Deployment\nspec:\n  template:\n    spec:\n      containers:\n        - name: app\n          image: shop\n";
    let (after, _) = changed(before, POD, true);
    for lines in [
        "          resources:\n            limits:\n              cpu: 1500m\n",
        "              memory: 1Gi\n",
        "          env:\n            - name: ",
        "            - name: WEB_CONCURRENCY\n              value: \"2\"\n",
    ] {
        assert!(after.contains(lines), "{lines}: {after}");
    }
    let requests =
        format!("{before}          resources:\n            requests:\n              cpu: 100m\n");
    let (after, _) = changed(&requests, POD, false);
    let limits = "          resources:\n            limits:\n";
    assert!(after.contains(limits), "{after}");
}

#[test]
fn what_has_no_place_is_said_with_what_to_write() {
    for (before, why) in [
        ("kind: Service\n", "no Deployment"),
        ("image: {{ .Values.image }}:x\n", "template"),
        (
            &DEPLOYMENT
                .replace("puma", "bin/start")
                .replace("WEB_CONCURRENCY", "X"),
            "none of its containers",
        ),
        (
            &DEPLOYMENT.replace(
                "envoy:1",
                "envoy\n          env: [{name: WEB_CONCURRENCY, value: \"1\"}]",
            ),
            "several",
        ),
    ] {
        let (after, notes) = changed(before, POD, true);
        assert_eq!(after, *before);
        let said = &notes[0].text;
        assert!(
            said.contains(why)
                && said.contains("resources.limits.cpu: 1500m")
                && said.contains("WEB_CONCURRENCY: \"2\""),
            "{said}"
        );
    }
    let from_elsewhere = DEPLOYMENT.replace(
        "              value: \"4\"\n",
        "              valueFrom: {configMapKeyRef: {name: a, key: b}}\n",
    );
    let (_, notes) = changed(&from_elsewhere, POD, true);
    assert!(
        notes[0]
            .text
            .contains("the value of WEB_CONCURRENCY comes from a source"),
        "{notes:?}"
    );
}

#[test]
fn a_config_map_holds_words() {
    let (recommended, wanted) = (recommended(Pod::default()), wanted());
    let map = |before: &str, adds| {
        let asked = Asked {
            recommended: &recommended,
            wanted: &wanted,
            adds,
        };
        let mut notes = Vec::new();
        let change = config_map("config.yml", before, asked, &mut notes);
        (change.text, notes)
    };
    let before = "kind: ConfigMap\ndata:\n  RAILS_LOG: x # keep\n  WEB_CONCURRENCY: '4'\n";
    let (after, _) = map(before, true);
    assert_eq!(
        after,
        "kind: ConfigMap\ndata:\n  RAILS_LOG: x # keep\n  RAILS_MAX_THREADS: \"5\"\n  WEB_CONCURRENCY: '2'\n"
    );
    assert!(!map(before, false).0.contains("RAILS_MAX_THREADS"));
    let (after, _) = map("apiVersion: v1\nkind: ConfigMap\n", true);
    assert!(
        after.contains("data:\n  WEB_CONCURRENCY: \"2\"\n")
            || after.contains("data:\n  RAILS_MAX_THREADS: \"5\"\n"),
        "{after}"
    );
    let (_, notes) = map("kind: Secret\n", true);
    assert!(notes[0].text.contains("just one ConfigMap"), "{notes:?}");
}
