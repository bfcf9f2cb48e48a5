//! As much of a Dockerfile as finding its `ENV` lines needs: instructions, stages, and which is built from
//! which.

pub struct Dockerfile {
    /// What takes the meaning from the character behind it: `\`, or a backtick where a directive says so.
    pub escape: char,
    stages: Vec<Stage>,
    /// The last instruction goes on behind the end, so that whatever is added becomes a part of it.
    pub unfinished: bool,
}

struct Stage {
    name: String,
    image: String,
    /// `FROM` first.
    instructions: Vec<Instruction>,
}

pub struct Instruction {
    /// Its lines, the bodies of here-documents included.
    pub first: usize,
    pub last: usize,
    /// In capitals.
    pub keyword: String,
    /// Continued lines joined, comments between them left out.
    rest: String,
    escape: char,
}

impl Dockerfile {
    pub fn of(lines: &[String]) -> Dockerfile {
        let escape = escape(lines);
        let mut stages: Vec<Stage> = Vec::new();
        let (found, unfinished) = instructions(lines, escape);
        for instruction in found {
            if instruction.keyword == "FROM" {
                let words: Vec<&str> = instruction.rest.split_whitespace().collect();
                let words: Vec<&str> = words.into_iter().filter(|w| !w.starts_with("--")).collect();
                let named = words.len() >= 3 && words[1].eq_ignore_ascii_case("as");
                stages.push(Stage {
                    name: if named {
                        words[2].to_lowercase()
                    } else {
                        String::new()
                    },
                    image: words.first().copied().unwrap_or_default().to_lowercase(),
                    instructions: vec![instruction],
                });
            } else if let Some(stage) = stages.last_mut() {
                stage.instructions.push(instruction);
            }
        }
        Dockerfile {
            escape,
            stages,
            unfinished,
        }
    }

    /// What the image is made of unless the build asks for another stage; empty without any.
    pub fn last_stage(&self) -> &[Instruction] {
        self.stages.last().map_or(&[], |stage| &stage.instructions)
    }

    /// The last stage and those it is built from, the first of them first.
    fn chain(&self) -> Vec<&Stage> {
        let mut chain = Vec::new();
        let mut end = self.stages.len();
        while let Some(stage) = self.stages[..end].last() {
            chain.insert(0, stage);
            let earlier = &self.stages[..end - 1];
            let base = earlier
                .iter()
                .rposition(|s| !s.name.is_empty() && s.name == stage.image);
            end = base.map_or(0, |at| at + 1);
        }
        chain
    }

    /// The image that all of it stands on.
    pub fn image(&self) -> &str {
        self.chain().first().map_or("", |stage| &stage.image)
    }

    /// What a variable holds as the server starts; `None` within where that is computed.
    pub fn effective(&self, name: &str) -> Option<Option<String>> {
        let chain = self.chain();
        let all = chain.iter().flat_map(|stage| &stage.instructions);
        all.flat_map(Instruction::assigns)
            .filter(|(key, _)| key == name)
            .map(|(_, value)| value)
            .next_back()
    }

    /// Whether some `RUN` on the way names the package.
    pub fn runs_with(&self, package: &str) -> bool {
        let chain = self.chain();
        let runs = chain.iter().flat_map(|stage| &stage.instructions);
        let mut runs = runs.filter(|i| i.keyword == "RUN");
        runs.any(|run| {
            run.rest
                .split([' ', '\t', '=', ':', '"', '\''])
                .any(|w| w == package)
        })
    }

    /// Who the last stage begins as, where a stage below it says so.
    pub fn user_at_start(&self) -> String {
        let chain = self.chain();
        let below = &chain[..chain.len().saturating_sub(1)];
        let mut users = below.iter().flat_map(|stage| &stage.instructions);
        let last = users.rfind(|i| i.keyword == "USER");
        let user = last.map_or("", |i| i.rest.trim());
        user.split(':').next().unwrap_or_default().to_owned()
    }
}

impl Instruction {
    /// What an `ENV` sets; a value is `None` where it is computed.
    pub fn assigns(&self) -> Vec<(String, Option<String>)> {
        if self.keyword != "ENV" {
            return Vec::new();
        }
        let words = words(self.rest.trim(), self.escape);
        match words.first() {
            // The old form: one variable, then all that follows.
            Some((first, _)) if !first.contains('=') => {
                let (name, value) = self
                    .rest
                    .trim()
                    .split_once(char::is_whitespace)
                    .unwrap_or_default();
                let plain = !value.contains(['$', '"', '\'', self.escape]);
                vec![(name.to_owned(), plain.then(|| value.trim().to_owned()))]
            }
            _ => words
                .into_iter()
                .filter_map(|(word, certain)| {
                    let (name, value) = word.split_once('=')?;
                    Some((name.to_owned(), certain.then(|| value.to_owned())))
                })
                .collect(),
        }
    }
}

/// Words without their quotes, and whether they are what they seem.
fn words(rest: &str, escape: char) -> Vec<(String, bool)> {
    let mut words = Vec::new();
    let mut word: Option<(String, bool)> = None;
    let mut quote = None;
    let mut chars = rest.chars();
    while let Some(c) = chars.next() {
        if c.is_whitespace() && quote.is_none() {
            words.extend(word.take());
            continue;
        }
        let (text, certain) = word.get_or_insert((String::new(), true));
        match (c, quote) {
            (c, Some(open)) if c == open => quote = None,
            ('"' | '\'', None) => quote = Some(c),
            (c, open) if c == escape && open != Some('\'') => match chars.next() {
                Some(next) if open.is_none() || matches!(next, '"' | '$') || next == escape => {
                    text.push(next)
                }
                Some(next) => text.extend([c, next]),
                None => *certain = false,
            },
            ('$', open) if open != Some('\'') => *certain = false,
            (c, _) => text.push(c),
        }
    }
    words.extend(word.map(|(text, certain)| (text, certain && quote.is_none())));
    words
}

/// From a directive in the comments that the file begins with.
fn escape(lines: &[String]) -> char {
    let directives = lines.iter().map_while(|line| line.trim().strip_prefix('#'));
    let dense = directives.map(|line| line.replace(' ', "").to_lowercase());
    let directives = dense.take_while(|line| line.contains('='));
    let found =
        directives.filter_map(|line| line.strip_prefix("escape=").and_then(|v| v.chars().next()));
    found.last().unwrap_or('\\')
}

/// All of them, and whether the last goes on behind the end.
fn instructions(lines: &[String], escape: char) -> (Vec<Instruction>, bool) {
    let mut found = Vec::new();
    let mut unfinished = false;
    let mut at = 0;
    while at < lines.len() {
        let first = at;
        let start = lines[at].trim();
        at += 1;
        if start.is_empty() || start.starts_with('#') {
            continue;
        }
        let mut whole = String::new();
        let mut part = start;
        loop {
            let Some(continued) = part.strip_suffix(escape) else {
                whole.push_str(part);
                break;
            };
            whole.push_str(continued);
            // Comments and empty lines between continued ones are no part of them.
            let skipped = |l: &&String| l.trim().is_empty() || l.trim().starts_with('#');
            at += lines[at..].iter().take_while(skipped).count();
            let Some(next) = lines.get(at) else {
                unfinished = true;
                break;
            };
            part = next.trim_end();
            at += 1;
        }
        let (keyword, rest) = whole
            .split_once(char::is_whitespace)
            .unwrap_or((&whole, ""));
        let keyword = keyword.to_uppercase();
        if matches!(keyword.as_str(), "RUN" | "COPY" | "ADD") {
            at = behind_documents(lines, at, rest);
        }
        found.push(Instruction {
            first,
            last: at - 1,
            keyword,
            rest: rest.to_owned(),
            escape,
        });
    }
    (found, unfinished)
}

/// Behind the here-documents that an instruction announces with `<<EOF`.
fn behind_documents(lines: &[String], mut at: usize, rest: &str) -> usize {
    for (found, _) in rest.match_indices("<<") {
        let mark = rest[found + 2..]
            .trim_start_matches('-')
            .trim_start_matches(['"', '\'']);
        let word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        let name = &mark[..mark.len() - mark.trim_start_matches(word).len()];
        let ends = lines[at.min(lines.len())..]
            .iter()
            .position(|line| line.trim() == name);
        if let Some(body) = ends.filter(|_| !name.is_empty()) {
            at += body + 1;
        }
    }
    at
}
