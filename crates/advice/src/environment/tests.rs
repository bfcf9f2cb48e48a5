use super::*;

const KNOBS: Knobs = Knobs {
    workers: 2,
    threads: 5,
    preload: true,
};

#[test]
fn lines_are_replaced_where_they_stand_and_added_where_they_do_not() {
    let change = environment_file(".env", "A=1\nexport RAILS_MAX_THREADS=3\n", KNOBS);
    assert_eq!(
        change.text,
        "A=1\nexport RAILS_MAX_THREADS=5\nWEB_CONCURRENCY=2\n"
    );
    assert!(
        change
            .diff
            .contains("-export RAILS_MAX_THREADS=3\n+export RAILS_MAX_THREADS=5\n"),
        "{}",
        change.diff
    );
}

#[test]
fn what_is_right_already_makes_no_diff() {
    for text in [
        "RAILS_MAX_THREADS=5\nWEB_CONCURRENCY=2\n",
        "RAILS_MAX_THREADS='5' # five\r\nWEB_CONCURRENCY=\"2\"",
    ] {
        let change = environment_file(".env", text, KNOBS);
        assert_eq!((change.diff.as_str(), change.text.as_str()), ("", text));
    }
}

#[test]
fn the_diff_shows_no_line_but_ours() {
    let ours = |line: &str| line.contains("RAILS_MAX_THREADS") || line.contains("WEB_CONCURRENCY");
    for before in [
        "STRIPE=sk_live_1\nAWS=secret\n",
        "STRIPE=sk_live_1\nAWS=secret",
        "STRIPE=sk_live_1\r\nRAILS_MAX_THREADS=3\r\nAWS=secret\r\n",
        "A=secret\nWEB_CONCURRENCY=9\nB=secret\nRAILS_MAX_THREADS=3\nC=secret",
        "A=secret\n\n\nRAILS_MAX_THREADS=3\nRAILS_MAX_THREADS=5\nA=secret\n",
    ] {
        let change = environment_file(".env", before, KNOBS);
        let shown: Vec<&str> = change
            .diff
            .lines()
            .filter(|l| !["---", "+++", "@@ "].iter().any(|head| l.starts_with(head)))
            .collect();
        assert!(!shown.is_empty(), "{before:?}");
        assert!(shown.iter().all(|l| ours(l)), "{before:?}: {}", change.diff);
        assert!(change.text.contains("secret"), "{before:?}");
    }
}

#[test]
fn a_comment_on_our_line_stays() {
    let change = environment_file(
        ".env",
        "WEB_CONCURRENCY=2\nRAILS_MAX_THREADS='3 # x' # was 5\n",
        KNOBS,
    );
    assert_eq!(
        change.text,
        "WEB_CONCURRENCY=2\nRAILS_MAX_THREADS=5 # was 5\n"
    );
}

#[test]
fn what_stands_inside_another_value_is_no_variable() {
    let before = "KEY=\"-----BEGIN\nRAILS_MAX_THREADS=3\n-----END\"\nWEB_CONCURRENCY=2\n";
    let change = environment_file(".env", before, KNOBS);
    assert_eq!(change.text, format!("{before}RAILS_MAX_THREADS=5\n"));
}

#[test]
fn a_file_with_two_characters_at_its_lines_ends_keeps_them() {
    let change = environment_file(".env", "A=1\r\nRAILS_MAX_THREADS=3\r\n", KNOBS);
    assert_eq!(
        change.text,
        "A=1\r\nRAILS_MAX_THREADS=5\r\nWEB_CONCURRENCY=2\r\n"
    );
}

#[test]
fn values_are_quoted_where_they_must_be() {
    let write = |value: &str| {
        let mut notes = Vec::new();
        let change = write(".env", "", &[Wanted::is("X", value)], &mut notes);
        (change.text, notes.len())
    };
    for (value, text) in [
        ("1.5", "X=1.5\n"),
        (
            "narenas:2,background_thread:true",
            "X=narenas:2,background_thread:true\n",
        ),
        ("a b # $HOME \"c\" 5%", "X='a b # $HOME \"c\" 5%'\n"),
        ("it's $5", "X=\"it's \\$5\"\n"),
        ("", "X=\n"),
    ] {
        assert_eq!(write(value), (text.to_owned(), 0));
    }
    assert_eq!(write("it's \\n"), (String::new(), 1));
}

#[test]
fn credentials_in_what_goes_away_are_not_shown() {
    let mut notes = Vec::new();
    let wanted = [Wanted::is("CACHE", "memory")];
    let change = write(
        ".env",
        "CACHE=redis://me:hunter2@h/1\n",
        &wanted,
        &mut notes,
    );
    assert!(!change.diff.contains("hunter2"), "{}", change.diff);
    assert!(
        change.diff.contains("-CACHE=[not shown]\n+CACHE=memory\n"),
        "{}",
        change.diff
    );
}
