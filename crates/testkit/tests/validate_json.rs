//! The program, as the end-to-end tests call it. That it has a test of its own also has `cargo test` build it, so that
//! they find it built.

use std::path::Path;
use std::process::Command;

#[test]
fn its_exit_code_says_whether_a_document_keeps_the_schema() {
    let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contract");
    let validate = |schema: &str, sample: &str| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_validate-json"));
        let ended = program
            .arg(contract.join(schema))
            .arg(contract.join(sample))
            .output();
        let ended = ended.unwrap();
        let said = String::from_utf8_lossy(&ended.stderr).into_owned();
        (ended.status.code(), said)
    };
    let sample = "samples/run/compare.json";
    assert_eq!(
        validate("run-v1.schema.json", sample),
        (Some(0), String::new())
    );
    let (code, said) = validate("load-v1.schema.json", sample);
    assert!(
        code == Some(1) && said.contains("compare.json: "),
        "{code:?} {said}"
    );
    assert_eq!(validate("run-v1.schema.json", "no-such.json").0, Some(2));
}
