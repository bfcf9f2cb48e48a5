//! First-in-first-out queues of tasks, linked through one array for all of them:
//! a task is in one queue at most, and a queue allocates nothing.

pub(super) const NO_TASK: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct Fifo {
    head: u32,
    tail: u32,
}

impl Default for Fifo {
    fn default() -> Self {
        Self {
            head: NO_TASK,
            tail: NO_TASK,
        }
    }
}

impl Fifo {
    pub(super) fn is_empty(self) -> bool {
        self.head == NO_TASK
    }

    pub(super) fn push(&mut self, behind: &mut [u32], task: u32) {
        behind[task as usize] = NO_TASK;
        if self.head == NO_TASK {
            self.head = task;
        } else {
            behind[self.tail as usize] = task;
        }
        self.tail = task;
    }

    pub(super) fn pop(&mut self, behind: &[u32]) -> Option<u32> {
        let first = self.head;
        if first == NO_TASK {
            return None;
        }
        self.head = behind[first as usize];
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out() {
        let mut behind = vec![NO_TASK; 4];
        let (mut one, mut other) = (Fifo::default(), Fifo::default());
        one.push(&mut behind, 2);
        one.push(&mut behind, 0);
        other.push(&mut behind, 3);
        one.push(&mut behind, 1);
        let order: Vec<u32> = std::iter::from_fn(|| one.pop(&behind)).collect();
        assert_eq!(order, [2, 0, 1]);
        assert!(one.is_empty() && !other.is_empty());
        one.push(&mut behind, 2);
        assert_eq!((one.pop(&behind), one.pop(&behind)), (Some(2), None));
    }
}
