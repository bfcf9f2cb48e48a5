//! Header field names as applications read them: CGI, Rack and WSGI make a
//! variable of each name, so that two names can become one variable.

/// The field that marks a request as a shadow's copy; its value is the shadow's name.
pub const SHADOW_MARK: &str = "X-Powerband-Shadow";

/// Whether an application can read a field called `name` as the field `known`: case is folded everywhere, `-` and `_`
/// by CGI, Rack and WSGI, every other byte that is neither letter nor digit by some servers (lighttpd, older Apache).
#[must_use]
pub fn reads_as(name: &[u8], known: &str) -> bool {
    let fold = |byte: &u8| match byte {
        byte if byte.is_ascii_alphanumeric() => byte.to_ascii_lowercase(),
        _ => b'_',
    };
    name.len() == known.len() && name.iter().map(fold).eq(known.as_bytes().iter().map(fold))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_become_one_variable_read_alike() {
        for (name, known, alike) in [
            ("X-Powerband-Shadow", SHADOW_MARK, true),
            ("x_POWERBAND_shadow", SHADOW_MARK, true),
            ("X_Powerband-Shadow", SHADOW_MARK, true),
            ("X.Powerband+Shadow", SHADOW_MARK, true),
            ("XPowerbandShadow", SHADOW_MARK, false),
            ("X-Powerband-Shadow-", SHADOW_MARK, false),
            ("X-Powerband-Shadow2", SHADOW_MARK, false),
            ("content_length", "Content-Length", true),
            ("Content0Length", "Content-Length", false),
            ("HOST", "Host", true),
            ("", "", true),
        ] {
            assert_eq!(reads_as(name.as_bytes(), known), alike, "{name}");
        }
    }
}
