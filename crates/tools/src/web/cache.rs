//! A cache of recent pages, so that further parts and repeated requests need no fetch.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::{PageFormat, PageView};

/// Time for which a page is kept.
const KEPT: Duration = Duration::from_mins(15);
const PAGES: usize = 64;
/// Bytes of all pages that are kept.
const BYTES: usize = 16 * 1024 * 1024;

/// Pages, the oldest first.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    pages: Mutex<VecDeque<CachedPage>>,
}

#[derive(Debug)]
struct CachedPage {
    url: String,
    format: PageFormat,
    /// Measured by the clock's `elapsed`.
    since: Duration,
    view: Arc<PageView>,
}

impl PageCache {
    /// A page that was stored less than `KEPT` ago.
    pub(super) fn get(
        &self,
        url: &str,
        format: PageFormat,
        now: Duration,
    ) -> Option<Arc<PageView>> {
        let pages = &mut *self.pages.lock();
        pages.retain(|kept| now.saturating_sub(kept.since) < KEPT);
        let mut found = pages.iter().filter(|kept| kept.format == format && kept.url == url);
        found.next_back().map(|kept| kept.view.clone())
    }

    /// Stores a page and evicts the oldest pages above the limits.
    pub(super) fn put_page(
        &self,
        url: &str,
        format: PageFormat,
        view: Arc<PageView>,
        now: Duration,
    ) {
        let pages = &mut *self.pages.lock();
        pages.retain(|kept| kept.format != format || kept.url != url);
        pages.push_back(CachedPage { url: url.to_owned(), format, since: now, view });
        let bytes = |kept: &CachedPage| kept.url.len() + kept.view.count_bytes();
        let mut all: usize = pages.iter().map(bytes).sum();
        while all > BYTES || pages.len() > PAGES {
            let Some(oldest) = pages.pop_front() else { break };
            all -= bytes(&oldest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn view(bytes: usize) -> Arc<PageView> {
        let (url, title, note) = (String::new(), None, None);
        Arc::new(PageView { url, status: 200, title, content: "x".repeat(bytes), note })
    }

    #[test]
    fn cache_keeps_a_page_for_15_minutes_in_each_format() {
        let (cache, minute) = (PageCache::default(), Duration::from_mins(1));
        cache.put_page("a", PageFormat::Text, view(1), minute);
        assert!(cache.get("a", PageFormat::Markdown, minute).is_none());
        assert!(cache.get("b", PageFormat::Text, minute).is_none());
        assert_eq!(cache.get("a", PageFormat::Text, 15 * minute).unwrap().count_bytes(), 1);
        cache.put_page("a", PageFormat::Text, view(2), 15 * minute);
        assert_eq!(cache.get("a", PageFormat::Text, 29 * minute).unwrap().count_bytes(), 2);
        assert!(cache.get("a", PageFormat::Text, 30 * minute).is_none());
    }

    #[test]
    fn cache_evicts_the_oldest_pages() {
        let (cache, now) = (PageCache::default(), Duration::ZERO);
        let kept = |cache: &PageCache| {
            (0..100).filter(|n| cache.get(&n.to_string(), PageFormat::Text, now).is_some()).count()
        };
        for n in 0..100 {
            cache.put_page(&n.to_string(), PageFormat::Text, view(1), now);
        }
        assert_eq!(kept(&cache), PAGES);
        assert!(cache.get("35", PageFormat::Text, now).is_none());
        cache.put_page("large", PageFormat::Text, view(BYTES - 10), now);
        assert!(kept(&cache) < 10);
        cache.put_page("too large", PageFormat::Text, view(BYTES + 1), now);
        assert_eq!((kept(&cache), cache.get("too large", PageFormat::Text, now)), (0, None));
    }
}
