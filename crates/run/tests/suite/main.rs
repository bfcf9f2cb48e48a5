//! The tests of `run` that share one process; those that need a process for themselves are files of `tests/`.

mod advise_sample;
mod calc_samples;
mod contract;
mod doctor_sample;
mod document_samples;
mod predict_sample;
mod samples;
mod validation_sample;
