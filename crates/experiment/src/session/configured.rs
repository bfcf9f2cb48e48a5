//! What the application's own configuration asks for, and how the arms differ from it.

use crate::bench::Bench;
use crate::place::Place;
use crate::progress::{Event, Watcher};
use crate::request::{Arm, Experiment, Goal};
use crate::server_kind::ServerKind;
use run::Settings;

/// That the application preloads and no configuration with workers does: a knob that is easily left out.
pub fn without_preload(arms: &[Arm], own: impl FnOnce() -> Option<Settings>) -> Option<String> {
    let mut named = arms.iter().filter(|arm| arm.revision.is_none());
    let has_workers = named.clone().any(|arm| arm.settings.workers > 0);
    let applies = has_workers
        && !named.any(|arm| arm.settings.preload)
        && own().is_some_and(|own| own.workers > 0 && own.preload);
    applies.then(|| {
        "the application is configured to preload, and no configuration here does: preload=true compares it as it runs today"
            .to_owned()
    })
}

/// That the application runs in a cluster and every configuration here in one process, since none names workers.
pub fn without_workers(arms: &[Arm], own: impl FnOnce() -> Option<Settings>) -> Option<String> {
    let mut named = arms.iter().filter(|arm| arm.revision.is_none());
    let is_single = named.clone().next().is_some() && named.all(|arm| arm.settings.workers == 0);
    let own = is_single.then(own)??;
    (own.workers > 0).then(|| {
        format!(
            "the application is configured with {own}, and no configuration here has workers: workers={} compares it as it runs today",
            own.workers
        )
    })
}

/// What the application's own configuration asks for, else the server's default, and which of the two it is.
pub fn configured(place: &Place, kind: ServerKind) -> (Settings, String) {
    let found = place.configured_settings();
    let how = match (found, kind) {
        (Some(_), _) => "as the application is configured".to_owned(),
        (None, ServerKind::Passenger) => "Passenger's default".to_owned(),
        (None, _) => format!(
            "{}'s default, since the configuration could not be read",
            kind.title()
        ),
    };
    (found.unwrap_or(kind.defaults()), how)
}

/// The arms of the goal. Without `--baseline` a revision runs with the settings of its configuration.
pub fn as_configured(
    experiment: &Experiment,
    bench: &Bench<'_>,
    watcher: &dyn Watcher,
) -> Vec<Arm> {
    let Goal::Arms { arms, .. } = &experiment.goal else {
        return Vec::new();
    };
    let mut arms = arms.clone();
    if experiment.baseline.is_none() {
        for arm in arms.iter_mut().filter(|arm| arm.revision.is_some()) {
            let (settings, how) = configured(bench.place(arm), experiment.kind);
            arm.settings = settings;
            watcher.on(Event::Note(format!(
                "{arm}: {settings} ({how}; --baseline sets another)"
            )));
        }
    }
    arms
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cluster_that_is_measured_in_one_process_is_said() {
        let arm = |workers| {
            Arm::of(Settings {
                workers,
                threads: 3,
                preload: false,
            })
        };
        let own = |workers| Some(arm(workers).settings);
        let said = without_workers(&[arm(0), arm(0)], || own(2)).unwrap();
        assert!(
            said.contains("configured with 2 workers × 3 threads") && said.contains(": workers=2 "),
            "{said}"
        );
        assert_eq!(without_workers(&[arm(0), arm(1)], || own(2)), None);
        assert_eq!(without_workers(&[arm(0)], || own(0)), None);
        assert_eq!(without_workers(&[arm(0)], || None), None);
        assert_eq!(without_workers(&[], || own(2)), None);
    }

    #[test]
    fn configurations_that_do_not_preload_as_the_application_does_are_said() {
        let arm = |workers, preload| {
            Arm::of(Settings {
                workers,
                threads: 3,
                preload,
            })
        };
        let own = |workers, preload| Some(arm(workers, preload).settings);
        let plain = [arm(1, false), arm(2, false)];
        assert!(
            without_preload(&plain, || own(2, true))
                .unwrap()
                .contains("preload=true")
        );
        let preloading = [arm(1, false), arm(2, true)];
        for (arms, own) in [
            (&preloading, own(2, true)),
            (&plain, own(2, false)),
            (&plain, None),
            (&[arm(0, false), arm(0, false)], own(2, true)),
        ] {
            assert_eq!(without_preload(arms, || own), None);
        }
    }
}
