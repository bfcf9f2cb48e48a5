//! Which panels each dashboard has, and what they ask.

mod endpoint;
mod experiment;
mod fleet;
mod service;
mod workers;

/// A dashboard.
pub struct Dashboard {
    pub name: &'static str,
    pub title: &'static str,
    pub about: &'static str,
    pub variables: &'static [Variable],
    pub rows: &'static [Row],
}

impl Dashboard {
    pub fn uid(&self) -> String {
        format!("powerband-{}", self.name)
    }

    pub fn file(&self) -> String {
        format!("{}.json", self.uid())
    }
}

/// A label whose values can be chosen.
pub struct Variable {
    pub name: &'static str,
    pub label: &'static str,
    /// Its values are those of these series.
    pub series: &'static str,
    /// Whether several, and all, can be chosen.
    pub several: bool,
}

/// Panels under a heading.
pub struct Row {
    pub title: &'static str,
    pub panels: &'static [Panel],
}

/// A chart.
pub struct Panel {
    pub title: &'static str,
    pub about: &'static str,
    /// One of Grafana's.
    pub unit: &'static str,
    pub stacked: bool,
    /// What is asked, and what each line is called.
    pub queries: &'static [(&'static str, &'static str)],
}

/// Lines.
const fn lines(
    title: &'static str,
    unit: &'static str,
    about: &'static str,
    queries: &'static [(&'static str, &'static str)],
) -> Panel {
    Panel {
        title,
        about,
        unit,
        stacked: false,
        queries,
    }
}

/// Parts of a whole, one on the other.
const fn parts(
    title: &'static str,
    unit: &'static str,
    about: &'static str,
    queries: &'static [(&'static str, &'static str)],
) -> Panel {
    Panel {
        title,
        about,
        unit,
        stacked: true,
        queries,
    }
}

const SERVICES: Variable = Variable {
    name: "job",
    label: "Service",
    series: "powerband_requests_total",
    several: true,
};
const SERVICE: Variable = Variable {
    several: false,
    ..SERVICES
};
const INSTANCES: Variable = Variable {
    name: "instance",
    label: "Instance",
    series: "powerband_requests_total{job=~\"$job\"}",
    several: true,
};
const ENDPOINT: Variable = Variable {
    name: "endpoint",
    label: "Endpoint",
    series: "powerband_endpoint_requests_total{job=\"$job\"}",
    several: false,
};

/// All of them.
pub const DASHBOARDS: [Dashboard; 5] = [
    fleet::DASHBOARD,
    service::DASHBOARD,
    endpoint::DASHBOARD,
    workers::DASHBOARD,
    experiment::DASHBOARD,
];
