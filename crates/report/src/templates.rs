//! The pages that `make web` builds, as `build.rs` compressed them.

use flate2::read::ZlibDecoder;
use std::io::Read;
use std::sync::LazyLock;

/// Of `report --html`.
pub(crate) static PAGE: LazyLock<String> =
    LazyLock::new(|| text(include_bytes!(concat!(env!("OUT_DIR"), "/page.html"))));

/// Of `watch --serve`. Its policy allows its own script alone.
pub static WATCH_PAGE: LazyLock<String> =
    LazyLock::new(|| text(include_bytes!(concat!(env!("OUT_DIR"), "/watch.html"))));

fn text(compressed: &[u8]) -> String {
    let mut text = String::new();
    ZlibDecoder::new(compressed)
        .read_to_string(&mut text)
        .expect("build.rs wrote it");
    text
}

#[cfg(test)]
mod tests {
    #[test]
    fn they_are_what_make_web_built() {
        let built = |name| {
            let path = format!("{}/../../web/dist/{name}", env!("CARGO_MANIFEST_DIR"));
            std::fs::read_to_string(path).unwrap()
        };
        assert_eq!(*super::PAGE, built("page.html"));
        assert_eq!(*super::WATCH_PAGE, built("watch.html"));
    }
}
