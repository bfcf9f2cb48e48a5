//! Compresses the pages that `make web` builds for `templates.rs`: together 600 KB, of which a command needs one at most.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::fs;
use std::io::Write;
use std::path::PathBuf;

fn main() {
    let folder = |name| PathBuf::from(std::env::var_os(name).expect("cargo sets it"));
    let (crate_folder, out) = (folder("CARGO_MANIFEST_DIR"), folder("OUT_DIR"));
    for name in ["page.html", "watch.html"] {
        let source = crate_folder.join("../../web/dist").join(name);
        println!("cargo:rerun-if-changed={}", source.display());
        let text = fs::read(&source).expect("`make web` built it");
        let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
        encoder.write_all(&text).expect("a Vec takes it");
        let bytes = encoder.finish().expect("a Vec takes it");
        fs::write(out.join(name), bytes).expect("can be written");
    }
}
