//! A process that was started for the server, as the guard and messages know it.

/// Something that was started for the server and runs as long as it.
#[derive(Debug)]
pub(crate) struct Service {
    /// The id that the guard knows it by.
    pub(crate) id: u32,
    pub(crate) pid: u32,
    /// Such as `the service "upstream"`.
    pub(crate) what: String,
}
