//! Measurements of the disk.

use std::fs::{self, File};
use std::io::Write;
use std::path::Path;

use anyhow::Result;

use crate::clock::now;
use crate::latencies::Latencies;

/// Number of measured syncs.
const SYNCS: usize = 100;

/// Measures how long a sync takes after 4 KiB were appended to a file: the minimum cost of each
/// synced commit.
pub(crate) fn sync_latencies(below: &Path) -> Result<Latencies> {
    let mut file = tempfile::tempfile_in(below)?;
    let mut took = Vec::with_capacity(SYNCS);
    for _ in 0..SYNCS {
        let began = now();
        append(&mut file)?;
        took.push(began.elapsed());
    }
    Ok(Latencies::new(took))
}

fn append(file: &mut File) -> Result<()> {
    file.write_all(&[7; 4096])?;
    Ok(file.sync_data()?)
}

/// Returns the type of the file system of a directory.
pub(crate) fn file_system(directory: &Path) -> Result<String> {
    let mounts = fs::read_to_string("/proc/mounts")?;
    Ok(mounted(&mounts, &directory.canonicalize()?).unwrap_or("unknown").to_owned())
}

/// Returns the type of the longest mount point above a path. Of equally long ones, the last wins.
fn mounted<'m>(mounts: &'m str, path: &Path) -> Option<&'m str> {
    let points = mounts.lines().filter_map(|line| {
        let mut fields = line.split(' ').skip(1);
        let (point, kind) = (fields.next()?, fields.next()?);
        path.starts_with(point).then_some((point.len(), kind))
    });
    points.max_by_key(|(length, _)| *length).map(|(_, kind)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_mount_point_counts() {
        let mounts = "/dev/a / ext4 rw 0 0\ntmpfs /tmp tmpfs rw 0 0\n/dev/b /tmp/x xfs rw 0 0\n";
        for (path, kind) in [("/home", "ext4"), ("/tmp/y", "tmpfs"), ("/tmp/x/y", "xfs")] {
            assert_eq!(mounted(mounts, Path::new(path)), Some(kind), "{path}");
        }
        assert_eq!(mounted("", Path::new("/")), None);
    }
}
