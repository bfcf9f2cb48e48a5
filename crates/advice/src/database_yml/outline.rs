//! The outline of a YAML file of mappings, one key a line. Any other shape is refused, never guessed at.

pub struct Outline {
    entries: Vec<Entry>,
}

struct Entry {
    line: usize,
    indent: usize,
    parent: Option<usize>,
    key: String,
    anchor: Option<String>,
    /// Without anchor and comment; empty for a mapping.
    value: String,
}

/// Anchors that merge one another further than this are a circle.
const DEEPEST: usize = 16;

impl Outline {
    pub fn of(lines: &[String]) -> Result<Outline, String> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut scalar_under: Option<usize> = None;
        for (line, whole) in lines.iter().enumerate() {
            let text = whole.trim_start();
            let indent = whole.len() - text.len();
            if text.trim().is_empty() {
                continue;
            }
            if scalar_under.is_some_and(|above| indent > above) {
                continue;
            }
            scalar_under = None;
            if text.starts_with('#') || text.starts_with("<%#") && text.trim_end().ends_with("%>") {
                continue;
            }
            let number = line + 1;
            if text.trim_end() == "---" && entries.is_empty() {
                continue;
            }
            if whole[..indent].contains('\t') {
                return Err(format!("line {number} is indented with tabs"));
            }
            let (key, value) =
                key_of(text).ok_or_else(|| format!("line {number} is no plain `key: value`"))?;
            let (anchor, value) = anchor_of(value);
            if value.starts_with(['|', '>']) {
                scalar_under = Some(indent);
            }
            let parent = entries.iter().rposition(|above| above.indent < indent);
            let under = entries.len().checked_sub(1);
            let sibling = entries.iter().rfind(|above| above.parent == parent);
            let opens = parent == under && parent.is_none_or(|p| entries[p].value.is_empty());
            if !opens && sibling.is_none_or(|sibling| sibling.indent != indent) {
                return Err(format!("line {number} stands under nothing"));
            }
            entries.push(Entry {
                line,
                indent,
                parent,
                key,
                anchor,
                value,
            });
        }
        Ok(Outline { entries })
    }

    pub fn line(&self, at: usize) -> usize {
        self.entries[at].line
    }

    pub fn value(&self, at: usize) -> &str {
        &self.entries[at].value
    }

    pub fn children(&self, at: usize) -> Vec<usize> {
        let of = |parent| move |i: &usize| self.entries[*i].parent == parent;
        (0..self.entries.len()).filter(of(Some(at))).collect()
    }

    /// The mappings of a section that are one database each: itself, or those in it, as Rails distinguishes
    /// them.
    pub fn databases(&self, section: &str) -> Result<Vec<usize>, String> {
        let top = |i: &usize| self.entries[*i].parent.is_none() && self.entries[*i].key == section;
        let at = (0..self.entries.len()).rfind(top);
        let at = self.mapping(at.ok_or_else(|| format!("there is no section {section}"))?)?;
        let children = self.children(at);
        let nested = |i: &usize| {
            self.entries[*i].key != "<<"
                && (!self.children(*i).is_empty() || self.value(*i).starts_with('*'))
        };
        if !children.is_empty() && children.iter().all(nested) {
            return children
                .into_iter()
                .map(|child| self.mapping(child))
                .collect();
        }
        Ok(vec![at])
    }

    /// The entry itself, or the one whose anchor it names.
    fn mapping(&self, at: usize) -> Result<usize, String> {
        let entry = &self.entries[at];
        match entry.value.strip_prefix('*') {
            Some(name) => self.anchored(name, at),
            None if entry.value.is_empty() => Ok(at),
            None => Err(format!("line {} is no block of lines", entry.line + 1)),
        }
    }

    /// The last such anchor before the line that names it.
    fn anchored(&self, name: &str, before: usize) -> Result<usize, String> {
        let named = |i: &usize| self.entries[*i].anchor.as_deref() == Some(name.trim());
        (0..before).rfind(named).ok_or_else(|| {
            format!(
                "line {} names an anchor that is not there",
                self.line(before) + 1
            )
        })
    }

    /// The entry that counts for one of the keys: the mapping's own, else the first that it merges in.
    pub fn effective(&self, mapping: usize, keys: &[&str]) -> Result<Option<usize>, String> {
        self.effective_within(mapping, keys, DEEPEST)
    }

    fn effective_within(
        &self,
        mapping: usize,
        keys: &[&str],
        depth: usize,
    ) -> Result<Option<usize>, String> {
        if depth == 0 {
            return Err("its anchors go round in a circle".to_owned());
        }
        let children = self.children(mapping);
        let own = children
            .iter()
            .rfind(|i| keys.contains(&self.entries[**i].key.as_str()));
        if let Some(own) = own {
            return Ok(Some(*own));
        }
        for merge in children.iter().filter(|i| self.entries[**i].key == "<<") {
            let names = self.value(*merge).trim_matches(['[', ']']);
            for name in names.split(',') {
                let name = name.trim().strip_prefix('*');
                let name = name.ok_or_else(|| {
                    format!(
                        "line {} merges something else than an anchor",
                        self.line(*merge) + 1
                    )
                })?;
                let from = self.anchored(name, *merge)?;
                if let Some(found) = self.effective_within(from, keys, depth - 1)? {
                    return Ok(Some(found));
                }
            }
        }
        Ok(None)
    }
}

/// `key: value` with the comment cut off.
fn key_of(text: &str) -> Option<(String, &str)> {
    let (key, value) = match text.find(": ") {
        Some(at) => (&text[..at], text[at + 2..].trim()),
        None => (text.trim_end().strip_suffix(':')?, ""),
    };
    let key = key.trim_matches(['"', '\'']);
    let plain = |c: char| c.is_alphanumeric() || "_-<.".contains(c);
    if key.is_empty() || !key.chars().all(plain) || value.starts_with('{') {
        return None;
    }
    // Quotes that do not close go on below.
    let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''));
    if quote.is_some_and(|quote| !value[1..].contains(quote)) {
        return None;
    }
    Some((key.to_owned(), without_comment(value)))
}

/// ERB and quotes may hold a `#` of their own.
fn without_comment(value: &str) -> &str {
    if value.starts_with('#') {
        return "";
    }
    let closed = match value.chars().next() {
        Some('<') => value.rfind("%>").map_or(0, |at| at + 2),
        Some(quote @ ('"' | '\'')) => value.rfind(quote).map_or(0, |at| at + 1),
        _ => 0,
    };
    let end = value[closed..]
        .find(" #")
        .map_or(value.len(), |at| closed + at);
    value[..end].trim_end()
}

fn anchor_of(value: &str) -> (Option<String>, String) {
    let Some(rest) = value.strip_prefix('&') else {
        return (None, value.to_owned());
    };
    let (name, rest) = rest.split_once(' ').unwrap_or((rest, ""));
    (Some(name.to_owned()), rest.trim().to_owned())
}
