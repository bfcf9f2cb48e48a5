//! Recorded requests -> a workload in their order. The rules are those of a
//! workload file; names are the caller's to make.

use small_sort::SmallSort;
use std::collections::HashMap;

use crate::sendable::{header_name_problem, header_value_problem, method_problem, path_problem};
use crate::workload::{MAX_NAMES, Request, Workload, WorkloadProblem};

/// The name that the rarest kinds of requests share when there are too many.
pub const OTHER: &str = "(other)";

/// Problems reported one by one; a log can hold a million of the same.
const TOLD: usize = 20;

/// One request of a recording.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RecordedRequest {
    /// An HTTP method token, in capitals.
    pub method: String,
    /// Origin form: path and query, percent-encoded.
    pub path: String,
    /// Without those that frame the message or that the run sets itself.
    pub headers: Vec<(String, String)>,
    /// Sent with `Content-Length` when not empty.
    pub body: Vec<u8>,
    /// Sent as `Host` in place of the target's.
    pub host: Option<String>,
    /// Status of the recorded answer, where it is known: requests that were answered otherwise are kept apart.
    pub status: Option<u16>,
}

impl Workload {
    /// The requests of a recording, each with its place there (`line 7`), to be
    /// sent in this order and from the start again at its end. Equal requests
    /// are kept once; weights say how often each came. `name` makes a name of a
    /// method and a path; requests of one name share a histogram.
    ///
    /// # Errors
    /// The first problems found, each with its place, and how many more; or
    /// that there is no request.
    pub fn from_recorded<P: std::fmt::Display>(
        recorded: impl IntoIterator<Item = (P, RecordedRequest)>,
        name: impl Fn(&str, &str) -> String,
    ) -> Result<Self, Vec<WorkloadProblem>> {
        let mut problems = Problems::default();
        let mut known: HashMap<RecordedRequest, u32> = HashMap::new();
        let mut requests: Vec<Request> = Vec::new();
        let mut order = Vec::new();
        for (place, request) in recorded {
            if let Some(index) = known.get(&request) {
                requests[*index as usize].weight += 1.0;
                order.push(*index);
                continue;
            }
            if !problems.check(&place, &request) {
                continue;
            }
            let Ok(index) = u32::try_from(requests.len()) else {
                break;
            };
            requests.push(Request {
                name: name(&request.method, &request.path),
                method: request.method.clone(),
                path: request.path.clone(),
                weight: 1.0,
                headers: request.headers.clone(),
                body: request.body.clone(),
                host: request.host.clone(),
                recorded_status: request.status,
            });
            known.insert(request, index);
            order.push(index);
        }
        if order.is_empty() && problems.told.is_empty() {
            problems.add("recording", "no request", "record some traffic first");
        }
        problems.into_result()?;
        bound_names(&mut requests);
        Ok(Self::in_order(requests, order.into()))
    }
}

/// Each name keeps a histogram of its own: the most frequent keep theirs.
fn bound_names(requests: &mut [Request]) {
    let mut counts: HashMap<&str, f64> = HashMap::new();
    for request in requests.iter() {
        *counts.entry(&request.name).or_default() += request.weight;
    }
    if counts.len() <= MAX_NAMES {
        return;
    }
    let mut names: Vec<(&str, f64)> = counts.into_iter().collect();
    // By name where the count is the same: the map's order is random.
    names.small_sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(b.0)));
    let rare: std::collections::HashSet<String> = names[MAX_NAMES - 1..]
        .iter()
        .map(|(name, _)| (*name).to_owned())
        .collect();
    for request in requests {
        if rare.contains(&request.name) {
            OTHER.clone_into(&mut request.name);
        }
    }
}

#[derive(Default)]
struct Problems {
    told: Vec<WorkloadProblem>,
    more: u64,
}

impl Problems {
    fn add(&mut self, key: &str, value: impl Into<String>, remedy: &str) {
        if self.told.len() == TOLD {
            self.more += 1;
            return;
        }
        self.told.push(WorkloadProblem {
            key: key.into(),
            value: value.into(),
            remedy: remedy.into(),
        });
    }

    /// Whether the request may be sent as it is.
    fn check(&mut self, place: &impl std::fmt::Display, request: &RecordedRequest) -> bool {
        let before = (self.told.len(), self.more);
        let method = &request.method;
        if let Some(remedy) = method_problem(method) {
            self.add(&format!("{place}, method"), format!("{method:?}"), remedy);
        }
        if let Some(remedy) = path_problem(&request.path) {
            let path = format!("{:?}", request.path);
            self.add(&format!("{place}, path"), path, remedy);
        }
        if let Some(host) = &request.host
            && (host.is_empty() || !host.bytes().all(|byte| byte.is_ascii_graphic()))
        {
            let host = format!("{host:?}");
            self.add(
                &format!("{place}, host"),
                host,
                "leave out --replay-host, or correct the recording",
            );
        }
        for (name, value) in &request.headers {
            let at = format!("{place}, header {name:?}");
            if let Some((what, remedy)) = header_name_problem(name) {
                self.add(&at, what, remedy);
            }
            if let Some(remedy) = header_value_problem(value) {
                self.add(&at, "its value could end the line", remedy);
            }
        }
        before == (self.told.len(), self.more)
    }

    fn into_result(mut self) -> Result<(), Vec<WorkloadProblem>> {
        if self.more > 0 {
            self.told.push(WorkloadProblem {
                key: "recording".into(),
                value: format!("{} more problems", self.more),
                remedy: "correct the first ones and try again".into(),
            });
        }
        if self.told.is_empty() {
            Ok(())
        } else {
            Err(self.told)
        }
    }
}
