//! The JSON of the tools of the latest requests. The schemas are most of a short request, and an agent
//! offers the identical list again and again.

use std::sync::Arc;

use avocet_protocol::tool::ToolSpec;
use parking_lot::Mutex;

/// The most lists that are kept for a model: those of a few agents and of what their sessions have
/// loaded.
const MOST_LISTS: usize = 8;

/// The JSON of lists of tools, as one model gets it.
#[derive(Debug, Default)]
pub(crate) struct WrittenTools(Mutex<Vec<WrittenList>>);

#[derive(Debug)]
struct WrittenList {
    /// Keeps the list, so that no other list gets its address.
    tools: Arc<[ToolSpec]>,
    json: Arc<str>,
}

impl WrittenTools {
    /// Returns the JSON of a list. Calls `write` if the identical list is not kept.
    pub(crate) fn json_of(
        &self,
        tools: &Arc<[ToolSpec]>,
        write: impl FnOnce() -> serde_json::Result<String>,
    ) -> serde_json::Result<Arc<str>> {
        let is_same = |kept: &&WrittenList| Arc::ptr_eq(&kept.tools, tools);
        if let Some(kept) = self.0.lock().iter().find(is_same) {
            return Ok(kept.json.clone());
        }
        let json: Arc<str> = write()?.into();
        let mut kept = self.0.lock();
        if kept.len() == MOST_LISTS {
            kept.remove(0);
        }
        kept.push(WrittenList { tools: tools.clone(), json: json.clone() });
        Ok(json)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_of_is_written_once_for_the_latest_lists() {
        let lists: Vec<Arc<[ToolSpec]>> = (0..=MOST_LISTS).map(|_| Vec::new().into()).collect();
        let written = WrittenTools::default();
        let json_of = |place: usize, write: &dyn Fn() -> String| {
            written.json_of(&lists[place], || Ok(write())).unwrap().to_string()
        };
        for place in 0..lists.len() {
            assert_eq!(json_of(place, &|| place.to_string()), place.to_string());
        }
        assert_eq!(json_of(MOST_LISTS, &|| unreachable!("it is kept")), MOST_LISTS.to_string());
        assert_eq!(json_of(1, &|| unreachable!("it is kept")), "1");
        assert_eq!(json_of(0, &|| "anew".to_owned()), "anew", "the oldest made room");
    }
}
