//! Recorded traffic as the workload of an experiment.

use experiment::config::{Asked, Request, resolve};
use experiment::{Experiment, Goal};
use std::path::Path;

const SAMPLE: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../contract/samples/capture/traffic-v1.pbc"
);

fn resolved(file: &Path, allow_unsafe: bool) -> Result<Experiment, String> {
    let request = Request {
        app_dir: Some(Asked::new(env!("CARGO_MANIFEST_DIR"), "--app")),
        workload_file: Some(Asked::new(file.display().to_string(), "--workload")),
        allow_unsafe: Some(Asked::new(allow_unsafe.to_string(), "--allow-unsafe")),
        ..Request::default()
    };
    resolve(request, Goal::Tune, 1).map_err(|problems| {
        let told: Vec<String> = problems.iter().map(ToString::to_string).collect();
        told.join("\n")
    })
}

#[test]
fn a_capture_file_is_a_workload_in_its_order() {
    let experiment = resolved(Path::new(SAMPLE), true).unwrap();
    let requests = experiment.workload.requests();
    let names: Vec<&str> = requests.iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["GET /products/:id", "POST /cart"]);
    assert_eq!(experiment.workload.order().unwrap().as_ref(), [0, 1]);
    let notes = experiment.recording_notes;
    assert!(
        notes[0].contains("left out: ") && notes[0].contains("1 skipped: record 3"),
        "{notes:?}"
    );
    assert_eq!(experiment.ready_path, "/products/1?token=REDACTED");
}

#[test]
fn methods_that_change_data_and_files_that_are_no_recording_are_refused() {
    let refused = resolved(Path::new(SAMPLE), false).unwrap_err();
    assert!(
        refused.contains("POST") && refused.contains("--allow-unsafe"),
        "{refused}"
    );
    let nothing = resolved(Path::new("none.pbc"), true).unwrap_err();
    assert!(
        nothing.contains("none.pbc") && nothing.contains("--workload"),
        "{nothing}"
    );
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("access.log");
    std::fs::write(&log, "hello\n").unwrap();
    let unknown = resolved(&log, true).unwrap_err();
    assert!(
        unknown.contains("not recognised") && unknown.contains("docs/traffic.md"),
        "{unknown}"
    );
    let line = "1.2.3.4 - - [21/Nov/2026:12:45:58 +0000] \"GET /a HTTP/1.1\" 200 5\n";
    std::fs::write(&log, line.repeat(3)).unwrap();
    assert_eq!(
        resolved(&log, true)
            .unwrap()
            .workload
            .order()
            .unwrap()
            .len(),
        3
    );
}
