//! `predict`: what another configuration would do.

mod validate;

use crate::Failure;
use crate::args::PredictArgs;

/// `powerband predict`.
pub fn predict(args: PredictArgs) -> Result<u8, Failure> {
    if args.validate {
        return validate::validate(args.validation);
    }
    Err(Failure::usage(
        "predict: nothing to do; --validate scores predictions of the application against what its servers really do",
    ))
}
