//! The document of a comparison.

use run::duplex::{Document, SCHEMA};

use crate::comparison::Comparison;
use crate::contest::Shadow;
use crate::words::Asked;
use crate::{judge, warnings, words};

impl Comparison {
    /// What follows from everything so far.
    #[must_use]
    pub fn document(&self, asked: &Asked) -> Document {
        let span_s = self.last_ns.saturating_sub(self.first_ns) as f64 / 1e9;
        let mut document = Document {
            schema: SCHEMA.to_owned(),
            powerband_version: asked.version.clone(),
            made_at: asked.made_at.clone(),
            sources: asked.sources.clone(),
            sentence: String::new(),
            exit_code: 3,
            requests: self.requests,
            without_primary: self.without_primary,
            span_s,
            margin: self.margin,
            shadows: self
                .each(|index, shadow| self.tallies[index].document(&shadow.name, shadow.twin)),
            comparisons: judge::comparisons(self, span_s),
            answers: self.answers.document(&self.shadows, &self.endpoints),
            not_read: asked.not_read.clone(),
            warnings: Vec::new(),
        };
        document.exit_code = judge::exit_code(&document);
        document.sentence = words::sentence(&document);
        document.warnings = warnings::of(&document, asked.length_was_chosen);
        document
    }

    fn each<T>(&self, of: impl Fn(usize, &Shadow) -> T) -> Vec<T> {
        let numbered = self.shadows.iter().enumerate();
        numbered.map(|(index, shadow)| of(index, shadow)).collect()
    }
}
