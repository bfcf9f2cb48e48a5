//! First-in-first-out lines of tasks, linked through one array for all of them:
//! a task stands in one line at most, and standing in it takes no memory.

pub(super) const NOBODY: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct Line {
    head: u32,
    tail: u32,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            head: NOBODY,
            tail: NOBODY,
        }
    }
}

impl Line {
    pub(super) fn is_empty(self) -> bool {
        self.head == NOBODY
    }

    pub(super) fn join(&mut self, behind: &mut [u32], task: u32) {
        behind[task as usize] = NOBODY;
        if self.head == NOBODY {
            self.head = task;
        } else {
            behind[self.tail as usize] = task;
        }
        self.tail = task;
    }

    pub(super) fn take(&mut self, behind: &[u32]) -> Option<u32> {
        let first = self.head;
        if first == NOBODY {
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
        let mut behind = vec![NOBODY; 4];
        let (mut one, mut other) = (Line::default(), Line::default());
        one.join(&mut behind, 2);
        one.join(&mut behind, 0);
        other.join(&mut behind, 3);
        one.join(&mut behind, 1);
        let order: Vec<u32> = std::iter::from_fn(|| one.take(&behind)).collect();
        assert_eq!(order, [2, 0, 1]);
        assert!(one.is_empty() && !other.is_empty());
        one.join(&mut behind, 2);
        assert_eq!((one.take(&behind), one.take(&behind)), (Some(2), None));
    }
}
