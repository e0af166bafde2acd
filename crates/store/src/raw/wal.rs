//! The `-wal`: frames, each with a newer version of a page ("The WAL File Format").

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::unix::fs::FileExt;
use std::path::Path;

use super::be_u32;

const HEADER: usize = 32;
const FRAME_HEADER: usize = 24;
/// The magic number; its last bit gives the byte order of checksums.
const MAGIC: u32 = 0x377f_0682;
const FORMAT: u32 = 3_007_000;

/// A `-wal` with a readable header.
#[derive(Debug)]
pub(crate) struct WalFile {
    file: File,
    page_size: usize,
    frames: Vec<WalFrame>,
    /// End (exclusive index) of the frames that SQLite reads.
    read_by_sqlite: usize,
    /// End (exclusive index) of the committed frames, including those that SQLite ignores. Later
    /// frames are uncommitted.
    committed: usize,
}

#[derive(Debug)]
struct WalFrame {
    page: u32,
    at: u64,
    /// `true` if its checksum continues that of the frame before it.
    whole: bool,
}

/// The `-wal` found beside a database.
#[derive(Debug)]
pub(crate) enum FoundWal {
    /// The file is missing or empty.
    Nothing,
    /// The header is unreadable; SQLite silently drops the whole file.
    Headless,
    Wal(WalFile),
}

/// The running checksum.
type Sum = (u32, u32);

impl WalFile {
    pub(crate) fn read(path: &Path) -> io::Result<FoundWal> {
        let file = match File::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(FoundWal::Nothing),
            Err(error) => return Err(error),
        };
        let length = file.metadata()?.len();
        if length == 0 {
            return Ok(FoundWal::Nothing);
        }
        let mut header = [0; HEADER];
        let read = file.read_exact_at(&mut header, 0).is_ok();
        let reading = if read { WalHeader::new(&header) } else { None };
        Ok(reading
            .map_or(FoundWal::Headless, |reading| FoundWal::Wal(reading.read_frames(file, length))))
    }

    /// Reads a `-wal` with a damaged header. Accepts frames whose checksums confirm each other.
    pub(crate) fn read_headless(path: &Path, page_size: usize) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        let mut salts = [0; 8];
        let size = (FRAME_HEADER + page_size) as u64;
        let mut last = [0; FRAME_HEADER];
        // Two consecutive frames with the same salts are certainly genuine.
        for at in (0..length / size).map(|frame| HEADER as u64 + frame * size) {
            let mut header = [0; FRAME_HEADER];
            if file.read_exact_at(&mut header, at).is_err() {
                break;
            }
            if header[8..16] == last[8..16] && header[8..16] != salts {
                salts.copy_from_slice(&header[8..16]);
                break;
            }
            last = header;
        }
        // SQLite writes in the byte order of the machine, here this one.
        let big_endian = cfg!(target_endian = "big");
        let mut wal =
            WalHeader { page_size, big_endian, salts, sum: (0, 0) }.read_frames(file, length);
        wal.read_by_sqlite = 0;
        Ok(wal)
    }

    pub(crate) fn page_size(&self) -> usize {
        self.page_size
    }

    /// Returns the frames that SQLite reads: complete transactions before the first broken frame.
    pub(crate) fn read_by_sqlite(&self) -> impl Iterator<Item = usize> {
        0..self.read_by_sqlite
    }

    /// Returns `true` if there are commits behind a broken frame, which SQLite silently drops.
    pub(crate) fn is_broken(&self) -> bool {
        self.read_by_sqlite < self.committed
    }

    /// Returns every readable committed frame, including those behind a broken one.
    pub(crate) fn readable_frames(&self) -> impl Iterator<Item = usize> {
        (0..self.committed).filter(|frame| self.frames[*frame].whole)
    }

    /// Returns the number of unreadable committed frames.
    pub(crate) fn count_unreadable(&self) -> usize {
        self.committed - self.readable_frames().count()
    }

    pub(crate) fn page_of(&self, frame: usize) -> Option<u32> {
        self.frames.get(frame).map(|frame| frame.page)
    }

    pub(crate) fn frame_content(&self, frame: usize) -> Option<Vec<u8>> {
        let mut page = vec![0; self.page_size];
        self.file.read_exact_at(&mut page, self.frames.get(frame)?.at).ok()?;
        Some(page)
    }
}

/// The fields of the header.
struct WalHeader {
    page_size: usize,
    big_endian: bool,
    salts: [u8; 8],
    sum: Sum,
}

impl WalHeader {
    fn new(header: &[u8; HEADER]) -> Option<Self> {
        let magic = be_u32(header, 0)?;
        let page_size = be_u32(header, 8)? as usize;
        let big_endian = magic & 1 == 1;
        let sum = extend_checksum(big_endian, (0, 0), &header[..24]);
        let stored = (be_u32(header, 24)?, be_u32(header, 28)?);
        let is_one = magic & !1 == MAGIC
            && be_u32(header, 4)? == FORMAT
            && page_size.is_power_of_two()
            && (512..=65_536).contains(&page_size)
            && sum == stored;
        let salts = header[16..24].try_into().ok()?;
        is_one.then_some(Self { page_size, big_endian, salts, sum })
    }

    /// Reads the frames. Frames behind a broken one stay readable, because each stores the running
    /// checksum.
    fn read_frames(self, file: File, length: u64) -> WalFile {
        let Self { page_size, big_endian, salts, mut sum } = self;
        let mut wal =
            WalFile { file, page_size, frames: Vec::new(), read_by_sqlite: 0, committed: 0 };
        let size = FRAME_HEADER + page_size;
        let mut bytes = vec![0; size];
        let mut chain = true;
        let mut at = HEADER as u64;
        while at + size as u64 <= length {
            if wal.file.read_exact_at(&mut bytes, at).is_err() {
                break;
            }
            let (header, page) = bytes.split_at(FRAME_HEADER);
            let word = |at| be_u32(header, at).unwrap_or_default();
            let expected =
                extend_checksum(big_endian, extend_checksum(big_endian, sum, &header[..8]), page);
            sum = (word(16), word(20));
            let whole = header[8..16] == salts && expected == sum && word(0) > 0;
            wal.frames.push(WalFrame { page: word(0), at: at + FRAME_HEADER as u64, whole });
            chain &= whole;
            if whole && word(4) > 0 {
                wal.committed = wal.frames.len();
                if chain {
                    wal.read_by_sqlite = wal.committed;
                }
            }
            at += size as u64;
        }
        wal
    }
}

/// Continues the checksum ("Checksum Algorithm").
fn extend_checksum(big_endian: bool, (mut first, mut second): Sum, bytes: &[u8]) -> Sum {
    let word = |four: &[u8]| {
        let four = four.try_into().unwrap_or_default();
        if big_endian { u32::from_be_bytes(four) } else { u32::from_le_bytes(four) }
    };
    for eight in bytes.chunks_exact(8) {
        let (one, other) = eight.split_at(4);
        first = first.wrapping_add(word(one)).wrapping_add(second);
        second = second.wrapping_add(word(other)).wrapping_add(first);
    }
    (first, second)
}
