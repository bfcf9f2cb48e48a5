//! nginx's configuration as directives with their places, so that one can be changed and all else stays.

use std::ops::Range;

pub struct Directive {
    pub words: Vec<String>,
    /// From the first argument to the end of the last; empty behind the name where there is none.
    pub arguments: Range<usize>,
    pub start: usize,
    /// The block that it stands in.
    pub parent: Option<usize>,
    /// Of a block: where its `}` is.
    pub close: Option<usize>,
}

/// All directives in the order of their beginnings; `None` where something is not closed or is another language.
pub fn parse(text: &str) -> Option<Vec<Directive>> {
    let mut found: Vec<Directive> = Vec::new();
    let mut open: Vec<usize> = Vec::new();
    let mut words: Vec<(String, Range<usize>)> = Vec::new();
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        match c {
            '#' => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            c if c.is_whitespace() => {}
            ';' | '{' => {
                let (first, last) = (words.first()?.1.clone(), words.last()?.1.clone());
                let from = words.get(1).map_or(first.end, |(_, range)| range.start);
                let words: Vec<String> = words.drain(..).map(|(word, _)| word).collect();
                if words[0].ends_with("_by_lua_block") {
                    return None;
                }
                found.push(Directive {
                    words,
                    arguments: from..last.end,
                    start: first.start,
                    parent: open.last().copied(),
                    close: None,
                });
                if c == '{' {
                    open.push(found.len() - 1);
                }
            }
            '}' => {
                if !words.is_empty() {
                    return None;
                }
                found[open.pop()?].close = Some(at);
            }
            quote @ ('"' | '\'') => {
                let mut word = String::new();
                let end = loop {
                    match chars.next()? {
                        (_, '\\') => word.push(chars.next()?.1),
                        (end, c) if c == quote => break end + 1,
                        (_, c) => word.push(c),
                    }
                };
                words.push((word, at..end));
            }
            first => {
                let mut word = String::from(first);
                let mut end = at + first.len_utf8();
                if first == '\\' {
                    let (next, c) = chars.next()?;
                    word.push(c);
                    end = next + c.len_utf8();
                }
                loop {
                    let variable = word.ends_with('$');
                    let inside = |(_, c): &(usize, char)| {
                        !c.is_whitespace() && !matches!(c, ';' | '}') && (*c != '{' || variable)
                    };
                    // The brace that closes `${name}` belongs to the word.
                    let named = word
                        .rfind("${")
                        .is_some_and(|from| !word[from..].contains('}'));
                    let next = chars.next_if(|next| inside(next) || named && next.1 == '}');
                    let Some((next, c)) = next else { break };
                    word.push(c);
                    end = next + c.len_utf8();
                    if c == '\\' {
                        let (next, c) = chars.next()?;
                        word.push(c);
                        end = next + c.len_utf8();
                    }
                }
                words.push((word, at..end));
            }
        }
    }
    (open.is_empty() && words.is_empty()).then_some(found)
}
