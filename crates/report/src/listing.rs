//! The list of runs.

use crate::figures::duration;
use crate::sheet::first_line;
use run::{Document, State};

/// One line a run: id, state, length, answer.
pub fn listing(documents: &[Document]) -> String {
    let mut text = String::new();
    for document in documents {
        let state = match document.state {
            State::Running => "unfinished",
            State::Interrupted => "interrupted",
            State::Done => "done",
            State::Failed => "failed",
        };
        let answer = document
            .verdict
            .as_ref()
            .map_or("", |v| first_line(&v.sentence));
        text.push_str(&format!(
            "{}  {state:<11}  {:>12}  {answer}\n",
            document.id,
            duration(document.elapsed_s)
        ));
    }
    text
}
