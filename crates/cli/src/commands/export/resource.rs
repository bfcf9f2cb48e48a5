//! Attributes of the resource that readings are of: the service, its instance, and what else receivers tell series apart by.

use crate::args::ExportArgs;
use percent_encoding::percent_decode_str;

/// OpenTelemetry's variable of attributes: `key=value,key=value`, with percent-encoding.
pub const VARIABLE: &str = "OTEL_RESOURCE_ATTRIBUTES";

pub type Attributes = Vec<(String, String)>;

/// Flags win over the variable, which wins over the host's name. `variable` is its value.
pub fn resource(args: &ExportArgs, variable: Option<&str>, wrong: &mut Vec<String>) -> Attributes {
    let mut all = given(&args.resource, wrong);
    let service = args.service.as_deref().map(str::trim);
    match service.filter(|name| !name.is_empty()) {
        Some(name) if has(&all, "service.name") => wrong.push(format!(
            "--service = {name:?} (or OTEL_SERVICE_NAME): --resource has service.name as well; give one of them"
        )),
        Some(name) => all.push(("service.name".to_owned(), name.to_owned())),
        None => {}
    }
    for (key, value) in listed(variable.unwrap_or_default(), wrong) {
        if !has(&all, &key) {
            all.push((key, value));
        }
    }
    if !has(&all, "service.name") {
        wrong.push(
            "--otlp and --parquet want the name of the application; give --service shop".to_owned(),
        );
    }
    for key in ["service.instance.id", "host.name"] {
        if !has(&all, key) {
            all.push((key.to_owned(), crate::commands::host_name()));
        }
    }
    all
}

fn has(all: &Attributes, key: &str) -> bool {
    all.iter().any(|(one, _)| one == key)
}

fn given(texts: &[String], wrong: &mut Vec<String>) -> Attributes {
    let mut all = Vec::new();
    for text in texts {
        match text.split_once('=') {
            Some((key, _)) if has(&all, key.trim()) => wrong.push(format!(
                "--resource = {text:?}: {} is given twice; give it once",
                key.trim()
            )),
            Some((key, value)) if !key.trim().is_empty() && !value.is_empty() => {
                all.push((key.trim().to_owned(), value.to_owned()));
            }
            _ => wrong.push(format!(
                "--resource = {text:?}: no key and value; write KEY=VALUE, such as service.version=42"
            )),
        }
    }
    all
}

fn listed(variable: &str, wrong: &mut Vec<String>) -> Attributes {
    let items = variable.split(',').map(str::trim);
    let mut all = Vec::new();
    for item in items.filter(|item| !item.is_empty()) {
        match item.split_once('=').and_then(attribute) {
            Some(attribute) => all.push(attribute),
            None => wrong.push(format!(
                "{VARIABLE}: {item:?} is no attribute; write key=value,key=value, with %2C for a comma and %25 for a percent sign in a value"
            )),
        }
    }
    all
}

fn attribute((key, value): (&str, &str)) -> Option<(String, String)> {
    let decoded = |text: &str| Some(percent_decode_str(text.trim()).decode_utf8().ok()?.into());
    let (key, value): (String, String) = (decoded(key)?, decoded(value)?);
    (!key.is_empty()).then_some((key, value))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{Cli, Command};
    use clap::Parser;

    fn found(flags: &[&str], variable: &str) -> (Attributes, Vec<String>) {
        let words = ["powerband", "export", "--otlp", "http://a"];
        match Cli::try_parse_from(words.iter().chain(flags))
            .unwrap()
            .command
        {
            Command::Export(args) => {
                let mut wrong = Vec::new();
                (resource(&args, Some(variable), &mut wrong), wrong)
            }
            _ => unreachable!(),
        }
    }

    fn value<'a>(all: &'a Attributes, key: &str) -> &'a str {
        let found: Vec<_> = all.iter().filter(|(one, _)| one == key).collect();
        assert_eq!(found.len(), 1, "{key} in {all:?}");
        &found[0].1
    }

    #[test]
    fn flags_come_before_the_variable_and_this_before_the_host() {
        let variable =
            "service.name=store, deployment.environment=test%2Cblue,host.name=h,,service.version=1";
        let (all, wrong) = found(&["--resource", "service.version=2"], variable);
        assert_eq!(wrong, [""; 0]);
        for (key, expected) in [
            ("service.name", "store"),
            ("deployment.environment", "test,blue"),
            ("host.name", "h"),
            ("service.version", "2"),
        ] {
            assert_eq!(value(&all, key), expected);
        }
        assert_eq!(
            value(&all, "service.instance.id"),
            crate::commands::host_name()
        );
        let (all, _) = found(&["--service", "shop"], variable);
        assert_eq!(value(&all, "service.name"), "shop");
    }

    #[test]
    fn each_part_of_the_variable_that_is_wrong_is_named() {
        let (_, wrong) = found(&["--service", "shop"], "a,=b,c=,d=%ff,e=f");
        assert_eq!(wrong.len(), 3, "{wrong:?}");
        for (said, item) in wrong.iter().zip(["\"a\"", "\"=b\"", "\"d=%ff\""]) {
            assert!(said.starts_with(VARIABLE) && said.contains(item), "{said}");
        }
    }
}
