//! The checks, by what they are about.

pub(crate) mod boot;
pub(crate) mod growth;
pub(crate) mod majors;
pub(crate) mod malloc;
pub(crate) mod processes;
#[cfg(test)]
pub(crate) mod samples;
