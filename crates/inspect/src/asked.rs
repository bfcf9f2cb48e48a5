//! The inputs of a document: version, sources, time.

/// Version, sources and time.
#[derive(Debug, Clone)]
pub struct Asked {
    /// Version of powerband.
    pub version: String,
    /// The folders and files named, or the folder that stood in for them.
    pub sources: Vec<String>,
    /// The values of `--since`, as they were given.
    pub since: Vec<String>,
    /// Nanoseconds since 1970.
    pub now_ns: u64,
}
