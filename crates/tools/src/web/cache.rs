//! A cache of recent pages, so that further parts and repeated requests need no fetch.

use std::sync::Arc;
use std::time::Duration;

use avocet_protocol::LruMap;
use parking_lot::Mutex;

use super::{PageFormat, PageView};

/// Time for which a page is kept.
const KEPT: Duration = Duration::from_mins(15);
const PAGES: usize = 64;
/// Bytes of all pages that are kept.
const BYTES: usize = 16 * 1024 * 1024;

/// Pages by their address and format.
#[derive(Debug, Default)]
pub(super) struct PageCache {
    pages: Mutex<LruMap<(String, PageFormat), CachedPage, PAGES>>,
}

#[derive(Debug)]
struct CachedPage {
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
        pages.retain(|_, kept| now.saturating_sub(kept.since) < KEPT);
        pages.get(&(url.to_owned(), format)).map(|kept| kept.view.clone())
    }

    /// Stores a page and evicts the least recently used pages above the limits.
    pub(super) fn put_page(
        &self,
        url: &str,
        format: PageFormat,
        view: Arc<PageView>,
        now: Duration,
    ) {
        let pages = &mut *self.pages.lock();
        pages.put((url.to_owned(), format), CachedPage { since: now, view });
        let bytes = |(url, _): &(String, _), kept: &CachedPage| url.len() + kept.view.count_bytes();
        let mut all: usize = pages.iter().map(|(page, kept)| bytes(page, kept)).sum();
        while all > BYTES {
            let Some((page, oldest)) = pages.pop_lru() else { break };
            all -= bytes(&page, &oldest);
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
