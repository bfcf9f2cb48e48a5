//! The tests of `run` that share one process; those that need a process for themselves are files of `tests/`.

mod calc_samples;
mod contract;
mod doctor_sample;
mod document_samples;
mod samples;
mod validation_sample;
