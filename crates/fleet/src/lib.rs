//! An experiment in production: its file, the draw of an arm, and the verdict from what Prometheus has of the fleet.
//!
//! Everything here is pure: texts, instants and answers are arguments. The caller reads files, asks Prometheus and prints.
//! `docs/experiment.md` is the user's side, `docs/method.md` has the statistics.

mod draw;
mod drift;
mod experiment;
mod file;
mod halted;
mod interrupted;
mod join;
mod judge;
mod label;
mod problem;
mod query;
mod series;

pub use draw::{Assigned, Drawn, Outside, assign, draw};
pub use drift::{Assumption, Assumptions, DriftAsked, NoAnswer, drift, drift_query, drift_rules};
pub use experiment::{Arm, Experiment, Guardrails, UnitKind};
pub use file::read;
pub use halted::{parse as halted, text as halted_text};
pub use interrupted::{BeforeAfterAsked, Hours, Period, Periods, Side, compared, hour_queries};
pub use join::{Fleet, Gathered, LeftOut, Slice, Tail, Unit, join};
pub use judge::{Asked, instant, judge};
pub use label::Label;
pub use problem::Problem;
pub use query::{Family, Query, Span, queries};
pub use series::{AnswerError, Answered, Series, parse as series};
