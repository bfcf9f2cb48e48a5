//! Writes `contract/run-v1.schema.json` and `contract/run-v1.md` from the types: `make contract`.

fn main() -> std::io::Result<()> {
    let contract = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract");
    let schema = serde_json::to_string_pretty(&run::json_schema()).expect("a schema is JSON");
    std::fs::write(contract.join("run-v1.schema.json"), schema + "\n")?;
    std::fs::write(contract.join("run-v1.md"), run::field_page())
}
