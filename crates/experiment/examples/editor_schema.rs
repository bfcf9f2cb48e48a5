//! Writes `contract/powerband-toml.schema.json`: `make contract`.

fn main() -> std::io::Result<()> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../contract/powerband-toml.schema.json");
    let schema = format!("{:#}\n", experiment::config::editor_schema());
    std::fs::write(path, schema)
}
