//! Variables that environment files, Dockerfiles and units set alike.

use crate::{Note, Recommended, Server};

/// The variable that makes the loader load a library first.
pub const PRELOAD: &str = "LD_PRELOAD";

/// Beginnings of the names of other allocators' libraries.
const ALLOCATORS: [&str; 3] = ["libjemalloc", "libtcmalloc", "libmimalloc"];

/// A variable as it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wanted {
    pub name: String,
    value: Value,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Value {
    Is(String),
    /// This allocator's library, or none, before whatever else is preloaded.
    Preloads(String),
}

impl Wanted {
    pub fn is(name: &str, value: impl ToString) -> Wanted {
        Wanted {
            name: name.to_owned(),
            value: Value::Is(value.to_string()),
        }
    }

    /// What it should hold in the place of what it holds; `None` where nothing is to be said of it.
    pub fn over(&self, existing: Option<&str>) -> Option<String> {
        let soname = match &self.value {
            Value::Is(value) => return Some(value.clone()),
            Value::Preloads(soname) => soname,
        };
        let libraries = existing.unwrap_or_default().split([':', ' ']);
        let libraries: Vec<&str> = libraries.filter(|path| !path.is_empty()).collect();
        let file = |path: &str| path.rsplit('/').next().unwrap_or(path).to_owned();
        let allocator = |path: &&&str| ALLOCATORS.iter().any(|name| file(path).starts_with(name));
        let now: Vec<&&str> = libraries.iter().filter(allocator).collect();
        match (existing, now.as_slice()) {
            (None, _) if soname.is_empty() => None,
            // With a path it is the same library.
            (Some(existing), [one]) if file(one) == *soname => Some(existing.to_owned()),
            (Some(existing), []) if soname.is_empty() => Some(existing.to_owned()),
            _ => {
                let others = libraries.iter().filter(|path| !allocator(path)).copied();
                let all = Some(soname.as_str())
                    .filter(|s| !s.is_empty())
                    .into_iter()
                    .chain(others);
                Some(all.collect::<Vec<_>>().join(":"))
            }
        }
    }
}

/// All variables of a recommendation that can be written, in a fixed order, and a note for each that cannot.
pub fn wanted(recommended: &Recommended, notes: &mut Vec<Note>) -> Vec<Wanted> {
    let mut all = Vec::new();
    if recommended.server == Server::Puma {
        all.push(Wanted::is("RAILS_MAX_THREADS", recommended.threads));
    }
    if ![Server::Falcon, Server::Passenger].contains(&recommended.server) {
        all.push(Wanted::is("WEB_CONCURRENCY", recommended.workers));
    }
    for variable in &recommended.variables {
        let why = if variable.secret {
            "is a secret and written nowhere; set it where the others are kept"
        } else if !is_name(&variable.name) {
            "is no name that every shell takes; rename it to letters, digits and `_`"
        } else if variable.value.chars().any(char::is_control) {
            "holds a newline or another control character, which no two readers take alike; set it by hand"
        } else if all.iter().any(|other| other.name == variable.name) {
            "is set by the workers or threads themselves"
        } else {
            all.push(Wanted::is(&variable.name, &variable.value));
            continue;
        };
        notes.push(Note::new(
            &variable.name,
            format!("{} {why}.", variable.name),
        ));
    }
    if let Some(allocator) = &recommended.allocator {
        all.retain(|wanted| wanted.name != PRELOAD);
        all.push(Wanted {
            name: PRELOAD.to_owned(),
            value: Value::Preloads(allocator.soname.clone()),
        });
    }
    all
}

pub fn is_name(name: &str) -> bool {
    !name.starts_with(|c: char| c.is_ascii_digit())
        && !name.is_empty()
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a value needs no quotes in any of the formats.
pub fn is_plain(value: &str) -> bool {
    value
        .chars()
        .all(|c| c.is_ascii_alphanumeric() || "_./:,@+=-".contains(c))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_allocator_takes_the_place_of_another_and_of_nothing_else() {
        let preloads = |soname: &str| Wanted {
            name: PRELOAD.to_owned(),
            value: Value::Preloads(soname.to_owned()),
        };
        let je = preloads("libjemalloc.so.2");
        let over = |wanted: &Wanted, existing| wanted.over(existing).unwrap_or("-".to_owned());
        assert_eq!(over(&je, None), "libjemalloc.so.2");
        assert_eq!(over(&je, Some("libx.so")), "libjemalloc.so.2:libx.so");
        let same = "/usr/lib/x86_64-linux-gnu/libjemalloc.so.2 libx.so";
        assert_eq!(over(&je, Some(same)), same);
        assert_eq!(over(&je, Some("/opt/libtcmalloc.so.4")), "libjemalloc.so.2");
        let glibc = preloads("");
        assert_eq!(over(&glibc, None), "-");
        assert_eq!(over(&glibc, Some("a.so:libmimalloc.so.3")), "a.so");
        assert_eq!(over(&glibc, Some("a.so b.so")), "a.so b.so");
    }
}
