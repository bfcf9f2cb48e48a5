//! A quick run: the time that it takes, and what does not fit into it.

use super::{Asked, Problem, Request};
use crate::budget;

/// The budget of a quick run.
pub fn budget(request: &Request) -> Option<Asked> {
    let quick = request.quick.as_ref()?;
    Some(Asked::new(budget::QUICK, quick.origin.clone()))
}

/// What takes longer than a quick run has, or gives it another time.
pub fn misfit(request: &Request) -> Option<Problem> {
    let quick = request.quick.as_ref()?;
    if request.workload_command.is_some() {
        // A run of a command is never quick, and refused as such.
        return None;
    }
    let typed = |asked: &&Asked| asked.origin == "--budget";
    if let Some(budget) = request.budget.as_ref().filter(typed) {
        let why = format_args!("{} takes {}", quick.origin, budget::QUICK);
        return Some(Problem::of(budget, why, "leave one of the two out"));
    }
    let others = [
        request.knobs.first(),
        request.least.as_ref(),
        request.age.as_ref(),
    ];
    let other = others.into_iter().flatten().next()?;
    let remedy = match quick.origin.as_str() {
        "--since" => "give a --budget as well".to_owned(),
        origin => format!("give a --budget in place of {origin}"),
    };
    let why = format!("{} has no time for {}", quick.origin, other.origin);
    Some(Problem::with(why, remedy))
}
