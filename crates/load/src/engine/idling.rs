//! How long the generator had nothing to do. A thread that polls until a request
//! is due uses all of its core, so its CPU time shows nothing; this does.

#[derive(Debug)]
pub(super) struct Idling {
    started_ns: u64,
    total_ns: u64,
    /// The present pass of the loop found nothing to do: since when, and when
    /// the next request is due.
    pass: Option<(u64, u64)>,
    in_window_ns: Option<u64>,
}

impl Idling {
    /// What lies before the start of the run does not count.
    pub(super) fn from(started_ns: u64) -> Self {
        Self {
            started_ns,
            total_ns: 0,
            pass: None,
            in_window_ns: None,
        }
    }

    /// Asleep, of its own accord: being woken late is not idleness.
    pub(super) fn slept(&mut self, from_ns: u64, to_ns: u64) {
        let from_ns = from_ns.max(self.started_ns);
        self.total_ns += to_ns.saturating_sub(from_ns);
    }

    /// A pass that began then polled, and found and started nothing.
    pub(super) fn since(&mut self, from_ns: u64, due_ns: u64) {
        self.pass = Some((from_ns, due_ns));
    }

    /// The next pass begins.
    pub(super) fn until(&mut self, now_ns: u64) {
        if let Some((from_ns, due_ns)) = self.pass.take() {
            self.slept(from_ns, now_ns.min(due_ns));
        }
    }

    pub(super) fn window_ended(&mut self) {
        self.in_window_ns.get_or_insert(self.total_ns);
    }

    pub(super) fn in_window_ns(&self) -> u64 {
        self.in_window_ns.unwrap_or(self.total_ns)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn idle_is_what_passes_within_the_window_until_something_is_due() {
        let mut idling = Idling::from(100);
        idling.slept(50, 130);
        assert_eq!(idling.in_window_ns(), 30);
        idling.until(140);
        assert_eq!(idling.in_window_ns(), 30, "that pass had something to do");
        idling.since(140, 1_000);
        idling.until(160);
        idling.since(160, 170);
        idling.until(200);
        assert_eq!(idling.in_window_ns(), 60);
        idling.window_ended();
        idling.slept(200, 300);
        assert_eq!(idling.in_window_ns(), 60);
    }
}
