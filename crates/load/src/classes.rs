//! Response times by the class of the answer. A histogram comes into being with the first
//! answer of its class: each takes 184 KiB, so that a workload of 256 names whose requests are
//! answered in two classes holds 92 MiB, and one name answered with 200s holds one histogram.

use hdrhistogram::Histogram;

use crate::errors::Errors;
use crate::histogram::{HIGHEST_US, new_histogram};

/// What became of a request, by the first digit of its status. There is no class 1xx: an interim
/// answer announces the final one, whose class counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum StatusClass {
    /// 200 to 299.
    Success,
    /// 300 to 399.
    Redirection,
    /// 400 to 499, which a recording has for this request too.
    AsRecorded,
    /// Other answers of 400 to 499.
    ClientError,
    /// 500 and above.
    ServerError,
    /// Below 400, but not what the workload expects: another status, or nothing to capture.
    Rejected,
    /// No whole answer.
    None,
}

impl StatusClass {
    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::Success,
        Self::Redirection,
        Self::AsRecorded,
        Self::ClientError,
        Self::ServerError,
        Self::Rejected,
        Self::None,
    ];

    /// Of a final answer's status, as far as the workload has nothing against it.
    #[must_use]
    pub fn of(status: u16) -> Self {
        match status {
            ..300 => Self::Success,
            300..400 => Self::Redirection,
            400..500 => Self::ClientError,
            500.. => Self::ServerError,
        }
    }

    /// As people write it: `2xx` and so on, `rejected`, `none`.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Success => "2xx",
            Self::Redirection => "3xx",
            Self::AsRecorded => "4xx as recorded",
            Self::ClientError => "4xx",
            Self::ServerError => "5xx",
            Self::Rejected => "rejected",
            Self::None => "none",
        }
    }

    /// Do requests of this class stand in [`crate::Outcome::response`] as infinite?
    #[must_use]
    pub fn failed(self) -> bool {
        self > Self::AsRecorded
    }
}

/// Response times by class, from the scheduled instant to the last byte, or for
/// [`StatusClass::None`] to the instant at which the request was given up. Failed requests stand here
/// with the time that they took, not as infinite: an error that comes at once and one that comes
/// after the timeout are different faults.
#[derive(Debug, Clone, Default)]
pub struct ByClass([Option<Box<Histogram<u64>>>; StatusClass::ALL.len()]);

impl ByClass {
    /// `None`: no request ended so.
    #[must_use]
    pub fn get(&self, class: StatusClass) -> Option<&Histogram<u64>> {
        self.0[class as usize].as_deref()
    }

    /// The classes that occurred.
    pub fn iter(&self) -> impl Iterator<Item = (StatusClass, &Histogram<u64>)> {
        StatusClass::ALL
            .into_iter()
            .filter_map(|class| Some((class, self.get(class)?)))
    }

    /// Adds response times of a class; the histogram is one of [`new_histogram`].
    pub fn add_to(&mut self, class: StatusClass, response: &Histogram<u64>) {
        self.histogram(class)
            .add(response)
            .expect("all histograms have the same bounds");
    }

    pub(crate) fn record(&mut self, class: StatusClass, response_us: u64) {
        self.histogram(class).saturating_record(response_us);
    }

    pub(crate) fn add(&mut self, other: &Self) {
        for (class, histogram) in other.iter() {
            self.add_to(class, histogram);
        }
    }

    /// One histogram of all, in which what failed is infinite.
    pub(crate) fn response(&self, errors: &Errors) -> Histogram<u64> {
        let mut response = new_histogram();
        for (_, histogram) in self.iter().filter(|(class, _)| !class.failed()) {
            response
                .add(histogram)
                .expect("all histograms have the same bounds");
        }
        if errors.total() > 0 {
            response.saturating_record_n(HIGHEST_US, errors.total());
        }
        response
    }

    fn histogram(&mut self, class: StatusClass) -> &mut Histogram<u64> {
        self.0[class as usize].get_or_insert_with(|| Box::new(new_histogram()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_go_by_the_first_digit() {
        let classes = [200, 299, 300, 399, 400, 499, 500, 599, 999].map(StatusClass::of);
        let labels = classes.map(StatusClass::label);
        let expected = [
            "2xx", "2xx", "3xx", "3xx", "4xx", "4xx", "5xx", "5xx", "5xx",
        ];
        assert_eq!(labels, expected);
        assert_eq!(
            classes.map(StatusClass::failed).map(u8::from),
            [0, 0, 0, 0, 1, 1, 1, 1, 1]
        );
        for (place, class) in StatusClass::ALL.into_iter().enumerate() {
            assert_eq!(class as usize, place);
        }
    }

    #[test]
    fn a_histogram_comes_with_its_first_answer_and_what_failed_is_infinite_in_the_sum() {
        let mut classes = ByClass::default();
        assert_eq!(classes.iter().count(), 0);
        classes.record(StatusClass::Success, 1_000);
        classes.record(StatusClass::Redirection, 10);
        classes.record(StatusClass::ServerError, 20);
        let mut sum = ByClass::default();
        sum.add(&classes);
        sum.add(&classes);
        let found: Vec<_> = sum
            .iter()
            .map(|(class, h)| (class.label(), h.len(), h.max()))
            .collect();
        assert_eq!(found, [("2xx", 2, 1_000), ("3xx", 2, 10), ("5xx", 2, 20)]);
        let errors = Errors {
            status_5xx: 2,
            ..Errors::default()
        };
        let response = sum.response(&errors);
        assert_eq!(response.len(), 6);
        assert_eq!(response.count_between(HIGHEST_US, HIGHEST_US), 2);
        assert_eq!(response.count_between(1, 20), 2);
    }

    /// What the head of this file says of the memory, so that a change of the bounds changes it too.
    #[test]
    fn a_histogram_takes_184_kib() {
        let histogram = new_histogram();
        let bytes = histogram.distinct_values() * std::mem::size_of::<u64>();
        assert_eq!(bytes.div_ceil(1024), 184);
    }
}
