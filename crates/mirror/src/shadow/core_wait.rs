//! How long the shadows' thread was ready to run and had no core. It is the last to get one, so on a busy host its wait is
//! in the response times of shadows, and not in those of the primary.

use std::fs::File;
use std::os::unix::fs::FileExt;

/// Of the thread that opened it, as its kernel counts.
#[derive(Debug)]
pub(super) struct CoreWait {
    schedstat: Option<File>,
}

impl CoreWait {
    /// Of the calling thread, whichever reads it. The file stays open: a read costs a microsecond, an open several.
    pub(super) fn of_this_thread() -> Self {
        Self {
            schedstat: File::open("/proc/thread-self/schedstat").ok(),
        }
    }

    /// Since the thread began; `None` where the kernel does not count it.
    pub(super) fn so_far_ns(&self) -> Option<u64> {
        let mut text = [0; 80];
        let length = self.schedstat.as_ref()?.read_at(&mut text, 0).ok()?;
        waited_ns(std::str::from_utf8(&text[..length]).ok()?)
    }
}

/// The second number. The first is the time on a core: a thread that reads has had one, so 0 is a kernel that counts nothing.
fn waited_ns(schedstat: &str) -> Option<u64> {
    let mut numbers = schedstat.split_whitespace().map(str::parse);
    let on_core: u64 = numbers.next()?.ok()?;
    let waited = numbers.next()?.ok()?;
    (on_core > 0).then_some(waited)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

    #[test]
    fn the_wait_is_the_second_number_and_zeros_are_no_count() {
        assert_eq!(waited_ns("1200 340 7\n"), Some(340));
        assert_eq!(waited_ns("1200 0 7\n"), Some(0));
        assert_eq!(waited_ns("0 0 0\n"), None);
        assert_eq!(waited_ns("1200\n"), None);
        assert_eq!(waited_ns(""), None);
    }

    #[test]
    fn a_file_that_is_open_shows_each_wait_anew() {
        let wait = CoreWait::of_this_thread();
        let Some(first) = wait.so_far_ns() else {
            return; // This kernel does not count.
        };
        // Of 64 threads that want a core each, all but as many as there are cores wait.
        let spinning = AtomicBool::new(true);
        let grown = std::thread::scope(|scope| {
            for _ in 0..64 {
                scope.spawn(|| {
                    while spinning.load(Relaxed) {
                        std::hint::spin_loop();
                    }
                });
            }
            let grown = (0..1_000_000).any(|_| wait.so_far_ns().is_some_and(|now| now > first));
            spinning.store(false, Relaxed);
            grown
        });
        assert!(grown);
    }
}
