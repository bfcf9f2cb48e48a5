//! The tests of `report` that share one process; those that need a process for themselves are files of `tests/`.

mod advise_page;
mod aged_page;
mod before_after_page;
mod calc_page;
mod check_page;
mod command_page;
mod doctor_page;
mod duplex_page;
mod finalists_page;
mod growing_page;
mod inspect_page;
mod inspect_queue_page;
mod latency_page;
mod measured_page;
mod memory_page;
mod no_latency_page;
mod page;
mod pod_page;
mod predict_page;
mod proof_page;
mod reasons_page;
#[path = "../support/run_page.rs"]
mod run_page;
mod smallest_page;
#[path = "../support/mod.rs"]
mod support;
mod unfinished_page;
mod validation_page;
mod verdict_page;
mod worth_page;
