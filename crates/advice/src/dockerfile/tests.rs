use super::*;

/// What Rails generates, shortened.
const RAILS: &str = r#"# syntax=docker/dockerfile:1
ARG RUBY_VERSION=3.3.8
FROM docker.io/library/ruby:$RUBY_VERSION-slim AS base
WORKDIR /rails

# Install base packages
RUN apt-get update -qq && \
    apt-get install --no-install-recommends -y curl libvips sqlite3 && \
    rm -rf /var/lib/apt/lists /var/cache/apt/archives
ENV RAILS_ENV="production" \
    BUNDLE_DEPLOYMENT="1" \
    WEB_CONCURRENCY="2"

FROM base AS build
RUN bundle install
ENV MALLOC_ARENA_MAX=9

FROM base
COPY --from=build /rails /rails
RUN useradd rails --uid 1000
USER 1000:1000

# Entrypoint prepares the database.
ENTRYPOINT ["/rails/bin/docker-entrypoint"]

EXPOSE 80
CMD ["./bin/rails", "server"]
"#;

fn jemalloc() -> AllocatorLibrary {
    AllocatorLibrary {
        name: "jemalloc".to_owned(),
        soname: "libjemalloc.so.2".to_owned(),
        package: "libjemalloc2".to_owned(),
    }
}

fn preload(soname: &str) -> Wanted {
    let mut recommended = crate::Recommended::of(crate::Server::Passenger, 1, 1, false);
    recommended.allocator = Some(AllocatorLibrary {
        soname: soname.to_owned(),
        ..jemalloc()
    });
    crate::variable::wanted(&recommended, &mut Vec::new()).remove(0)
}

fn with(
    before: &str,
    wanted: &[Wanted],
    allocator: Option<&AllocatorLibrary>,
) -> (Change, Vec<Note>) {
    let mut notes = Vec::new();
    let change = write("Dockerfile", before, wanted, allocator, &mut notes);
    let again = write(
        "Dockerfile",
        &change.text,
        wanted,
        allocator,
        &mut Vec::new(),
    );
    assert_eq!(again.diff, "");
    (change, notes)
}

#[test]
fn lines_come_before_what_starts_the_server() {
    let wanted = [
        Wanted::is("WEB_CONCURRENCY", 4),
        Wanted::is("RAILS_ENV", "production"),
        Wanted::is("MALLOC_ARENA_MAX", 2),
    ];
    let (change, notes) = with(RAILS, &wanted, None);
    let added = "ENV WEB_CONCURRENCY=4\nENV MALLOC_ARENA_MAX=2\n# Entrypoint";
    assert_eq!(change.text, RAILS.replace("# Entrypoint", added));
    assert!(notes.is_empty(), "{notes:?}");
    assert!(!change.diff.contains("BUNDLE"), "{}", change.diff);
}

#[test]
fn an_allocator_is_installed_while_that_is_allowed_and_preloaded_without_a_path() {
    let (change, notes) = with(RAILS, &[preload("libjemalloc.so.2")], Some(&jemalloc()));
    assert_eq!(
        change.diff,
        "--- a/Dockerfile
+++ b/Dockerfile
@@ -20,0 +21 @@
+RUN apt-get update -qq && apt-get install --no-install-recommends -y libjemalloc2 && rm -rf /var/lib/apt/lists/*
@@ -22,0 +24,2 @@
+# The loader finds the library by this name on any architecture.
+ENV LD_PRELOAD=libjemalloc.so.2
"
    );
    assert!(notes.is_empty(), "{notes:?}");
    let there = RAILS.replace("libvips", "libjemalloc2 libvips");
    let (change, _) = with(&there, &[preload("libjemalloc.so.2")], Some(&jemalloc()));
    assert!(!change.diff.contains("RUN"), "{}", change.diff);
}

#[test]
fn where_it_cannot_be_installed_it_is_left_to_a_person() {
    for before in [
        "FROM ruby:3.3-alpine\nCMD puma\n",
        "FROM ruby AS base\nUSER app\nFROM base\nCMD puma\n",
    ] {
        let (change, notes) = with(before, &[preload("libjemalloc.so.2")], Some(&jemalloc()));
        assert_eq!((change.diff.as_str(), notes.len()), ("", 1), "{before}");
    }
    let (change, _) = with("FROM ruby\nCMD puma\n", &[preload("")], None);
    assert_eq!(change.diff, "");
}

#[test]
fn a_line_of_its_own_is_changed_and_one_with_neighbours_is_not() {
    let before = "FROM ruby\r\nENV A=1\r\nENV B 2\r\nCMD puma\r\nENV C=3 KEY=secret\r\n";
    let wanted = ["A", "B", "C"].map(|name| Wanted::is(name, "x y"));
    let (change, _) = with(before, &wanted, None);
    assert_eq!(
        change.text,
        "FROM ruby\r\nENV A=\"x y\"\r\nENV B=\"x y\"\r\nCMD puma\r\nENV C=3 KEY=secret\r\nENV C=\"x y\"\r\n"
    );
    assert!(!change.diff.contains("secret"), "{}", change.diff);
}

#[test]
fn what_is_no_instruction_is_not_read_as_one() {
    let before = "FROM ruby\nRUN <<EOF\nENV A=1\nCMD x\nEOF\nRUN echo \\\n# ENV A=1\n\n  ENV A=1\n";
    let (change, _) = with(before, &[Wanted::is("A", 1)], None);
    assert_eq!(change.text, format!("{before}ENV A=1\n"));
    for before in ["ARG A=1\n", "FROM ruby\nRUN x \\\n# y\n"] {
        let (change, notes) = with(before, &[Wanted::is("A", 1)], None);
        assert_eq!((change.diff.as_str(), notes.len()), ("", 1));
    }
}

#[test]
fn values_come_back_as_they_were() {
    for value in ["a b", "$HOME", "\"q\"", "it's", "a\\b\\", "#", "", "50%"] {
        for before in ["FROM ruby\n", "# escape=`\nFROM ruby\n"] {
            let (change, _) = with(before, &[Wanted::is("A", value)], None);
            let lines = Text::of(&change.text).lines;
            let read = Dockerfile::of(&lines).effective("A");
            assert_eq!(read, Some(Some(value.to_owned())), "{}", change.text);
        }
    }
}
