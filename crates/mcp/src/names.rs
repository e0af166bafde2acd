//! The names of a server's tools in the registry.

use crate::digest::digest_bytes;

/// The longest name of a tool that all providers accept.
const LONGEST: usize = 64;
/// The separator between server and tool.
pub(crate) const SEPARATOR: &str = "__";
/// Characters of the digest that makes a shortened name unique.
const DIGEST: usize = 6;

/// Returns the name of a tool in the registry: `SERVER__TOOL` in the characters that all providers
/// accept. A name that is too long ends in a digest.
pub(crate) fn registry_name(server: &str, tool: &str) -> String {
    let name = format!("{server}{SEPARATOR}{}", plain_name(tool));
    if name.len() <= LONGEST {
        return name;
    }
    format!("{}_{}", &name[..LONGEST - DIGEST - 1], &digest_bytes(tool.as_bytes())[..DIGEST])
}

/// Returns the name of a tool in the characters that all providers accept. Names without such a letter
/// or digit, such as those in Chinese, differ by a digest.
pub(crate) fn plain_name(tool: &str) -> String {
    if !tool.contains(|c: char| c.is_ascii_alphanumeric()) {
        return format!("tool_{}", &digest_bytes(tool.as_bytes())[..DIGEST]);
    }
    let is_allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    tool.chars().map(|c| if is_allowed(c) { c } else { '_' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registry_name_has_at_most_64_plain_characters() {
        assert_eq!(registry_name("files", "read.file/ä"), "files__read_file__");
        let names = ["天气", "地图", "..", ""].map(|name| registry_name("city", name));
        assert!(
            names.iter().all(|name| name.len() == 17 && name.starts_with("city__tool_")),
            "{names:?}"
        );
        let mut different = names.to_vec();
        different.sort();
        different.dedup();
        assert_eq!(different.len(), 4);
        let (one, other) = ("a".repeat(70), format!("{}b", "a".repeat(69)));
        let names = [registry_name("files", &one), registry_name("files", &other)];
        assert_eq!(names.each_ref().map(String::len), [64, 64]);
        assert_ne!(names[0], names[1]);
    }
}
