//! The problems of the arguments, gathered while they are checked.

use experiment::config::{Asked, Problem};

/// The problems found so far.
#[derive(Debug, Default)]
pub struct Found {
    /// In the order in which they were found.
    pub problems: Vec<Problem>,
}

impl Found {
    /// A value, unless it is a problem.
    pub fn take<T>(&mut self, result: Result<T, Problem>) -> Option<T> {
        result.map_err(|problem| self.problems.push(problem)).ok()
    }

    /// A value that may have been given.
    pub fn given<T>(
        &mut self,
        text: &Option<String>,
        flag: &str,
        parse: impl Fn(&Asked) -> Result<T, Problem>,
    ) -> Option<T> {
        let asked = Asked::new(text.as_ref()?, flag);
        self.take(parse(&asked))
    }

    /// Where `wrong`, the problem that a flag was given and does nothing.
    pub fn meaningless(&mut self, wrong: bool, flag: &str, why: &str, remedy: &str) {
        if wrong {
            let what = format!("{flag} means nothing here: {why}");
            self.problems.push(Problem::with(what, remedy));
        }
    }
}
