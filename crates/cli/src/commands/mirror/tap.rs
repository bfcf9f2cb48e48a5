//! The receivers of a request: the shadows, the recording, or both.

use super::keeper::Inbox;
use capture::Field;
use mirror::shadow::Shadows;
use mirror::{Admission, Head, PrimaryAnswer, Taken, Tap};
use std::sync::Arc;

/// Passes each request to both.
pub struct Both {
    pub shadows: Option<Arc<Shadows>>,
    /// `None`: nothing is recorded.
    pub recording: Option<Arc<Inbox>>,
}

impl Tap for Both {
    fn wants(&self, head: &Head<'_>) -> Option<Admission> {
        let admitted = self
            .shadows
            .as_ref()
            .and_then(|shadows| shadows.wants(head));
        let recording = self.recording.as_ref();
        match (recording.filter(|inbox| inbox.wants_exchanges()), admitted) {
            (Some(_), None) => Some(Admission::nobody()),
            (_, admitted) => admitted,
        }
    }

    fn taken(&self, request: Arc<Taken>) {
        if let Some(shadows) = &self.shadows {
            shadows.taken(request);
        }
    }

    fn answering(&self, request: &Arc<Taken>, headers: &[Field]) {
        if let Some(shadows) = &self.shadows {
            shadows.answering(request, headers);
        }
    }

    fn answered(&self, request: &Arc<Taken>, answer: PrimaryAnswer) {
        if let Some(recording) = &self.recording {
            recording.exchange(request, answer.answer.as_ref());
        }
        if let Some(shadows) = &self.shadows {
            shadows.answered(request, answer);
        }
    }
}
