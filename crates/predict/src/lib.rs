//! Flight files of a server in, what it would answer with another number of processes and threads out.
//!
//! [`Application`] is what the files say of the application, freed of the configuration that it was traced under: each
//! request's own steps without its stalls, what the server adds to each, and which server that is. A [`Bench`] is an
//! application on a machine; it simulates ([`capacity::sim`]) a [`Point`] under the traffic of a [`OfferedLoad`], and says how
//! far it can be believed: [`SelfCheck`] is the traced configuration under its own arrivals against what was recorded.
//!
//! Reading the files is the only I/O, in [`Application::read`]; everything else is pure, and chance comes from seeds.

mod application;
mod assumption;
mod bench;
mod bootstrap;
mod calibrated;
mod cause;
mod check;
mod cold;
mod costs;
mod course;
mod error;
mod figures;
mod front;
mod generation;
mod grid;
mod growth;
mod hand_over;
mod idle;
mod interval;
mod objective;
mod reading;
mod recorded;
mod server;
mod server_overhead;
mod stations;
mod steps;
mod survey;
mod traced;
mod trial;
mod what_if;

pub use application::{Application, Origin};
pub use assumption::Assumption;
pub use bench::{Bench, Machine, OfferedLoad, Point, Prediction};
pub use calibrated::columns;
pub use cause::Cause;
pub use check::SelfCheck;
pub use cold::{Cold, ColdMeasured};
pub use costs::{Costs, Known};
pub use error::PredictError;
pub use figures::Figures;
pub use interval::{ModelError, Within};
pub use objective::{AtObjective, Objective};
pub use reading::{LEAST_REQUESTS, ProcessTrace, Selection};
pub use recorded::Patterns;
pub use server::{Kind, Server};
pub use stations::Lock;
pub use survey::{AtRate, Question, Surveyed, smallest_enough};
pub use traced::Traced;
pub use trial::{Kinds, Trial};
pub use what_if::WhatIf;
