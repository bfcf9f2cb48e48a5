//! What only tests need: whether JSON keeps a contract, a trace its format,
//! a text Prometheus'. Nothing that is shipped depends on it.

mod chrome_trace;
mod duckdb;
mod promtool;

pub use chrome_trace::trace_problems;
pub use duckdb::{Answer, duckdb};
pub use promtool::promtool;

use serde_json::Value;

/// What in `document` breaks `schema`, each with its place in the document; empty when it keeps it.
///
/// # Errors
/// When `schema` itself is no JSON Schema.
pub fn violations(schema: &Value, document: &Value) -> Result<Vec<String>, String> {
    let validator = jsonschema::validator_for(schema).map_err(|e| e.to_string())?;
    Ok(validator
        .iter_errors(document)
        .map(|broken| format!("{}: {broken}", broken.instance_path()))
        .collect())
}

/// Does it in a thread that may read no more than others may: root, too, is another user there.
///
/// # Panics
/// When the thread cannot become another user, or what is done panics.
pub fn as_nobody<T: Send>(done: impl FnOnce() -> T + Send) -> T {
    let nobody = rustix::process::Uid::from_raw(65_534);
    let in_thread = || {
        if rustix::process::geteuid().is_root() {
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).expect("another user");
        }
        done()
    };
    std::thread::scope(|scope| scope.spawn(in_thread).join().expect("no panic"))
}

#[cfg(test)]
mod tests {
    use super::violations;
    use serde_json::json;

    #[test]
    fn each_violation_is_named_with_its_place() {
        let schema = json!({
            "type": "object",
            "required": ["name"],
            "properties": { "name": { "type": "string" }, "sizes": { "items": { "type": "integer" } } },
            "additionalProperties": false
        });
        assert!(
            violations(&schema, &json!({"name": "a"}))
                .unwrap()
                .is_empty()
        );
        let found = violations(&schema, &json!({"sizes": [1, "two"], "more": 1})).unwrap();
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(
            found.iter().any(|v| v.starts_with("/sizes/1: ")),
            "{found:?}"
        );
    }

    #[test]
    fn a_schema_that_is_none_is_refused() {
        assert!(violations(&json!({"type": "nonsense"}), &json!({})).is_err());
    }
}
