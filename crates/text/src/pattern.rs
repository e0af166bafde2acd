//! Patterns for names in the configuration.

/// Returns `true` if a name matches a pattern in which `*` stands for zero or more characters.
#[must_use]
pub fn fits_pattern(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut parts = rest.split('*').peekable();
    while let Some(part) = parts.next() {
        if parts.peek().is_none() {
            return name.ends_with(part);
        }
        // The first match is as good as any later one, because a star follows.
        let Some(at) = name.find(part) else { return false };
        name = &name[at + part.len()..];
    }
    true
}

/// The rank of a pattern among those that match the same name. An exact name ranks above all
/// patterns; a pattern ranks by its number of characters, without the stars.
#[must_use]
pub fn specificity(pattern: &str) -> (bool, usize) {
    (!pattern.contains('*'), pattern.chars().filter(|c| *c != '*').count())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fits_accepts_any_characters_for_a_star() {
        let fitting = [
            ("a/b", "a/b"),
            ("*", ""),
            ("*", "anything"),
            ("a*", "a"),
            ("a*", "abc"),
            ("*c", "abc"),
            ("a*c", "abc"),
            ("*b*", "abc"),
            ("a**c", "abc"),
            ("a*b*b", "abbb"),
            ("é*", "éa"),
        ];
        for (pattern, name) in fitting {
            assert!(fits_pattern(pattern, name), "{pattern} {name}");
        }
        let others = [
            ("", "a"),
            ("a", "ab"),
            ("a*", "ba"),
            ("*a", "ab"),
            ("ab*ba", "aba"),
            ("a*b*c", "acb"),
        ];
        for (pattern, name) in others {
            assert!(!fits_pattern(pattern, name), "{pattern} {name}");
        }
    }

    #[test]
    fn specificity_orders_names_above_patterns_and_long_patterns_above_short_ones() {
        let sorted = ["*", "gpt*", "gpt-5*", "gpt-5-*", "gpt"];
        assert!(sorted.is_sorted_by_key(|pattern| specificity(pattern)));
    }
}
