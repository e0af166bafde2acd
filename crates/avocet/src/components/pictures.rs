//! Converts pictures that models do not accept, with a program of this machine.
//!
//! Decoders of pictures have had many holes, and the pictures come from strangers. So the daemon
//! decodes nothing. A program in the sandbox reads the picture from a directory of its own, without
//! network and with small limits, and prints the result.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use async_trait::async_trait;
use avocet_protocol::model::{ConvertPicture, PictureFormat};
use avocet_sandbox::{
    ProgramEnd, ProgramRequest, ProgramRights, ProgramSandbox, ReachedHosts, SandboxLimits,
};
use avocet_supervise::run_blocking;
use avocet_text::plain_io;
use parking_lot::Mutex;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;

/// The time for one picture.
const LIMIT: Duration = Duration::from_secs(30);
/// The largest result, in bytes: the largest picture that a model is shown.
const MAX_RESULT: usize = 5 * 1024 * 1024;
/// The exit code of the script if this machine has no converter.
const NO_CONVERTER: i32 = 3;
/// Tries the converters of this machine, and prints the first result. Photographs are most of these
/// pictures, so the result is a JPEG. `$1` is the picture.
const SCRIPT: &str = r#"missing=1
try() {
    command -v "$1" >/dev/null 2>&1 || return 1
    missing=0
    "$@" >/dev/null 2>&1 </dev/null && [ -s out.jpg ]
}
look='-auto-orient -background white -flatten -resize 2048x2048> -quality 90'
set -f
if try magick "$1[0]" $look jpg:out.jpg ||
    try convert "$1[0]" $look jpg:out.jpg ||
    try gm convert "$1[0]" $look jpg:out.jpg ||
    try heif-dec -q 90 "$1" out.jpg ||
    try heif-convert -q 90 "$1" out.jpg ||
    try ffmpeg -y -i "$1" -frames:v 1 -vf "scale='min(2048,iw)':-2" out.jpg ||
    try sips -s format jpeg "$1" --out out.jpg
then
    exec cat out.jpg
fi
[ "$missing" = 1 ] && exit 3
exit 4
"#;

/// Converts one picture at a time.
#[derive(Debug)]
pub(crate) struct PictureConverter {
    sandbox: ProgramSandbox,
    /// Has a directory for each picture.
    directory: PathBuf,
    turn: Semaphore,
}

impl PictureConverter {
    /// Uses a sandbox with at least one layer, in which it opens directories below `directory`.
    pub(crate) fn new(sandbox: &ProgramSandbox, directory: PathBuf) -> Self {
        const MEGABYTE: u64 = 1024 * 1024;
        let limits = SandboxLimits {
            processes: sandbox.limits.processes.min(64),
            memory_bytes: sandbox.limits.memory_bytes.min(1024 * MEGABYTE),
            disk_bytes: sandbox.limits.disk_bytes.min(512 * MEGABYTE),
            file_bytes: 256 * MEGABYTE,
            open_files: 256,
            cpu_seconds: LIMIT.as_secs(),
        };
        let sandbox = ProgramSandbox {
            writable: Vec::new(),
            readable: Vec::new(),
            proxy: None,
            limits,
            ..sandbox.clone()
        };
        Self { sandbox, directory, turn: Semaphore::new(1) }
    }

    async fn run_script(&self, directory: &Path, picture: &str) -> Result<Vec<u8>, String> {
        let sandbox =
            ProgramSandbox { writable: vec![directory.to_owned()], ..self.sandbox.clone() };
        let program = ["sh", "-c", SCRIPT, "convert-picture", picture];
        let request = ProgramRequest {
            program: program.map(str::to_owned).into(),
            directory: directory.to_owned(),
            limit: LIMIT,
            output: 0,
            cancel: CancellationToken::new(),
            reached: ReachedHosts::default(),
            rights: ProgramRights::default(),
        };
        let printed = Mutex::new(Vec::new());
        let keep = |bytes: &[u8]| {
            let mut printed = printed.lock();
            let room = (MAX_RESULT + 1).saturating_sub(printed.len());
            printed.extend_from_slice(&bytes[..bytes.len().min(room)]);
        };
        let result = sandbox.run_with_output(request, keep).await;
        let printed = printed.into_inner();
        match result.map_err(|error| error.to_string())?.ended {
            ProgramEnd::Code(0) if printed.len() > MAX_RESULT => {
                Err(format!("the result is larger than {MAX_RESULT} bytes"))
            }
            ProgramEnd::Code(0) => match PictureFormat::recognise(&printed) {
                Some(format) if format.is_shown => Ok(printed),
                _ => Err("the converter printed no picture".to_owned()),
            },
            ProgramEnd::Code(NO_CONVERTER) => Err("this machine has no converter of pictures; \
                install ImageMagick, libheif or FFmpeg"
                .to_owned()),
            ProgramEnd::Code(_) => Err("no converter of this machine reads it".to_owned()),
            ProgramEnd::Signal(signal) => Err(format!("the signal {signal} killed the converter")),
            ProgramEnd::TimedOut | ProgramEnd::Cancelled => {
                Err(format!("the converter ran longer than {} s", LIMIT.as_secs()))
            }
        }
    }
}

#[async_trait]
impl ConvertPicture for PictureConverter {
    async fn convert_picture(
        &self,
        format: &PictureFormat,
        bytes: &[u8],
    ) -> Result<Vec<u8>, String> {
        // The semaphore always stays open.
        let _turn = self.turn.acquire().await.ok();
        let ending = format.endings.first().copied().unwrap_or("bin");
        let (name, bytes) = (format!("picture.{ending}"), bytes.to_owned());
        let directory = PictureDirectory(self.directory.join(uuid::Uuid::new_v4().to_string()));
        let (place, file) = (directory.0.clone(), directory.0.join(&name));
        let written = run_blocking(move || write(&place, &file, &bytes)).await;
        let written =
            written.unwrap_or_else(|panicked| Err(io::Error::other(panicked.to_string())));
        written.map_err(|error| plain_io(&error))?;
        self.run_script(&directory.0, &name).await
    }
}

/// The directory of a picture, which is removed at the end.
struct PictureDirectory(PathBuf);

impl Drop for PictureDirectory {
    fn drop(&mut self) {
        if let Err(error) = fs::remove_dir_all(&self.0) {
            tracing::debug!(%error, "cannot remove the directory of a converted picture");
        }
    }
}

fn write(directory: &Path, file: &Path, bytes: &[u8]) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    fs::write(file, bytes)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::process::Command;

    use tempfile::TempDir;

    use super::*;

    /// Runs the script where these programs are installed. Returns its exit code and its output.
    fn run(programs: &[(&str, &str)]) -> (Option<i32>, String) {
        let (bin, place) = (TempDir::new().unwrap(), TempDir::new().unwrap());
        symlink("/bin/cat", bin.path().join("cat")).unwrap();
        for (name, body) in programs {
            let file = bin.path().join(name);
            fs::write(&file, format!("#!/bin/sh\necho noise; echo noise >&2\n{body}\n")).unwrap();
            fs::set_permissions(&file, fs::Permissions::from_mode(0o700)).unwrap();
        }
        let mut script = Command::new("/bin/sh");
        script.args(["-c", SCRIPT, "convert-picture", "picture.heic"]);
        script.current_dir(place.path()).env_clear().env("PATH", bin.path());
        let output = script.output().unwrap();
        (output.status.code(), String::from_utf8(output.stdout).unwrap())
    }

    #[test]
    fn script_prints_the_result_of_the_first_converter_that_reads_the_picture() {
        let writes = |name: &str| format!("printf {name} > out.jpg");
        let shows_arguments = "printf '%s|' \"$@\" > out.jpg";
        let (magick, heif) = (writes("magick"), writes("heif"));
        let table = [
            (vec![("magick", magick.as_str()), ("ffmpeg", "exit 1")], (0, "magick")),
            (vec![("magick", "exit 1"), ("heif-convert", &heif)], (0, "heif")),
            // Some programs end well without a result.
            (vec![("magick", "exit 0"), ("heif-dec", &heif)], (0, "heif")),
            (
                vec![("convert", shows_arguments)],
                (
                    0,
                    "picture.heic[0]|-auto-orient|-background|white|-flatten|-resize|2048x2048>|\
                     -quality|90|jpg:out.jpg|",
                ),
            ),
            (vec![("ffmpeg", "exit 1")], (4, "")),
            (vec![], (NO_CONVERTER, "")),
        ];
        for (programs, (code, printed)) in table {
            assert_eq!(run(&programs), (Some(code), printed.to_owned()), "{programs:?}");
        }
    }
}
