//! Texts that occur often, each once.

use std::collections::HashMap;

/// Texts by number; 0 is the empty one.
#[derive(Debug)]
pub struct Strings {
    texts: Vec<Box<str>>,
    numbers: HashMap<Box<str>, u32>,
}

impl Default for Strings {
    fn default() -> Strings {
        Strings {
            texts: vec!["".into()],
            numbers: HashMap::from([("".into(), 0)]),
        }
    }
}

impl Strings {
    /// Its number.
    pub fn number(&mut self, text: &str) -> u32 {
        if let Some(number) = self.numbers.get(text) {
            return *number;
        }
        let number = self.texts.len() as u32;
        self.texts.push(text.into());
        self.numbers.insert(text.into(), number);
        number
    }

    /// The text with this number.
    pub fn text(&self, number: u32) -> &str {
        &self.texts[number as usize]
    }

    /// All, by number.
    pub fn all(&self) -> &[Box<str>] {
        &self.texts
    }
}
