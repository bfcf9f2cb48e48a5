use super::*;

fn changed(text: &str, edit: &Edit) -> String {
    let mut text = text.to_owned();
    text.replace_range(edit.range.clone(), &edit.text);
    text
}

#[test]
fn a_word_is_replaced_with_its_quotes_and_comment_kept() {
    let text = "# ü\na: 1 # one\nb: 'x'\nc: {d: \"y\", e: 2}\nf: |\n  z\n";
    let documents = parse(text).unwrap();
    let replaced = |path: &[&str], quote| {
        let node = documents[0].at(path).unwrap();
        node.replaced(text, "new", quote)
            .map(|edit| changed(text, &edit))
    };
    assert!(replaced(&["a"], false).unwrap().contains("a: new # one"));
    assert!(replaced(&["a"], true).unwrap().contains("a: \"new\" # one"));
    assert!(replaced(&["b"], true).unwrap().contains("b: 'new'\n"));
    assert!(
        replaced(&["c", "d"], true)
            .unwrap()
            .contains("{d: \"new\", e: 2}")
    );
    assert!(replaced(&["c", "e"], false).unwrap().contains("e: new}"));
    for several in [&["c"][..], &["f"]] {
        assert!(replaced(several, false).unwrap_err().starts_with("line "));
    }
}

#[test]
fn a_pair_is_added_where_its_mapping_is() {
    let text = "list:\n  - name: a # x\n    image: b\n    deep:\n      k: v\nflow: {a: 1}\nempty: {}\nlast: 1\n";
    let documents = parse(text).unwrap();
    let root = &documents[0];
    let with = |node: &Node, key: &str, value: &str, below: &[&str]| {
        changed(text, &node.with(text, key, value, below).unwrap())
    };
    let item = &root.get("list").unwrap().items()[0];
    assert!(with(item, "n", "1", &[]).contains("a # x\n    n: 1\n    image: b\n"));
    let below = with(item, "n", "\n  m: 2", &["image"]);
    assert!(
        below.contains("image: b\n    n:\n      m: 2\n    deep:"),
        "{below}"
    );
    assert!(with(root.get("flow").unwrap(), "n", "2", &[]).contains("{n: 2, a: 1}"));
    assert!(with(root.get("empty").unwrap(), "n", "2", &[]).contains("empty: {n: 2}"));
    assert!(with(root, "n", "2", &["last"]).ends_with("last: 1\nn: 2\n"));
    assert!(
        with(
            root.get("list").unwrap().items()[0].get("deep").unwrap(),
            "n",
            "1",
            &[]
        )
        .contains("k: v\n      n: 1\n")
    );
    let nested = "a:\n  b:\n    c: 1\n";
    let a = &parse(nested).unwrap()[0];
    assert_eq!(with_in(nested, a), "n: 1\na:\n  b:\n    c: 1\n");
    let item = "- b:\n    c: 1\n";
    assert!(
        parse(item).unwrap()[0].items()[0]
            .with(item, "n", "1", &[])
            .is_err()
    );
}

fn with_in(text: &str, node: &Node) -> String {
    changed(text, &node.with(text, "n", "1", &[]).unwrap())
}

#[test]
fn a_pair_is_not_put_into_text_of_several_lines() {
    let text = "G: 'hello\n  world'\nH: hello\n  world\nlast: 1\n";
    let root = &parse(text).unwrap()[0];
    assert_eq!(with_in(text, root), format!("{text}n: 1\n"));
}

#[test]
fn what_an_anchor_shares_stays() {
    let text = "a: &w \"4\"\nb: &m\n  c: {d: 1}\ne: &l\n  - f: 1\ng: *w\nh: 1\n";
    let root = &parse(text).unwrap()[0];
    let at = |path: &[&str]| root.at(path).unwrap();
    for refused in [
        at(&["a"]).replaced(text, "2", true),
        at(&["b", "c", "d"]).replaced(text, "2", true),
        at(&["b"]).with(text, "n", "1", &[]),
        at(&["b", "c"]).with(text, "n", "1", &[]),
        at(&["e"]).with_item(text, &[("f", "2".to_owned())]),
        at(&["e"]).items()[0].with(text, "n", "1", &[]),
    ] {
        let why = refused.unwrap_err();
        assert!(
            why.ends_with("has an anchor, which others may use"),
            "{why}"
        );
    }
    assert!(at(&["h"]).replaced(text, "2", true).is_ok());
    assert!(root.with(text, "n", "1", &[]).is_ok());
}

#[test]
fn a_new_mapping_does_not_replace_a_merged_one_nor_stand_in_braces() {
    let text = "b: &b {x: 1}\na: {<<: *b, c: 1}\nd:\n  <<: *b\n  e: 1\nf: {g: 1}\n";
    let root = &parse(text).unwrap()[0];
    let why = |name: &str, value: &str| {
        let refused = root.get(name).unwrap().with(text, "n", value, &[]);
        refused.map(|edit| changed(text, &edit)).unwrap_err()
    };
    assert_eq!(why("a", "{m: 1}"), "line 2 merges another mapping");
    assert_eq!(why("d", "\n  m: 1"), "line 4 merges another mapping");
    assert_eq!(why("f", "\n  m: 1"), "line 6 holds its mapping in braces");
    assert!(with_in(text, root.get("d").unwrap()).contains("n: 1\n"));
}

#[test]
fn edits_without_end_are_an_error() {
    let endless = |_: &str, _: &[Node]| {
        Ok(Some(Edit {
            range: 0..1,
            text: "a".to_owned(),
        }))
    };
    assert!(edited("a: 1\n", endless).unwrap_err().contains("edits"));
}

#[test]
fn an_item_is_added_before_the_first() {
    let item = [("name", "A".to_owned()), ("value", quoted("1"))];
    for (text, expected) in [
        (
            "e:\n  # of x\n  - name: B\n",
            "e:\n  # of x\n  - name: A\n    value: \"1\"\n  - name: B\n",
        ),
        ("e: []\n", "e: [{name: A, value: \"1\"}]\n"),
        (
            "e: [{name: B}]\n",
            "e: [{name: A, value: \"1\"}, {name: B}]\n",
        ),
    ] {
        let list = &parse(text).unwrap()[0];
        let edit = list.get("e").unwrap().with_item(text, &item).unwrap();
        assert_eq!(changed(text, &edit), expected);
    }
}

#[test]
fn what_is_no_yaml_says_so() {
    assert!(
        parse("a: {{ .Values.x }}: y\n")
            .unwrap_err()
            .contains("template")
    );
    assert!(parse("a: [1\n").unwrap_err().contains("no YAML"));
    assert_eq!(parse("a: 1\n---\nb: 2\n").unwrap().len(), 2);
}
