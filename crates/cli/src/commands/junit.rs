//! `--junit`: the assertions as JUnit XML, which CI systems show as tests.

use super::untouched_file::{emptied, open};
use crate::Failure;
use quick_xml::Writer;
use quick_xml::events::{BytesDecl, Event};
use run::load::{Assertion, AssertionOutcome};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// A file for the report; what is in it stays until [`JunitFile::write`].
#[derive(Debug)]
pub struct JunitFile {
    path: PathBuf,
    file: File,
}

impl JunitFile {
    /// Before the run, so that a wrong name costs none.
    pub fn asked(path: Option<&Path>) -> Result<Option<JunitFile>, Failure> {
        let create = |path: &Path| -> Result<JunitFile, Failure> {
            let file = open(path).map_err(|e| Failure::usage(told(path, &e)))?;
            let path = path.to_owned();
            Ok(JunitFile { path, file })
        };
        path.map(create).transpose()
    }

    /// `no_answer`: why the figures decide nothing, whatever the assertions say of them.
    pub fn write(mut self, suite: &Suite<'_>, no_answer: Option<&str>) -> Result<(), String> {
        let written = xml(suite, no_answer)
            .and_then(|xml| emptied(&self.file).and_then(|()| self.file.write_all(&xml)));
        written.map_err(|e| told(&self.path, &e))
    }
}

/// What the report is about.
#[derive(Debug)]
pub struct Suite<'a> {
    /// Such as `load http://127.0.0.1/`.
    pub name: &'a str,
    /// UTC, RFC 3339.
    pub started_at: &'a str,
    /// How long it lasted.
    pub elapsed_s: f64,
    /// Its test cases.
    pub assertions: &'a [Assertion],
}

impl Suite<'_> {
    /// `powerband.load`, by its verb.
    fn class(&self) -> String {
        let verb = self.name.split(' ').next().unwrap_or_default();
        format!("powerband.{verb}")
    }
}

fn told(path: &Path, error: &io::Error) -> String {
    format!(
        "--junit = {:?}: {error}; name a file that can be written",
        path.display().to_string()
    )
}

/// What a test case holds where it did not pass, and why.
fn fault<'a>(
    assertion: &'a Assertion,
    no_answer: Option<&'a str>,
) -> Option<(&'static str, &'a str)> {
    let sentence = assertion.sentence.as_str();
    match (no_answer, assertion.outcome) {
        (Some(why), _) => Some(("error", why)),
        (None, AssertionOutcome::Fails) => Some(("failure", sentence)),
        // No `skipped`: most CI systems count that as passed, and the exit code is 3.
        (None, AssertionOutcome::Unknown) => Some(("error", sentence)),
        (None, AssertionOutcome::Holds) => None,
    }
}

fn xml(suite: &Suite<'_>, no_answer: Option<&str>) -> io::Result<Vec<u8>> {
    let assertions = suite.assertions;
    let count = |element| {
        let faults = assertions.iter().filter_map(|a| fault(a, no_answer));
        faults
            .filter(|(kind, _)| *kind == element)
            .count()
            .to_string()
    };
    let (tests, failures, errors) = (
        assertions.len().to_string(),
        count("failure"),
        count("error"),
    );
    let time = format!("{:.3}", suite.elapsed_s);
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let suites = writer.create_element("testsuites").with_attributes([
        ("tests", tests.as_str()),
        ("failures", &failures),
        ("errors", &errors),
        ("time", &time),
    ]);
    suites.write_inner_content(|writer| {
        let element = writer.create_element("testsuite").with_attributes([
            ("name", clean(&format!("powerband {}", suite.name)).as_str()),
            ("timestamp", suite.started_at),
            ("tests", &tests),
            ("failures", &failures),
            ("errors", &errors),
            ("skipped", "0"),
            ("time", &time),
        ]);
        element.write_inner_content(|writer| {
            assertions
                .iter()
                .try_for_each(|assertion| case(writer, suite, assertion, no_answer))
        })?;
        Ok(())
    })?;
    let mut xml = writer.into_inner();
    xml.push(b'\n');
    Ok(xml)
}

fn case(
    writer: &mut Writer<Vec<u8>>,
    suite: &Suite<'_>,
    assertion: &Assertion,
    no_answer: Option<&str>,
) -> io::Result<()> {
    let case = writer.create_element("testcase").with_attributes([
        ("classname", suite.class().as_str()),
        ("name", clean(&assertion.assertion).as_str()),
    ]);
    match fault(assertion, no_answer) {
        None => case.write_empty()?,
        Some((element, message)) => case.write_inner_content(|writer| {
            let fault = writer.create_element(element);
            fault
                .with_attribute(("message", clean(message).as_str()))
                .write_empty()?;
            Ok(())
        })?,
    };
    Ok(())
}

/// Without what XML 1.0 has no way to write; names of pages may hold it.
fn clean(text: &str) -> String {
    text.replace(
        |c: char| c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}'),
        " ",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assertion(name: &str, outcome: AssertionOutcome) -> Assertion {
        Assertion {
            assertion: name.to_owned(),
            endpoint: None,
            limit: 250.0,
            measured: None,
            outcome,
            sentence: format!("{name} says < & \u{1b} \""),
        }
    }

    /// Test cases by name, with what they hold, and the counts that the suite states.
    fn read(no_answer: Option<&str>) -> (Vec<[String; 3]>, [String; 4]) {
        let assertions = [
            assertion("p50=1s", AssertionOutcome::Holds),
            assertion("GET /a<b:p99=1s", AssertionOutcome::Fails),
            assertion("max=1s", AssertionOutcome::Unknown),
        ];
        let suite = Suite {
            name: "load http://127.0.0.1/?a=\"b\"&c",
            started_at: "2026-01-01T00:00:00Z",
            elapsed_s: 1.5,
            assertions: &assertions,
        };
        let xml = String::from_utf8(xml(&suite, no_answer).unwrap()).unwrap();
        let xml = roxmltree::Document::parse(&xml).unwrap();
        let suite = xml.root_element().first_element_child().unwrap();
        let name = suite.attribute("name").unwrap();
        assert_eq!(name, "powerband load http://127.0.0.1/?a=\"b\"&c");
        let counts = ["tests", "failures", "errors", "skipped"];
        let counts = counts.map(|name| suite.attribute(name).unwrap().to_owned());
        let cases = suite.children().filter(roxmltree::Node::is_element);
        let cases = cases.map(|case| {
            let fault = case.first_element_child();
            let kind = fault.map_or("", |f| f.tag_name().name());
            let message = fault.and_then(|f| f.attribute("message"));
            let name = case.attribute("name").unwrap();
            [name, kind, message.unwrap_or_default()].map(str::to_owned)
        });
        (cases.collect(), counts)
    }

    #[test]
    fn an_assertion_is_a_test_case_that_fails_and_an_undecided_one_an_error() {
        let (cases, counts) = read(None);
        assert_eq!(
            cases,
            [
                ["p50=1s", "", ""],
                [
                    "GET /a<b:p99=1s",
                    "failure",
                    "GET /a<b:p99=1s says < &   \""
                ],
                ["max=1s", "error", "max=1s says < &   \""],
            ]
        );
        assert_eq!(counts, ["3", "1", "1", "0"]);
    }

    #[test]
    fn figures_that_are_no_answer_pass_no_test_case() {
        let (cases, counts) = read(Some("the generator was late"));
        for [_, kind, why] in cases {
            assert_eq!([kind.as_str(), &why], ["error", "the generator was late"]);
        }
        assert_eq!(counts, ["3", "0", "3", "0"]);
    }
}
