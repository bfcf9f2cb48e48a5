//! CPU time: other work, stolen time, changing speed, slow clocks, pressure, quotas.

use super::memory::NO_PRESSURE;
use super::per_cent;
use crate::check::{Outcome, Severity};
use crate::facts::HostFacts;

/// What is wrong where other programs use the cores; the warning begins with it.
pub const LOAD: &str = "the host is busy with other work";
/// A share of the effective cores: other work beyond it is felt by what is measured.
const LOAD_LIMIT: f64 = 0.5;
/// A share of the effective cores: below it the work that made the load has ended.
const IDLE_LIMIT: f64 = 0.1;
/// Stolen time beyond it moves throughput by as much as the differences that a run looks for.
const STEAL_LIMIT: f64 = 0.02;
/// Of the last minute, in which some task was ready to run and waited.
const PRESSURE_LIMIT: f64 = 0.1;
/// Of the quota's periods.
const THROTTLING_LIMIT: f64 = 0.25;

pub(super) fn load(facts: &HostFacts) -> Outcome {
    // In a pod the load is the node's; other pods' processes do not run on this pod's quota.
    if let Some(quota) = facts.limiting_quota() {
        return Outcome::fine(format!(
            "a cgroup's quota of {quota:.2} cores applies, so that cpu-pressure and cpu-throttling of the cgroup count, and not the \
             host's load average"
        ));
    }
    let Some(load) = facts.load_average_1m else {
        return Outcome::not_known("/proc/loadavg cannot be read");
    };
    let cores = facts.effective_cores;
    let evidence =
        format!("the load average over the last minute is {load:.2}, on {cores:.1} cores");
    if load <= LOAD_LIMIT * cores {
        return Outcome::Fine(evidence);
    }
    // The average decays for a minute after the work has ended, often a run of Powerband.
    if let Some(busy) = facts.busy_cores.filter(|busy| *busy <= IDLE_LIMIT * cores) {
        return Outcome::Fine(format!("{evidence}, and {busy:.1} cores are busy now"));
    }
    Outcome::found(
        Severity::SpoilsMeasurements,
        LOAD,
        evidence + &busiest(facts),
        "Server and load generator get the CPU time that other programs leave, which changes from one minute to the next.",
        "stop other programs; after a build or another run, wait a minute",
    )
}

/// Which programs to stop; empty where none was seen.
fn busiest(facts: &HostFacts) -> String {
    match facts.busiest_programs.as_slice() {
        [] => String::new(),
        named => format!("; most CPU time goes to {}", named.join(", ")),
    }
}

pub(super) fn steal(facts: &HostFacts) -> Outcome {
    let Some(share) = facts.steal_share else {
        return Outcome::not_known("stolen time takes two readings, and there was one");
    };
    let mut evidence = format!("{} of the CPU time was stolen", per_cent(share));
    if let Some(span) = facts.observed {
        evidence.push_str(&format!(", observed over {:.1} s", span.as_secs_f64()));
    }
    if share <= STEAL_LIMIT {
        return Outcome::Fine(evidence);
    }
    Outcome::found(
        Severity::SpoilsMeasurements,
        "the hypervisor gives CPU time to other machines",
        evidence,
        "Time in which this machine stands still is a part of the response times of the requests that it serves then; how much \
         it is depends on the other machines.",
        "measure on a machine with dedicated cores, or at another hour; trust only comparisons within one run",
    )
}

pub(super) fn governor(facts: &HostFacts) -> Outcome {
    let Some(governor) = facts.governor.as_deref() else {
        return Outcome::not_known(
            "this system does not show the CPUs' frequency governor; in a virtual machine, look on the host",
        );
    };
    let evidence = format!("the frequency governor is {governor}");
    let remedy = "cpupower frequency-set -g performance";
    match governor {
        "powersave" | "conservative" => Outcome::found(
            Severity::SpoilsMeasurements,
            "the CPUs save power, so that their speed depends on the load",
            evidence,
            "A server that has little to do then answers more slowly than one that has much, and the same work takes \
             another time at another rate.",
            remedy,
        ),
        "ondemand" | "schedutil" => Outcome::found(
            Severity::Note,
            "the CPUs' speed follows the load",
            evidence,
            "At low rates answers are slower than they need to be; comparisons at the same rate stay fair.",
            remedy,
        ),
        _ => Outcome::Fine(evidence),
    }
}

pub(super) fn clock_source(facts: &HostFacts) -> Outcome {
    let Some(source) = facts.clocksource.as_deref() else {
        return Outcome::not_known("/sys does not name the clock source");
    };
    let evidence = format!("the clock source is {source}");
    if !["acpi_pm", "hpet", "jiffies", "refined-jiffies"].contains(&source) {
        return Outcome::Fine(evidence);
    }
    Outcome::found(
        Severity::SpoilsMeasurements,
        "reading the clock takes a system call, which makes every timed event slower",
        evidence,
        "Applications, their monitoring and Powerband's agent read the clock many times a request; that work is then \
         the larger part of what is measured.",
        "boot with clocksource=tsc if this machine's TSC is stable",
    )
}

pub(super) fn pressure(facts: &HostFacts) -> Outcome {
    let (pressure, whose) = match facts.limiting_quota() {
        Some(_) => (facts.group_cpu_pressure, "a process of the cgroup"),
        None => (facts.cpu_pressure, "a process"),
    };
    let Some(pressure) = pressure else {
        return Outcome::not_known(match facts.limiting_quota() {
            Some(_) => {
                "the kernel does not count the cgroup's waiting for CPUs (cpu.pressure, cgroup v2)"
            }
            None => NO_PRESSURE,
        });
    };
    let evidence = format!(
        "{whose} waited for a CPU in {} of the last minute",
        per_cent(pressure.some_60s)
    );
    if pressure.some_60s <= PRESSURE_LIMIT {
        return Outcome::Fine(evidence);
    }
    Outcome::found(
        Severity::SpoilsMeasurements,
        "processes wait for a CPU",
        evidence + &busiest(facts),
        "A request that has to wait for a CPU takes longer for a reason that is not the server's. This figure shows short \
         bursts, which a load average hides.",
        match facts.limiting_quota() {
            Some(_) => "stop other processes of the cgroup, or raise its CPU quota",
            None => {
                "stop other programs (after a build or another run, wait a minute), or give the machine more cores"
            }
        },
    )
}

pub(super) fn quota(facts: &HostFacts) -> Outcome {
    let cores = facts.cores;
    let Some(quota) = facts.limiting_quota() else {
        return Outcome::fine(format!("all of {cores} cores may be used all the time"));
    };
    Outcome::found(
        Severity::Note,
        "a cgroup allows less CPU time than there are cores",
        format!("the quota is {quota:.2} cores, and there are {cores}"),
        "Programs that count cores, such as Puma's WEB_CONCURRENCY=auto, start too many processes; together they use \
         the quota up in a part of each period and stand still for the rest.",
        "set the number of workers by the quota, not by the cores; leave the quota away while you measure",
    )
}

pub(super) fn throttling(facts: &HostFacts) -> Outcome {
    let Some(throttling) = facts.throttling else {
        return match facts.cpu_quota {
            None => Outcome::fine("there is no CPU quota"),
            Some(_) => Outcome::not_known("the cgroup does not count its periods (cpu.stat)"),
        };
    };
    let Some(share) = throttling.share() else {
        return Outcome::fine("the cgroup has not run under its quota yet");
    };
    let mut evidence = format!(
        "the quota was used up in {} of {} periods since the cgroup was made ({})",
        throttling.throttled,
        throttling.periods,
        per_cent(share)
    );
    if let Some(stopped) = throttling.stopped {
        evidence.push_str(&format!(", for {:.1} s in total", stopped.as_secs_f64()));
    }
    if share <= THROTTLING_LIMIT {
        return Outcome::Fine(evidence);
    }
    Outcome::found(
        Severity::HarmsServer,
        "the CPU quota stops the processes again and again",
        evidence,
        "Every thread stands still until the next period, up to a tenth of a second, whatever request it was in: the \
         slowest answers are the quota's.",
        "raise the quota, or run fewer workers and threads than the quota has cores",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::checks::samples::{found, host};
    use crate::group_use::Throttling;
    use crate::pressure::Pressure;
    use std::time::Duration;

    #[test]
    fn stolen_time_names_its_span() {
        let with = |share| HostFacts {
            steal_share: Some(share),
            observed: Some(Duration::from_millis(1500)),
            ..host()
        };
        assert!(matches!(steal(&with(0.02)), Outcome::Fine(_)));
        let finding = found(steal(&with(0.125)));
        assert!(
            finding.evidence.contains("12.5 %") && finding.evidence.contains("1.5 s"),
            "{finding:?}"
        );
        assert!(matches!(steal(&host()), Outcome::NotKnown(_)));
    }

    #[test]
    fn waiting_for_a_cpu_counts_from_ten_per_cent() {
        let with = |some_60s| HostFacts {
            cpu_pressure: Some(Pressure {
                some_10s: 1.0,
                some_60s,
            }),
            ..host()
        };
        assert!(matches!(pressure(&with(0.1)), Outcome::Fine(_)));
        assert_eq!(
            found(pressure(&with(0.11))).severity,
            Severity::SpoilsMeasurements
        );
    }

    #[test]
    fn a_load_that_has_ended_is_not_other_work() {
        let with = |busy_cores| HostFacts {
            load_average_1m: Some(3.0),
            busy_cores,
            ..host()
        };
        assert_eq!(
            found(load(&with(None))).severity,
            Severity::SpoilsMeasurements
        );
        assert_eq!(
            found(load(&with(Some(2.4)))).severity,
            Severity::SpoilsMeasurements
        );
        assert!(
            matches!(load(&with(Some(0.12))), Outcome::Fine(said) if said.contains("0.1 cores are busy now"))
        );
    }

    #[test]
    fn a_busy_host_is_found_with_the_programs_that_make_it_busy() {
        let busy = HostFacts {
            load_average_1m: Some(3.0),
            busiest_programs: vec!["rustc (PID 812) 95 % of a core".to_owned()],
            cpu_pressure: Some(Pressure {
                some_10s: 0.0,
                some_60s: 0.2,
            }),
            ..host()
        };
        let named = "; most CPU time goes to rustc (PID 812) 95 % of a core";
        for found in [found(load(&busy)), found(pressure(&busy))] {
            assert!(found.evidence.ends_with(named), "{found:?}");
        }
        let none = HostFacts {
            busiest_programs: Vec::new(),
            ..busy
        };
        assert!(!found(load(&none)).evidence.contains("CPU time"));
    }

    #[test]
    fn in_a_pod_the_cgroup_counts_and_not_the_nodes_load() {
        let waited = |some_60s| {
            Some(Pressure {
                some_10s: 0.0,
                some_60s,
            })
        };
        let node = HostFacts {
            load_average_1m: Some(30.0),
            cpu_pressure: waited(0.9),
            ..host()
        };
        assert_eq!(found(load(&node)).severity, Severity::SpoilsMeasurements);
        let pod = |group_cpu_pressure| HostFacts {
            cpu_quota: Some(1.5),
            group_cpu_pressure,
            ..node.clone()
        };
        assert!(matches!(load(&pod(None)), Outcome::Fine(_)));
        assert!(matches!(pressure(&pod(waited(0.1))), Outcome::Fine(_)));
        let waits = found(pressure(&pod(waited(0.11))));
        assert!(waits.evidence.contains("of the cgroup"), "{waits:?}");
        assert!(waits.remedy.contains("quota"), "{waits:?}");
        assert!(matches!(pressure(&pod(None)), Outcome::NotKnown(_)));
        // A quota of all cores limits nothing.
        let all = HostFacts {
            cpu_quota: Some(4.0),
            ..node
        };
        assert!(matches!(load(&all), Outcome::Found(_)));
    }

    #[test]
    fn a_governor_that_follows_the_load_is_a_note() {
        let with = |name: &str| HostFacts {
            governor: Some(name.to_owned()),
            ..host()
        };
        assert_eq!(found(governor(&with("schedutil"))).severity, Severity::Note);
        assert_eq!(
            found(governor(&with("powersave"))).severity,
            Severity::SpoilsMeasurements
        );
        assert!(matches!(governor(&with("performance")), Outcome::Fine(_)));
        assert!(matches!(governor(&host()), Outcome::NotKnown(_)));
    }

    #[test]
    fn a_quota_matters_below_the_cores_and_where_it_stops() {
        let with = |quota, throttling| HostFacts {
            cores: 4,
            cpu_quota: quota,
            throttling,
            ..host()
        };
        assert!(matches!(quota(&with(Some(4.0), None)), Outcome::Fine(_)));
        assert!(
            found(quota(&with(Some(1.5), None)))
                .evidence
                .contains("1.50 cores, and there are 4")
        );
        let periods = |throttled| {
            Some(Throttling {
                periods: 100,
                throttled,
                stopped: Some(Duration::from_millis(2_600)),
            })
        };
        assert!(matches!(
            throttling(&with(Some(1.5), periods(25))),
            Outcome::Fine(_)
        ));
        assert!(
            found(throttling(&with(Some(1.5), periods(26))))
                .evidence
                .contains("26 of 100 periods since the cgroup was made (26.0 %), for 2.6 s")
        );
        assert!(matches!(
            throttling(&with(Some(1.5), None)),
            Outcome::NotKnown(_)
        ));
        assert!(matches!(throttling(&with(None, None)), Outcome::Fine(_)));
    }
}
