//! As much HTML as a form's fields and a page's `<meta>` need: start tags,
//! their attributes, and the entities in these.

/// The value of the first `<input>` of this name.
pub(crate) fn input_value(page: &str, name: &str) -> Option<String> {
    attribute_of(page, "input", name, "value")
}

/// The content of the first `<meta>` of this name.
pub(crate) fn meta_content(page: &str, name: &str) -> Option<String> {
    attribute_of(page, "meta", name, "content")
}

fn attribute_of(page: &str, tag: &str, name: &str, wanted: &str) -> Option<String> {
    let mut rest = page;
    loop {
        rest = &rest[rest.find('<')? + 1..];
        if let Some(comment) = rest.strip_prefix("!--") {
            rest = &comment[comment.find("-->")? + 3..];
            continue;
        }
        let is_tag = rest
            .get(..tag.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(tag))
            && rest[tag.len()..]
                .starts_with(|c: char| c.is_ascii_whitespace() || matches!(c, '/' | '>'));
        if !is_tag {
            continue;
        }
        let (attributes, after) = attributes(&rest[tag.len()..]);
        let value = |name: &str| {
            attributes
                .iter()
                .find(|(found, _)| found.eq_ignore_ascii_case(name))
                .map(|(_, value)| decoded(value))
        };
        if value("name").as_deref() == Some(name)
            && let Some(value) = value(wanted)
        {
            return Some(value);
        }
        rest = after;
    }
}

/// The attributes of a start tag, undecoded, and what follows its `>`.
fn attributes(mut rest: &str) -> (Vec<(&str, &str)>, &str) {
    let mut found = Vec::new();
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() {
            return (found, rest);
        }
        if let Some(after) = rest.strip_prefix('>') {
            return (found, after);
        }
        // A name may begin with `=`, which is an error that browsers forgive.
        let name_end = rest
            .char_indices()
            .skip(1)
            .find(|(_, c)| c.is_ascii_whitespace() || matches!(c, '=' | '/' | '>'))
            .map_or(rest.len(), |(at, _)| at);
        let (name, after) = rest.split_at(name_end);
        rest = after.trim_start();
        let Some(after) = rest.strip_prefix('=') else {
            found.push((name, ""));
            continue;
        };
        let after = after.trim_start();
        let quote = after.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quote {
            Some(quote) => after[1..].split_once(quote).unwrap_or((&after[1..], "")),
            None => after.split_at(
                after
                    .find(|c: char| c.is_ascii_whitespace() || c == '>')
                    .unwrap_or(after.len()),
            ),
        };
        found.push((name, value));
        rest = after;
    }
}

/// The longest entity from behind its `&`, with room for leading zeros. Where the
/// end were sought further, a page of nothing but `&` would take hours.
const LONGEST_ENTITY: usize = 16;

/// The text that entities stand for; unknown entities stay.
fn decoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let entity = rest[1..]
            .bytes()
            .take(LONGEST_ENTITY)
            .position(|byte| byte == b';')
            .and_then(|end| Some((character(&rest[1..=end])?, end + 2)));
        let (character, length) = entity.unwrap_or(('&', 1));
        out.push(character);
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

fn character(entity: &str) -> Option<char> {
    match entity {
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "nbsp" => Some('\u{a0}'),
        _ => {
            let number = entity.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(hex) => u32::from_str_radix(hex, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn rails_puts_its_token_into_forms_and_meta() {
        let page = r#"<!DOCTYPE html><head><meta charset="utf-8" />
            <META NAME='csrf-param' content="authenticity_token">
            <meta name="csrf-token" content="a+/b==" /></head>
            <!-- <input name="authenticity_token" value="in a comment"> -->
            <form><input type="hidden" name="utf8" value="&#x2713;" autocomplete="off">
            <input type=hidden name=authenticity_token value="c&amp;d&#39;&quot;&#x2F;&eacute;&"/>
            <input name="authenticity_token" value="second"><inputs name="x" value="y">
            <input disabled name="user[name]" value=></form>"#;
        assert_eq!(meta_content(page, "csrf-token").unwrap(), "a+/b==");
        assert_eq!(
            meta_content(page, "csrf-param").unwrap(),
            "authenticity_token"
        );
        assert_eq!(
            input_value(page, "authenticity_token").unwrap(),
            "c&d'\"/&eacute;&"
        );
        assert_eq!(input_value(page, "utf8").unwrap(), "\u{2713}");
        assert_eq!(input_value(page, "user[name]").unwrap(), "");
        assert_eq!(input_value(page, "x"), None);
        assert_eq!(meta_content(page, "viewport"), None);
    }

    #[test]
    fn the_end_of_an_entity_is_sought_in_its_reach_only() {
        let page = "<input name=t value='&#x000002713;é&#x00000000000002713;&é'>";
        let found = input_value(page, "t").unwrap();
        assert_eq!(found, "\u{2713}é&#x00000000000002713;&é");
    }

    proptest! {
        #[test]
        fn no_page_is_too_broken_to_read(page in "[<>=\"'&;#x a/!é-]{0,80}") {
            input_value(&page, "a");
            let _ = input_value(&format!("<input {page}"), "a");
        }

        #[test]
        fn a_value_that_was_escaped_comes_back(value in "\\PC{0,20}") {
            let escaped: String = value.chars().map(|c| format!("&#x{:x};", c as u32)).collect();
            let page = format!("<p><input value='{escaped}' name=t>");
            prop_assert_eq!(input_value(&page, "t"), Some(value));
        }
    }
}
