//! A cache of recent pages, so that further parts and repeated requests need no fetch.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::{Format, PageView};

/// Time for which a page is kept.
const KEPT: Duration = Duration::from_mins(15);
const PAGES: usize = 64;
/// Bytes of all pages that are kept.
const BYTES: usize = 16 * 1024 * 1024;

/// Pages, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Cache {
    pages: Mutex<VecDeque<CachedPage>>,
}

#[derive(Debug)]
struct CachedPage {
    url: String,
    format: Format,
    /// Measured by the clock's `elapsed`.
    since: Duration,
    view: Arc<PageView>,
}

impl Cache {
    /// A page that was stored less than `KEPT` ago.
    pub(super) fn get(&self, url: &str, format: Format, now: Duration) -> Option<Arc<PageView>> {
        let pages = &mut *self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|kept| now.saturating_sub(kept.since) < KEPT);
        let mut found = pages.iter().filter(|kept| kept.format == format && kept.url == url);
        found.next_back().map(|kept| kept.view.clone())
    }

    /// Stores a page and evicts the oldest pages above the limits.
    pub(super) fn put(&self, url: &str, format: Format, view: Arc<PageView>, now: Duration) {
        let pages = &mut *self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|kept| kept.format != format || kept.url != url);
        pages.push_back(CachedPage { url: url.to_owned(), format, since: now, view });
        let bytes = |kept: &CachedPage| kept.url.len() + kept.view.bytes();
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
        let (cache, minute) = (Cache::default(), Duration::from_mins(1));
        cache.put("a", Format::Text, view(1), minute);
        assert!(cache.get("a", Format::Markdown, minute).is_none());
        assert!(cache.get("b", Format::Text, minute).is_none());
        assert_eq!(cache.get("a", Format::Text, 15 * minute).unwrap().bytes(), 1);
        cache.put("a", Format::Text, view(2), 15 * minute);
        assert_eq!(cache.get("a", Format::Text, 29 * minute).unwrap().bytes(), 2);
        assert!(cache.get("a", Format::Text, 30 * minute).is_none());
    }

    #[test]
    fn cache_evicts_the_oldest_pages() {
        let (cache, now) = (Cache::default(), Duration::ZERO);
        let kept = |cache: &Cache| {
            (0..100).filter(|n| cache.get(&n.to_string(), Format::Text, now).is_some()).count()
        };
        for n in 0..100 {
            cache.put(&n.to_string(), Format::Text, view(1), now);
        }
        assert_eq!(kept(&cache), PAGES);
        assert!(cache.get("35", Format::Text, now).is_none());
        cache.put("large", Format::Text, view(BYTES - 10), now);
        assert!(kept(&cache) < 10);
        cache.put("too large", Format::Text, view(BYTES + 1), now);
        assert_eq!((kept(&cache), cache.get("too large", Format::Text, now)), (0, None));
    }
}
