//! The part of a window that is about one process or one endpoint.

use crate::process_row::ProcessRow;
use crate::subject::Subject;
use crate::window::{Window, by_time};

impl Window {
    /// The part that is about one process, or about one endpoint in all processes; `None` where the process is not in it.
    #[must_use]
    pub fn only(&self, subject: &Subject) -> Option<Self> {
        let mut part = Self {
            subject: Some(subject.clone()),
            length: self.length,
            busy_ns: self.busy_ns,
            ..Self::default()
        };
        match subject {
            Subject::Process(key) => {
                let row = self.processes.iter().find(|row| row.process.id == *key)?;
                part.all = row.sums;
                part.busy_ns = row.sums.wall.total();
                part.endpoints = by_time(row.endpoints.iter().cloned());
                part.processes = vec![row.clone()];
            }
            Subject::Endpoint(name) => {
                for row in &self.processes {
                    let sums = subject.sums(row).unwrap_or_default();
                    part.all.merge(&sums);
                    part.processes.push(ProcessRow {
                        process: row.process.clone(),
                        sums,
                        endpoints: Vec::new(),
                        cores: row.cores,
                        serving_throughout: row.serving_throughout,
                        unlike: Vec::new(),
                    });
                }
                part.endpoints = by_time(std::iter::once((name.clone(), part.all)));
            }
        }
        Some(part)
    }

    /// Whether it is about one endpoint.
    #[must_use]
    pub fn of_endpoint(&self) -> Option<&str> {
        match &self.subject {
            Some(Subject::Endpoint(name)) => Some(name),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::{process, reading, served};

    fn window() -> Window {
        let before = reading(0, vec![process(1, 0, &[]), process(2, 1, &[])]);
        let first = process(1, 0, &[("a", served(30, 10, 5)), ("b", served(10, 100, 5))]);
        let second = process(2, 1, &[("a", served(20, 20, 5))]);
        Window::between(&before, &reading(10, vec![first, second]))
    }

    #[test]
    fn a_part_of_one_process_has_its_requests_alone() {
        let window = window();
        let key = window.processes[0].process.id;
        let part = window.only(&Subject::Process(key)).unwrap();
        assert_eq!((part.all.requests, part.processes.len()), (40, 1));
        let names: Vec<&str> = part.endpoints.iter().map(|e| e.name.as_str()).collect();
        assert_eq!(names, ["b", "a"]);
        assert!(part.busy() < window.busy());
        let gone = (key.0, None);
        let gone = Subject::Process((flight::ProcessId { pid: 9, ..gone.0 }, gone.1));
        assert!(window.only(&gone).is_none());
    }

    #[test]
    fn a_part_of_one_endpoint_has_every_process_and_their_whole_load() {
        let window = window();
        let part = window.only(&Subject::Endpoint("b".to_owned())).unwrap();
        assert_eq!(part.all.requests, 10);
        let requests: Vec<u64> = part.processes.iter().map(|p| p.sums.requests).collect();
        assert_eq!(requests, [10, 0]);
        assert_eq!(part.busy(), window.busy());
        assert_eq!(part.of_endpoint(), Some("b"));
        let never = window.only(&Subject::Endpoint("c".to_owned())).unwrap();
        assert_eq!(never.all.requests, 0);
    }
}
