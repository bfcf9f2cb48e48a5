//! Lines of JSON one by one, of which only one is in memory.

use crate::HeapError;
use std::io::{BufRead, Read};

/// An array of twenty million elements has such a line.
const LONGEST: u64 = 512 << 20;

/// Hands over each line; `take` says what is wrong with it.
pub fn each(
    mut input: impl BufRead,
    mut take: impl FnMut(&[u8]) -> Result<(), Wrong>,
) -> Result<(), HeapError> {
    let mut buffer = Vec::new();
    for line in 1.. {
        buffer.clear();
        let read = input
            .by_ref()
            .take(LONGEST + 1)
            .read_until(b'\n', &mut buffer)?;
        if read == 0 {
            break;
        }
        if read as u64 > LONGEST {
            return Err(HeapError::Line {
                line,
                why: format!("it is longer than {LONGEST} bytes"),
            });
        }
        if buffer.iter().all(u8::is_ascii_whitespace) {
            continue;
        }
        take(&buffer).map_err(|wrong| match wrong {
            Wrong::Json(error) => HeapError::Line {
                line,
                why: error.to_string(),
            },
            Wrong::Heap(error) => error,
        })?;
    }
    Ok(())
}

/// What is wrong with a line.
#[derive(Debug)]
pub enum Wrong {
    Json(serde_json::Error),
    Heap(HeapError),
}

impl From<serde_json::Error> for Wrong {
    fn from(error: serde_json::Error) -> Wrong {
        Wrong::Json(error)
    }
}
