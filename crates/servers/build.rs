//! Packs for `agent/embedded.rs` the files that `gem/powerband.gemspec` names, without `exe/powerband`, which starts this program: 390 KB
//! of text in 100 KB.

use flate2::Compression;
use flate2::write::ZlibEncoder;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

fn main() {
    // Read when it runs: a script that another checkout compiled into the same target folder has that checkout's path.
    let here = std::env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it");
    let gem = Path::new(&here).join("../../gem");
    let mut files = Vec::new();
    add(&gem.join("lib"), &["rb"], &mut files);
    add(&gem.join("ext"), &["c", "h", "rb"], &mut files);
    files.push(gem.join("LICENSE"));
    files.sort();
    // What Rails and Puma load by its name; nothing else names a new file.
    for folder in ["lib/generators", "lib/puma"] {
        println!("cargo:rerun-if-changed={}", gem.join(folder).display());
    }
    let mut list = String::from("const FILES: &[(&str, usize)] = &[\n");
    let mut packed = ZlibEncoder::new(Vec::new(), Compression::best());
    let mut digest = DefaultHasher::new();
    for file in &files {
        // Not lib/ as a whole: extensions that are built in lib/powerband would compile this crate again. A new file there comes
        // with a change of the file that requires or includes it.
        println!("cargo:rerun-if-changed={}", file.display());
        let name = file.strip_prefix(&gem).expect("is below the gem");
        let bytes = fs::read(file).expect("can be read");
        (name, &bytes).hash(&mut digest);
        packed.write_all(&bytes).expect("a Vec takes it");
        list.push_str(&format!("    ({name:?}, {}),\n", bytes.len()));
    }
    let digest = digest.finish();
    list.push_str(&format!("];\nconst DIGEST: &str = \"{digest:016x}\";\n"));
    let out = std::env::var_os("OUT_DIR").expect("cargo sets it");
    let out = Path::new(&out);
    fs::write(out.join("gem_files.rs"), list).expect("can be written");
    let packed = packed.finish().expect("a Vec takes it");
    fs::write(out.join("gem_files"), packed).expect("can be written");
}

/// The files below the folder that end so.
fn add(folder: &Path, kinds: &[&str], files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("is there") {
        let path = entry.expect("can be read").path();
        if path.is_dir() {
            add(&path, kinds, files);
        } else if path
            .extension()
            .is_some_and(|kind| kinds.iter().any(|k| kind == *k))
        {
            files.push(path);
        }
    }
}
