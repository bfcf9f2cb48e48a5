//! The credentials for Prometheus: from files or variables.

use crate::Failure;
use crate::args::PrometheusArgs;
use crate::client::credentials::{basic, bearer, read};
use crate::commands::experiment_file::variable;

const TOKEN: &str = "POWERBAND_PROMETHEUS_TOKEN";
const BASIC: &str = "POWERBAND_PROMETHEUS_BASIC";

/// The value of the header `Authorization`, where one is given.
pub(super) fn authorization(args: &PrometheusArgs) -> Result<Option<String>, Failure> {
    if let Some(file) = &args.token_file {
        return bearer("--token-file", &read(file, "--token-file")?).map(Some);
    }
    if let Some(file) = &args.basic_file {
        return basic("--basic-file", &read(file, "--basic-file")?).map(Some);
    }
    match (variable(TOKEN)?, variable(BASIC)?) {
        (Some(_), Some(_)) => Err(Failure::usage(format!(
            "{TOKEN} and {BASIC} are both set; set one of them"
        ))),
        (Some(token), None) => bearer(TOKEN, &token).map(Some),
        (None, Some(pair)) => basic(BASIC, &pair).map(Some),
        (None, None) => Ok(None),
    }
}
