//! `check`: a revision of the application against another, with assertions for continuous integration.

use super::experiments::{Files, conduct, otherwise};
use crate::args::CheckArgs;
use crate::{Failure, asked};
use experiment::config::{Asked, Request};
use run::Kind;

/// `powerband check`.
pub fn check(args: CheckArgs) -> Result<u8, Failure> {
    let (file, problems) = asked::request(&args.experiment, None, args.baseline.as_ref())?;
    let mut request = flags(&args).or(file);
    request.rehearse = args.rehearse.then(|| Asked::new("true", "--rehearse"));
    let goal = asked::checked(&request, &otherwise(&request));
    let files = Files {
        markdown: args.markdown.as_deref(),
        junit: args.junit.as_deref(),
    };
    conduct(
        &args.experiment,
        request,
        Kind::Check,
        Ok(goal),
        problems,
        files,
    )
}

fn flags(args: &CheckArgs) -> Request {
    let given = |value: &Option<String>, flag: &str| {
        value.as_ref().map(|text| Asked::new(text.clone(), flag))
    };
    let assertions = args.assertions.iter();
    Request {
        against: given(&args.against, "--against"),
        revision: given(&args.revision, "--revision"),
        assertions: assertions
            .map(|text| Asked::new(text.clone(), "--assert"))
            .collect(),
        ..Request::default()
    }
}
