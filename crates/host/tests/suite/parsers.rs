//! The parsers on text as kernels write it, and on any text at all.

use host::cgroup::{parse_cfs, parse_cpu_max, parse_memberships, parse_memory_limit};
use host::procfs::{
    CpuTimes, MemInfo, SmapsRollup, Stat, StatusMemory, parse_children, parse_cpu_model,
    parse_cpu_times, parse_load_average, parse_meminfo, parse_smaps_rollup, parse_stat,
    parse_statm, parse_status_memory, parse_swapped_pages,
};
use proptest::prelude::*;

const SMAPS_ROLLUP: &str = "\
558bbf155000-7ffeac638000 ---p 00000000 00:00 0                          [rollup]
Rss:                1940 kB
Pss:                 424 kB
Pss_Dirty:           116 kB
Pss_Anon:            116 kB
Shared_Clean:       1756 kB
Shared_Dirty:          0 kB
Private_Clean:        68 kB
Private_Dirty:       116 kB
Shared_Hugetlb:        0 kB
Private_Hugetlb:    2048 kB
Swap:                  0 kB
";

#[test]
fn smaps_rollup_sums_what_is_private() {
    let expected = SmapsRollup {
        rss_bytes: 1940 * 1024,
        pss_bytes: 424 * 1024,
        uss_bytes: (68 + 116 + 2048) * 1024,
    };
    assert_eq!(parse_smaps_rollup(SMAPS_ROLLUP), Some(expected));
    assert_eq!(parse_smaps_rollup("Rss: 12 kB\n"), None);
}

#[test]
fn the_memory_of_a_status_file_has_what_the_kernel_says() {
    let status = "Name:\truby\nVmHWM:\t   90000 kB\nVmRSS:\t   80000 kB\nRssAnon:\t   60000 kB\nRssFile:\t   15000 kB\n\
                  RssShmem:\t    5000 kB\nVmSwap:\t     128 kB\nThreads:\t7\n";
    let expected = StatusMemory {
        rss_bytes: 80_000 << 10,
        anonymous_bytes: Some(60_000 << 10),
        file_bytes: Some(15_000 << 10),
        shared_bytes: Some(5_000 << 10),
        swap_bytes: Some(128 << 10),
    };
    assert_eq!(parse_status_memory(status), Some(expected));
    // Kernels before 4.5 have no parts, and a kernel thread has no memory.
    let old = parse_status_memory("VmRSS:\t 12 kB\n").unwrap();
    assert_eq!((old.rss_bytes, old.anonymous_bytes), (12 << 10, None));
    assert_eq!(parse_status_memory("Name:\tkthreadd\n"), None);
}

#[test]
fn a_name_with_parentheses_and_spaces_does_not_shift_the_fields() {
    let text = "4242 (puma: (a) b) S 4200 4242 4242 0 -1 4194560 1 2 3 4 51 52 -1 54 20 0 7 0 \
                987654 12345 678 18446744073709551615";
    let expected = Stat {
        name: "puma: (a) b".to_owned(),
        ended: false,
        parent_pid: 4200,
        user_ticks: 51,
        system_ticks: 52,
        reaped_user_ticks: 0,
        reaped_system_ticks: 54,
        start_ticks: 987_654,
    };
    assert_eq!(parse_stat(text), Some(expected));
    assert!(parse_stat(&text.replace(" S ", " Z ")).unwrap().ended);
    assert_eq!(parse_stat("4242 (puma) S 1 2"), None);
    assert_eq!(parse_stat(") ("), None);
}

#[test]
fn resident_pages_and_children() {
    assert_eq!(
        parse_statm("900 250 100 1 0 90 0\n", 4096),
        Some(250 * 4096)
    );
    assert_eq!(parse_statm("900", 4096), None);
    assert_eq!(parse_children("12 345 6 "), [12, 345, 6]);
    assert!(parse_children("").is_empty());
}

#[test]
fn meminfo_needs_total_and_available() {
    let text = "MemTotal:  24684084 kB\nMemFree: 1024 kB\nMemAvailable: 24296348 kB\nBuffers: 20 kB\n\
                Cached: 300 kB\nSwapCached: 7 kB\nShmem: 9 kB\nSReclaimable: 40 kB\nSwapTotal: 2048 kB\nSwapFree: 1024 kB\nHugePages_Total: 3\n";
    let expected = MemInfo {
        total_bytes: 24_684_084 * 1024,
        available_bytes: 24_296_348 * 1024,
        free_bytes: 1024 * 1024,
        buffers_bytes: 20 * 1024,
        cached_bytes: 340 * 1024,
        shared_bytes: 9 * 1024,
        swap_total_bytes: 2048 * 1024,
        swap_free_bytes: 1024 * 1024,
    };
    assert_eq!(parse_meminfo(text), Some(expected));
    let used = (24_684_084 - 1024 - 20 - 340) * 1024;
    assert_eq!(expected.used_bytes(), used);
    assert_eq!(parse_meminfo("MemTotal: 5 kB\n"), None);
}

#[test]
fn steal_is_a_share_of_two_readings() {
    let before =
        parse_cpu_times("cpu  100 0 50 800 10 0 5 35 77 0\ncpu0 1 2\ncpu1 1 2\nintr 5 1\n")
            .unwrap();
    let expected = CpuTimes {
        total_ticks: 1000,
        steal_ticks: 35,
        idle_ticks: 810,
        process_ticks: 150,
        cpus: 2,
    };
    assert_eq!(before, expected, "guest time is in user time already");
    let after = parse_cpu_times("cpu  150 0 50 840 10 0 5 45 77 0\n").unwrap();
    assert_eq!(after.steal_share_since(&before), Some(0.1));
    assert_eq!(before.steal_share_since(&before), None);
    assert_eq!((before.busy_ticks(), after.busy_ticks()), (155, 205));
    assert_eq!(parse_cpu_times("cpu0 1 2 3 4 5 6 7 8\n"), None);
    assert_eq!(parse_cpu_times("cpu 1 2 3\n"), None);
}

#[test]
fn load_swap_and_model() {
    assert_eq!(
        parse_load_average("0.16 0.19 0.14 2/91 16811\n"),
        Some(0.16)
    );
    assert_eq!(parse_load_average("nan 0 0"), None);
    let vmstat = "nr_free_pages 5\npswpin 3\npswpout 4\npswpinx 100\n";
    assert_eq!(parse_swapped_pages(vmstat), Some(7));
    assert_eq!(parse_swapped_pages("pswpin 3\n"), None);
    let cpuinfo = "processor\t: 0\nmodel\t\t: 17\nmodel name\t: AMD EPYC\n";
    assert_eq!(parse_cpu_model(cpuinfo).as_deref(), Some("AMD EPYC"));
    assert_eq!(parse_cpu_model("processor : 0\n"), None);
}

#[test]
fn quotas_of_both_versions() {
    assert_eq!(parse_cpu_max("150000 100000\n"), Some(1.5));
    assert_eq!(parse_cpu_max("max 100000\n"), None);
    assert_eq!(parse_cpu_max("100000 0\n"), None);
    assert_eq!(parse_cfs("50000\n", "100000\n"), Some(0.5));
    assert_eq!(parse_cfs("-1\n", "100000\n"), None);
}

#[test]
fn memory_limits_of_both_versions() {
    assert_eq!(parse_memory_limit("536870912\n"), Some(512 << 20));
    assert_eq!(parse_memory_limit("max\n"), None);
    assert_eq!(parse_memory_limit("9223372036854771712\n"), None);
}

#[test]
fn memberships_keep_colons_in_paths() {
    let found = parse_memberships("4:cpu,cpuacct:/a:b\n0::/user.slice\nodd line\n");
    assert_eq!(found.len(), 2);
    assert_eq!(found[0].controllers, ["cpu", "cpuacct"]);
    assert_eq!(found[0].path, "/a:b");
    assert!(found[1].controllers.is_empty());
}

/// Any text, and text that looks right up to its numbers.
fn texts() -> impl Strategy<Value = String> {
    let number = prop_oneof![
        any::<u64>().prop_map(|n| n.to_string()),
        any::<i64>().prop_map(|n| n.to_string()),
        Just("99999999999999999999999".to_owned()),
        Just(String::new()),
    ];
    let word = prop_oneof![
        number,
        Just("(a) b)".to_owned()),
        Just("Rss:".to_owned()),
        Just("Pss:".to_owned()),
        Just("MemTotal:".to_owned()),
        Just("MemAvailable:".to_owned()),
        Just("cpu ".to_owned()),
        Just("kB\n".to_owned()),
        Just("0::/".to_owned()),
        Just("pswpin ".to_owned()),
    ];
    prop_oneof![
        any::<String>(),
        proptest::collection::vec(word, 0..40).prop_map(|words| words.join(" ")),
    ]
}

proptest! {
    #[test]
    fn no_text_makes_a_parser_panic(text in texts(), other in texts()) {
        if let Some(memory) = parse_smaps_rollup(&text) {
            prop_assert!(memory.rss_bytes % 1024 == 0 || memory.rss_bytes == u64::MAX);
        }
        if let Some(load) = parse_load_average(&text) {
            prop_assert!(load.is_finite() && load >= 0.0);
        }
        for quota in [parse_cpu_max(&text), parse_cfs(&text, &other)].into_iter().flatten() {
            prop_assert!(quota.is_finite() && quota > 0.0);
        }
        let readings = parse_cpu_times(&text).zip(parse_cpu_times(&other));
        if let Some(share) = readings.and_then(|(a, b)| a.steal_share_since(&b)) {
            prop_assert!((0.0..=1.0).contains(&share));
        }
        let pids = parse_children(&text);
        prop_assert!(pids.len() <= text.split_ascii_whitespace().count());
        if let Some(stat) = parse_stat(&text) {
            prop_assert!(text.contains(&stat.name));
        }
        if parse_meminfo(&text).is_some() {
            prop_assert!(text.contains("MemTotal") && text.contains("MemAvailable"));
        }
        if let Some(model) = parse_cpu_model(&text) {
            prop_assert!(text.contains(&model));
        }
        let _ = (parse_statm(&text, 4096), parse_swapped_pages(&text), parse_memory_limit(&text));
        prop_assert!(parse_memberships(&text).len() <= text.lines().count());
    }

    #[test]
    fn a_damaged_stat_line_never_panics(cut in 0_usize..120, byte in any::<u8>()) {
        let whole = "4242 (puma) S 4200 4242 4242 0 -1 4194560 1 2 3 4 51 52 53 54 20 0 7 0 987654 1";
        let mut bytes = whole.as_bytes().to_vec();
        let at = cut % bytes.len();
        bytes[at] = byte;
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if let Some(stat) = parse_stat(&text) {
            prop_assert!(text.contains(&stat.name));
        }
        // Without its 22nd field it is no such line.
        let short = &whole[..at];
        prop_assert_eq!(parse_stat(short).is_some(), short.split_ascii_whitespace().count() >= 22);
    }
}
