//! Writes `docs/knobs.md` from the catalogue: `make contract`.

fn main() -> std::io::Result<()> {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/knobs.md");
    std::fs::write(path, knobs::page())
}
