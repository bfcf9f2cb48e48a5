//! Limits of the server's pod, which the kernel enforces on its control group.

use crate::knob::{Kind, Knob, Place};
use crate::names::{POD_CPUS, POD_MEMORY};

pub const KNOBS: &[Knob] = &[
    Knob {
        caution: "A quota limits CPU time, not the number of cores: threads and workers that run at the same time use it up early in each \
                  period, and then all stop until the next one.",
        ..Knob::plain(
            POD_CPUS,
            (Place::Group, "cpu.max"),
            Kind::Number {
                over: 0.01,
                most: 1024.0,
                zero: false,
            },
            "the machine's cores",
            "1.5",
            "CPU quota of the server in cores, in periods of 100 ms as Kubernetes sets it: `resources.limits.cpu`.",
        )
    },
    Knob {
        caution: "The cache of the files that the server reads counts; no swap is allowed.",
        ..Knob::plain(
            POD_MEMORY,
            (Place::Group, "memory.max"),
            Kind::Size {
                least: 16 << 20,
                most: 64 << 40,
            },
            "the machine's memory",
            "1GiB",
            "Memory that the server's processes may have together before the kernel kills one: `resources.limits.memory`.",
        )
    },
];
