//! The mounts of this process, as the kernel lists them.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};

use nix::mount::MsFlags;

/// The paths of mounts, each with the flags that a namespace may not remove. Of several mounts at
/// the same path, the last counts.
#[derive(Debug, Default)]
pub(super) struct MountTable(BTreeMap<PathBuf, MsFlags>);

impl MountTable {
    pub(super) fn of_this_process() -> io::Result<Self> {
        fs::read("/proc/self/mountinfo").map(|text| Self::parse_mountinfo(&text))
    }

    /// Parses proc_pid_mountinfo(5): the fifth field is the path, the sixth has the options.
    fn parse_mountinfo(text: &[u8]) -> Self {
        let lines = text.split(|byte| *byte == b'\n');
        Self(
            lines
                .filter_map(|line| {
                    let mut fields = line.split(|byte| *byte == b' ').skip(4);
                    let place = unescape_field(fields.next()?);
                    let options = fields.next()?.split(|byte| *byte == b',');
                    Some((place, options.map(flag_of_option).collect()))
                })
                .collect(),
        )
    }

    /// Returns the mounts below a path, without the one at the path itself.
    pub(super) fn mounts_below<'a>(
        &'a self,
        path: &'a Path,
    ) -> impl Iterator<Item = (&'a Path, MsFlags)> {
        let below = move |place: &Path| place != path && place.starts_with(path);
        self.0
            .iter()
            .map(|(place, flags)| (place.as_path(), *flags))
            .filter(move |(place, _)| below(place))
    }
}

fn flag_of_option(option: &[u8]) -> MsFlags {
    match option {
        b"ro" => MsFlags::MS_RDONLY,
        b"noexec" => MsFlags::MS_NOEXEC,
        b"noatime" => MsFlags::MS_NOATIME,
        b"nodiratime" => MsFlags::MS_NODIRATIME,
        b"relatime" => MsFlags::MS_RELATIME,
        _ => MsFlags::empty(),
    }
}

/// Decodes a field: a backslash and three octal digits stand for a space and the like.
pub(super) fn unescape_field(field: &[u8]) -> PathBuf {
    let mut bytes = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((first, behind)) = rest.split_first() {
        let digits = behind.get(..3).filter(|_| *first == b'\\');
        let byte = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        let byte = byte.and_then(|digits| u8::from_str_radix(digits, 8).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { &behind[3..] } else { behind };
    }
    OsString::from_vec(bytes).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_lists_the_mounts_with_their_flags() {
        let text = b"22 1 0:21 / / rw,relatime - ext4 /dev/sda rw\n\
            23 22 0:22 / /srv/a\\040b rw,nosuid,noexec,noatime shared:1 - tmpfs none rw\n\
            24 22 0:23 / /srv ro - tmpfs none rw\n\
            25 22 0:24 / /srv/a\\040b ro,relatime - tmpfs none rw\n\
            26 22 0:25 / /srvx rw - tmpfs none rw\n";
        let mounts = MountTable::parse_mountinfo(text);
        let below: Vec<_> = mounts.mounts_below(Path::new("/srv")).collect();
        let flags = MsFlags::MS_RDONLY | MsFlags::MS_RELATIME;
        assert_eq!(below, [(Path::new("/srv/a b"), flags)]);
        assert_eq!(mounts.mounts_below(Path::new("/")).count(), 3);
        assert_eq!(mounts.mounts_below(Path::new("/srv/a b")).count(), 0);
    }
}
