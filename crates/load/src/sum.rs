//! The sum of what several generators measured of the same server, as if one had sent all requests. Histograms are added bucket
//! by bucket, so that nothing is lost. Instants, slices and the generators' own CPU times are no sums and stay as they are.

use hdrhistogram::Histogram;

use crate::endpoint::{EndpointOutcome, Redirect};
use crate::errors::Errors;
use crate::outcome::{Counts, LateAnswers, Outcome};
use crate::recorded_statuses::RecordedStatuses;

impl Outcome {
    /// Adds what another generator measured. Names of requests that it alone has come last.
    pub fn add(&mut self, other: &Self) {
        // Without `..`, so that a figure that is added to the type is not forgotten here.
        let Self {
            counts,
            errors,
            statuses,
            first_error,
            violations,
            response,
            service,
            first_byte,
            lateness,
            late_answers,
            connection_wait,
            session_wait,
            connect,
            classes,
            endpoints,
            hanging: _,
            slices: _,
            slices_dropped: _,
            started_ns: _,
            ended_ns: _,
            finished_ns: _,
            wall_started_ns: _,
            generator_cpu: _,
            generator_cpu_in_window: _,
            generator_waited_in_window: _,
            own_cores: _,
            others: _,
            generator_idle_in_window: _,
            stalled,
            oldest_cut: _,
            spinning: _,
            first_arrivals_ns: _,
            answers: _,
            cancelled: _,
            asked_rate,
        } = other;
        self.counts.add(counts);
        self.errors.add(errors);
        for (status, answers) in statuses {
            *self.statuses.entry(*status).or_default() += answers;
        }
        if self.first_error.is_none() {
            self.first_error.clone_from(first_error);
        }
        self.violations += violations;
        self.stalled += stalled;
        for (sum, one) in [
            (&mut self.response, response),
            (&mut self.service, service),
            (&mut self.first_byte, first_byte),
            (&mut self.lateness, lateness),
            (&mut self.connection_wait, connection_wait),
            (&mut self.session_wait, session_wait),
            (&mut self.connect, connect),
        ] {
            add(sum, one);
        }
        match (&mut self.late_answers, late_answers) {
            (Some(sum), Some(one)) => sum.add(one),
            (none @ None, Some(one)) => *none = Some(one.clone()),
            (_, None) => {}
        }
        self.classes.add(classes);
        for endpoint in endpoints {
            let known = self.endpoints.iter_mut().find(|e| e.name == endpoint.name);
            match known {
                Some(sum) => sum.add(endpoint),
                None => self.endpoints.push(endpoint.clone()),
            }
        }
        self.asked_rate = match (self.asked_rate, *asked_rate) {
            (Some(sum), Some(one)) => Some(sum + one),
            (sum, one) => sum.or(one),
        };
    }
}

impl EndpointOutcome {
    fn add(&mut self, other: &Self) {
        let Self {
            name: _,
            wants_page,
            scheduled,
            ok,
            cut,
            errors,
            first_failure,
            violations,
            response,
            classes,
            redirects,
            to_https,
            recorded_statuses,
        } = other;
        self.wants_page &= wants_page;
        self.scheduled += scheduled;
        self.ok += ok;
        self.cut += cut;
        self.errors.add(errors);
        if self.first_failure.is_none() {
            self.first_failure.clone_from(first_failure);
        }
        self.violations += violations;
        add(&mut self.response, response);
        self.classes.add(classes);
        for redirect in redirects {
            let same =
                |r: &&mut Redirect| (r.status, r.expected) == (redirect.status, redirect.expected);
            match self.redirects.iter_mut().find(same) {
                Some(known) => known.answers += redirect.answers,
                None => self.redirects.push(redirect.clone()),
            }
        }
        if self.to_https.is_none() {
            self.to_https.clone_from(to_https);
        }
        self.recorded_statuses.add(recorded_statuses);
    }
}

impl RecordedStatuses {
    fn add(&mut self, other: &Self) {
        let Self {
            compared,
            revalidated,
            changes,
        } = other;
        self.compared += compared;
        self.revalidated += revalidated;
        for change in changes {
            let known = self.changes.iter_mut().find(|c| {
                (&c.page, c.recorded, c.replayed)
                    == (&change.page, change.recorded, change.replayed)
            });
            match known {
                Some(known) => known.answers += change.answers,
                None => self.changes.push(change.clone()),
            }
        }
    }
}

impl LateAnswers {
    fn add(&mut self, other: &Self) {
        add(&mut self.counted, &other.counted);
        add(&mut self.without, &other.without);
    }
}

fn add(sum: &mut Histogram<u64>, one: &Histogram<u64>) {
    sum.add(one).expect("all histograms have the same bounds");
}

impl Counts {
    fn add(&mut self, other: &Self) {
        // Without `..`, so that a count that is added to the type is not forgotten here.
        let Self {
            scheduled,
            sent,
            completed,
            ok,
            ok_in_window,
            cut,
            reconnects,
            connections,
            idle_closed,
            surplus,
            waited,
            session_waited,
            sessions,
            cut_short,
            abandoned,
        } = other;
        self.scheduled += scheduled;
        self.sent += sent;
        self.completed += completed;
        self.ok += ok;
        self.ok_in_window += ok_in_window;
        self.cut += cut;
        self.reconnects += reconnects;
        self.connections += connections;
        self.idle_closed += idle_closed;
        self.surplus += surplus;
        self.waited += waited;
        self.session_waited += session_waited;
        self.sessions += sessions;
        self.cut_short += cut_short;
        self.abandoned += abandoned;
    }
}

impl Errors {
    fn add(&mut self, other: &Self) {
        let Self {
            connect_refused,
            connect_failed,
            tls_failed,
            reset,
            closed_early,
            timeout,
            malformed,
            head_too_large,
            status_4xx,
            status_5xx,
            unexpected_status,
            capture_failed,
        } = other;
        self.connect_refused += connect_refused;
        self.connect_failed += connect_failed;
        self.tls_failed += tls_failed;
        self.reset += reset;
        self.closed_early += closed_early;
        self.timeout += timeout;
        self.malformed += malformed;
        self.head_too_large += head_too_large;
        self.status_4xx += status_4xx;
        self.status_5xx += status_5xx;
        self.unexpected_status += unexpected_status;
        self.capture_failed += capture_failed;
    }
}
