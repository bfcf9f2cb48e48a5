//! Writes `contract/parquet-v1.md`, for `make contract`.

use std::path::Path;

fn main() -> std::io::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract/parquet-v1.md");
    std::fs::write(path, archive::page())
}
