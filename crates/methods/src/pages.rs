//! The size of the pages of lists.

/// The most rows of one page.
pub const MOST_ROWS: u32 = 500;
