//! How long the end of a mirror takes where no flag says otherwise. The tests of the manifests and of the systemd unit read these
//! constants from this file.

use std::time::Duration;

/// From SIGTERM until the drain.
pub const LAME_DUCK: Duration = Duration::from_secs(0);
/// What requests under way may take.
pub const DRAIN: Duration = Duration::from_secs(15);
/// From a request until a shadow's answer is whole.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// What shadows may still take after the last client has left, beyond their deadline.
pub const GRACE: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::super::{layers::Layers, longest, resolve::resolve};
    use super::*;
    use crate::args::MirrorArgs;
    use clap::{CommandFactory, Parser};

    /// From SIGTERM until Kubernetes kills a pod whose manifest gives no `terminationGracePeriodSeconds`.
    const KILLED_AFTER: Duration = Duration::from_secs(30);

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        mirror: MirrorArgs,
    }

    #[test]
    fn without_flags_a_mirror_has_ended_before_kubernetes_kills_it() {
        let flags = ["--primary", "http://127.0.0.1:1", "--shadow"];
        let words = [&["mirror"], &flags[..], &["a=http://127.0.0.1:2"]].concat();
        let layers = Layers::read(&Line::parse_from(words).mirror, None, &mut Vec::new());
        let resolved = resolve(&layers, Vec::new()).unwrap();
        let phases = [
            resolved.lame_duck,
            resolved.settings.client.drain,
            longest(&resolved.settings),
            GRACE,
        ];
        assert_eq!(phases, [LAME_DUCK, DRAIN, DEADLINE, GRACE]);
        let ended: Duration = phases.iter().sum();
        // The rest is for the comparison.
        assert!(ended < KILLED_AFTER, "{ended:?}");
    }

    #[test]
    fn the_help_names_these_defaults() {
        for (flag, default) in [
            ("lame_duck", LAME_DUCK),
            ("drain", DRAIN),
            ("deadline", DEADLINE),
        ] {
            let command = Line::command();
            let argument = command.get_arguments().find(|one| one.get_id() == flag);
            let help = argument.and_then(|one| one.get_help()).unwrap().to_string();
            let expected = format!("[default: {}s]", default.as_secs());
            assert!(help.ends_with(&expected), "{help}");
        }
    }
}
