//! What a thread does between two events: the agent's stop-watch once more, so that both come to the same sums.

use super::EventKind;

/// What a thread does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Doing {
    /// It holds the GVL.
    Running,
    /// It is ready and waits for the GVL.
    Waiting,
    /// It waits for a lock.
    Lock,
    /// It gave the GVL up otherwise and is not ready.
    Io,
}

impl Doing {
    /// What a thread does after an event, `None` where that cannot be known.
    #[must_use]
    pub fn after(before: Option<Doing>, event: EventKind) -> Option<Doing> {
        match (event, before) {
            (EventKind::Resumed, _) => Some(Doing::Running),
            (EventKind::Suspended { lock, .. }, None | Some(Doing::Running)) => {
                Some(if lock { Doing::Lock } else { Doing::Io })
            }
            (EventKind::Ready, None | Some(Doing::Lock | Doing::Io)) => Some(Doing::Waiting),
            (EventKind::State(found), None) => found,
            (EventKind::Started | EventKind::Exited, _) => None,
            // Only the thread that holds the GVL sends these.
            (
                EventKind::GcEnter(_)
                | EventKind::GcExit
                | EventKind::RequestBegin { .. }
                | EventKind::RequestEnd { .. }
                | EventKind::CallBegin(_)
                | EventKind::CallEnd(_),
                None,
            ) => Some(Doing::Running),
            (_, before) => before,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(events: &[EventKind]) -> Vec<Option<Doing>> {
        let mut doing = None;
        let after = |event: &EventKind| {
            doing = Doing::after(doing, *event);
            doing
        };
        events.iter().map(after).collect()
    }

    #[test]
    fn a_thread_that_waits_for_its_socket_and_then_for_the_gvl() {
        let events = [
            EventKind::Resumed,
            EventKind::gives_up(false),
            EventKind::Ready,
            EventKind::Resumed,
        ];
        let doing = [Doing::Running, Doing::Io, Doing::Waiting, Doing::Running];
        assert_eq!(told(&events), doing.map(Some));
    }

    #[test]
    fn what_changes_nothing_changes_nothing() {
        let ready_while_running = [EventKind::Resumed, EventKind::Ready];
        assert_eq!(told(&ready_while_running)[1], Some(Doing::Running));
        let twice_suspended = [EventKind::gives_up(true), EventKind::gives_up(false)];
        assert_eq!(told(&twice_suspended)[1], Some(Doing::Lock));
        let late_state = [EventKind::Ready, EventKind::State(Some(Doing::Io))];
        assert_eq!(told(&late_state)[1], Some(Doing::Waiting));
    }

    #[test]
    fn who_serves_holds_the_gvl_and_who_ended_does_nothing() {
        assert_eq!(told(&[EventKind::GcExit]), [Some(Doing::Running)]);
        assert_eq!(told(&[EventKind::Resumed, EventKind::Exited])[1], None);
        assert_eq!(told(&[EventKind::Other(99)]), [None]);
    }
}
