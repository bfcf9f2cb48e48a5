//! Parsers for the files of `/proc`. Pure: text in, numbers out, `None` when it is not that file.

/// Memory of one process, in bytes, from `/proc/<pid>/smaps_rollup`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SmapsRollup {
    /// Resident, shared pages counted whole.
    pub rss_bytes: u64,
    /// Resident, a page shared by n processes counted 1/n.
    pub pss_bytes: u64,
    /// Resident and not shared: what would be free if the process ended.
    pub uss_bytes: u64,
}

/// Resident memory of one process by its kind, in bytes; `None` where the kernel does not report it (before Linux 4.5).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusMemory {
    /// Shared pages counted whole.
    pub rss_bytes: u64,
    /// Heaps and stacks, and pages of files that the process has changed.
    pub anonymous_bytes: Option<u64>,
    pub file_bytes: Option<u64>,
    /// tmpfs and shared memory.
    pub shared_bytes: Option<u64>,
    /// Of anonymous memory, what is swapped out.
    pub swap_bytes: Option<u64>,
}

/// What is needed of `/proc/<pid>/stat`. Times are clock ticks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stat {
    /// Cut at 15 bytes by the kernel.
    pub name: String,
    /// It has ended and its parent has not waited for it yet.
    pub ended: bool,
    pub parent_pid: u32,
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// User time of children that it has waited for, and of theirs.
    pub reaped_user_ticks: u64,
    /// System time of the same.
    pub reaped_system_ticks: u64,
    /// Field 22, clock ticks since boot: with the pid it identifies a process.
    pub start_ticks: u64,
}

/// What is needed of `/proc/meminfo`, in bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemInfo {
    pub total_bytes: u64,
    /// What new programs can have without swapping, as the kernel estimates it.
    pub available_bytes: u64,
    /// Not in use.
    pub free_bytes: u64,
    pub buffers_bytes: u64,
    /// File pages and what the kernel can give back of its own, as `free` adds them up.
    pub cached_bytes: u64,
    /// tmpfs and shared memory, which are in `cached_bytes` too.
    pub shared_bytes: u64,
    pub swap_total_bytes: u64,
    pub swap_free_bytes: u64,
}

impl MemInfo {
    /// What is neither free nor a cache.
    #[must_use]
    pub fn used_bytes(&self) -> u64 {
        let rest = self.free_bytes + self.buffers_bytes + self.cached_bytes;
        self.total_bytes.saturating_sub(rest)
    }
}

/// `/proc/stat`: clock ticks of all CPUs together since boot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CpuTimes {
    /// user, nice, system, idle, iowait, irq, softirq and steal. Guest times are in user already.
    pub total_ticks: u64,
    /// Ready to run while the hypervisor ran another guest.
    pub steal_ticks: u64,
    /// idle and iowait.
    pub idle_ticks: u64,
    /// user, nice and system: of processes, without interrupts.
    pub process_ticks: u64,
    /// CPUs that are online.
    pub cpus: usize,
}

impl CpuTimes {
    /// The share of all CPU time since `before` that the hypervisor gave to others, 0 to 1; `None`
    /// when no time has passed.
    #[must_use]
    pub fn steal_share_since(&self, before: &Self) -> Option<f64> {
        let total = self.total_ticks.saturating_sub(before.total_ticks);
        let steal = self.steal_ticks.saturating_sub(before.steal_ticks);
        (total > 0).then(|| (steal as f64 / total as f64).min(1.0))
    }

    /// Computing, interrupts included.
    #[must_use]
    pub fn busy_ticks(&self) -> u64 {
        let not = self.steal_ticks.saturating_add(self.idle_ticks);
        self.total_ticks.saturating_sub(not)
    }
}

/// `Name:   123 kB` lines.
pub(crate) fn kilobytes(text: &str) -> impl Iterator<Item = (&str, u64)> {
    text.lines().filter_map(|line| {
        let (name, rest) = line.split_once(':')?;
        let mut words = rest.split_ascii_whitespace();
        let value: u64 = words.next()?.parse().ok()?;
        (words.next() == Some("kB")).then(|| (name, value.saturating_mul(1024)))
    })
}

/// `/proc/<pid>/smaps_rollup`; `None` when it lacks RSS or PSS.
#[must_use]
pub fn parse_smaps_rollup(text: &str) -> Option<SmapsRollup> {
    let (mut rss, mut pss, mut uss) = (None, None, 0_u64);
    for (name, bytes) in kilobytes(text) {
        match name {
            "Rss" => rss = Some(bytes),
            "Pss" => pss = Some(bytes),
            "Private_Clean" | "Private_Dirty" | "Private_Hugetlb" => {
                uss = uss.saturating_add(bytes);
            }
            _ => {}
        }
    }
    Some(SmapsRollup {
        rss_bytes: rss?,
        pss_bytes: pss?,
        uss_bytes: uss,
    })
}

/// What a process holds, from `/proc/<pid>/status`; `None` for a kernel thread or a zombie.
#[must_use]
pub fn parse_status_memory(text: &str) -> Option<StatusMemory> {
    let (mut memory, mut rss) = (StatusMemory::default(), None);
    for (name, bytes) in kilobytes(text) {
        match name {
            "VmRSS" => rss = Some(bytes),
            "RssAnon" => memory.anonymous_bytes = Some(bytes),
            "RssFile" => memory.file_bytes = Some(bytes),
            "RssShmem" => memory.shared_bytes = Some(bytes),
            "VmSwap" => memory.swap_bytes = Some(bytes),
            _ => {}
        }
    }
    memory.rss_bytes = rss?;
    Some(memory)
}

/// Resident bytes from `/proc/<pid>/statm`.
#[must_use]
pub fn parse_statm(text: &str, page_bytes: u64) -> Option<u64> {
    let pages: u64 = text.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages.saturating_mul(page_bytes))
}

/// `/proc/<pid>/stat`. The name may itself hold spaces and parentheses: it ends at the last one.
#[must_use]
pub fn parse_stat(text: &str) -> Option<Stat> {
    let (start, end) = (text.find('(')?, text.rfind(')')?);
    let name = text.get(start + 1..end)?.to_owned();
    let rest: Vec<&str> = text.get(end + 1..)?.split_ascii_whitespace().collect();
    // proc(5) counts fields from 1, and the state, the first after the name, is field 3.
    let field = |number: usize| rest.get(number - 3).copied();
    // cutime and cstime are printed signed.
    let ticks = |number| Some(field(number)?.parse::<i64>().ok()?.max(0).unsigned_abs());
    Some(Stat {
        name,
        ended: matches!(field(3)?, "Z" | "X"),
        parent_pid: field(4)?.parse().ok()?,
        user_ticks: ticks(14)?,
        system_ticks: ticks(15)?,
        reaped_user_ticks: ticks(16)?,
        reaped_system_ticks: ticks(17)?,
        start_ticks: field(22)?.parse().ok()?,
    })
}

/// The pids in `/proc/<pid>/task/<tid>/children`; any other word is left out.
#[must_use]
pub fn parse_children(text: &str) -> Vec<u32> {
    let words = text.split_ascii_whitespace();
    words.filter_map(|word| word.parse().ok()).collect()
}

/// `/proc/meminfo`; `None` when it lacks the total or what is available.
#[must_use]
pub fn parse_meminfo(text: &str) -> Option<MemInfo> {
    let (mut info, mut total, mut available) = (MemInfo::default(), None, None);
    for (name, bytes) in kilobytes(text) {
        match name {
            "MemTotal" => total = Some(bytes),
            "MemAvailable" => available = Some(bytes),
            "MemFree" => info.free_bytes = bytes,
            "Buffers" => info.buffers_bytes = bytes,
            "Cached" | "SReclaimable" => info.cached_bytes += bytes,
            "Shmem" => info.shared_bytes = bytes,
            "SwapTotal" => info.swap_total_bytes = bytes,
            "SwapFree" => info.swap_free_bytes = bytes,
            _ => {}
        }
    }
    info.total_bytes = total?;
    info.available_bytes = available?;
    Some(info)
}

/// `/proc/stat`: its first line, and how many CPUs follow.
#[must_use]
pub fn parse_cpu_times(text: &str) -> Option<CpuTimes> {
    let (all, rest) = text.split_once('\n').unwrap_or((text, ""));
    let line = all.strip_prefix("cpu ")?;
    let ticks: Vec<u64> = line
        .split_ascii_whitespace()
        .map(|word| word.parse().ok())
        .take(8)
        .collect::<Option<_>>()?;
    Some(CpuTimes {
        total_ticks: ticks.iter().fold(0, |sum, &t| sum.saturating_add(t)),
        steal_ticks: *ticks.get(7)?,
        idle_ticks: ticks.get(3)?.saturating_add(*ticks.get(4)?),
        process_ticks: ticks[..3].iter().fold(0, |sum, &t| sum.saturating_add(t)),
        cpus: rest
            .lines()
            .take_while(|line| line.starts_with("cpu"))
            .count(),
    })
}

/// Pages swapped in and out since boot, from `/proc/vmstat`.
#[must_use]
pub fn parse_swapped_pages(text: &str) -> Option<u64> {
    let value = |name| {
        let line = text.lines().find_map(|line| line.strip_prefix(name))?;
        line.trim().parse::<u64>().ok()
    };
    Some(value("pswpin ")?.saturating_add(value("pswpout ")?))
}

/// The average over one minute from `/proc/loadavg`: processes that run or wait for a CPU or a disk.
#[must_use]
pub fn parse_load_average(text: &str) -> Option<f64> {
    let load: f64 = text.split_ascii_whitespace().next()?.parse().ok()?;
    (load.is_finite() && load >= 0.0).then_some(load)
}

/// The first processor's name in `/proc/cpuinfo`; on ARM there is none.
#[must_use]
pub fn parse_cpu_model(text: &str) -> Option<String> {
    let entries = text.lines().filter_map(|line| line.split_once(':'));
    let mut names = entries.filter(|(key, _)| key.trim() == "model name");
    names.next().map(|(_, name)| name.trim().to_owned())
}
