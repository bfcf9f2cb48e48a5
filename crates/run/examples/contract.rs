//! Writes the schemas and the pages in `contract/` from the types: `make contract`.

fn main() -> std::io::Result<()> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract");
    for contract in run::contracts() {
        let schema = serde_json::to_string_pretty(&contract.schema).expect("a schema is JSON");
        let name = contract.name;
        std::fs::write(folder.join(format!("{name}.schema.json")), schema + "\n")?;
        std::fs::write(folder.join(format!("{name}.md")), contract.page)?;
    }
    Ok(())
}
