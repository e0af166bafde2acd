//! The pages of `/model`: a few models each, with a button for each of them.

use avocet_protocol::chat::Choice;

use crate::SessionParts;

/// Word of the argument that names a page: `/model page 2`. No model has such a name, because each
/// has a slash.
pub(crate) const PAGE_WORD: &str = "page";
/// Models on a page.
const PAGE: usize = 8;

/// The models of the configuration, in pages.
pub(crate) struct ModelPages {
    all: Vec<String>,
    /// From 0; at most the last one.
    page: usize,
    /// Models on a page; all of them if the list has no pages.
    size: usize,
    /// `true` if there is a button for each model.
    pub(crate) has_buttons: bool,
}

/// Returns the index of the page that an argument asks for: the first one for none. `None` for
/// another argument.
pub(crate) fn page_of(argument: &str) -> Option<usize> {
    if argument.is_empty() {
        return Some(0);
    }
    let (word, number) = argument.split_once(char::is_whitespace)?;
    let number: usize = number.trim().parse().ok()?;
    (word.eq_ignore_ascii_case(PAGE_WORD) && number > 0).then(|| number - 1)
}

impl ModelPages {
    /// The page with this index, or the last one.
    pub(crate) fn new(parts: &SessionParts, page: usize, has_buttons: bool) -> Self {
        Self {
            has_buttons,
            ..Self::from_models(parts.agents.now().models.configured(), page, PAGE)
        }
    }

    /// One page with all models, without buttons.
    pub(crate) fn on_one_page(parts: &SessionParts) -> Self {
        Self::from_models(parts.agents.now().models.configured(), 0, usize::MAX)
    }

    fn from_models(all: Vec<String>, page: usize, size: usize) -> Self {
        let last = all.len().div_ceil(size).saturating_sub(1);
        Self { all, page: page.min(last), size, has_buttons: false }
    }

    pub(crate) fn page_names(&self) -> &[String] {
        self.all.chunks(self.size).nth(self.page).unwrap_or_default()
    }

    /// Returns the numbers of the models on the page, as text; empty if it has all of them.
    pub(crate) fn shown_range(&self) -> String {
        let before = self.page * self.size;
        match self.all.len() {
            count if count > self.size => {
                format!(", {} to {} of {count}", before + 1, before + self.page_names().len())
            }
            _ => String::new(),
        }
    }

    /// Returns the number of the next page, as a person writes it.
    pub(crate) fn next(&self) -> Option<usize> {
        let shown = (self.page + 1).saturating_mul(self.size);
        (shown < self.all.len()).then_some(self.page + 2)
    }

    /// Returns a button for each model, with a mark at the one that answers, and buttons to the
    /// pages beside. Empty without buttons.
    pub(crate) fn list_choices(&self, answers: &str) -> Vec<Choice> {
        if !self.has_buttons {
            return Vec::new();
        }
        let model = |name: &String| {
            let mark = if name == answers { "✓ " } else { "" };
            Choice::new(format!("{mark}{name}"), format!("/model {name}"))
        };
        let to = |label: &str, page: usize| {
            Choice::new(label.to_owned(), format!("/model {PAGE_WORD} {page}"))
        };
        let back = (self.page > 0).then(|| to("‹ Back", self.page));
        let more = self.next().map(|next| to("More ›", next));
        self.page_names().iter().map(model).chain(back).chain(more).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pages(count: usize, page: usize, size: usize) -> ModelPages {
        let names = (1..=count).map(|number| format!("a/{number}")).collect();
        ModelPages { has_buttons: true, ..ModelPages::from_models(names, page, size) }
    }

    #[test]
    fn page_of_reads_the_number_of_a_page_only() {
        let table = [("", Some(0)), ("page 1", Some(0)), ("Page  3", Some(2))];
        for (argument, page) in table {
            assert_eq!(page_of(argument), page, "{argument:?}");
        }
        for argument in ["page", "page 0", "page x", "a/page 2", "default"] {
            assert_eq!(page_of(argument), None, "{argument:?}");
        }
    }

    #[test]
    fn choices_lead_from_page_to_page() {
        let says = |page: usize| -> Vec<String> {
            let choices = pages(20, page, PAGE).list_choices("a/9");
            assert!(choices.len() <= PAGE + 2);
            choices.into_iter().skip(8).map(|choice| choice.says).collect()
        };
        assert_eq!(says(0), ["/model page 2"]);
        assert_eq!(says(1), ["/model page 1", "/model page 3"]);
        let last: Vec<_> =
            pages(20, 9, PAGE).list_choices("a/9").into_iter().map(|choice| choice.label).collect();
        assert_eq!(last, ["a/17", "a/18", "a/19", "a/20", "‹ Back"]);
        assert_eq!(pages(20, 1, PAGE).list_choices("a/9")[0].label, "✓ a/9");
    }

    #[test]
    fn range_is_empty_for_a_single_page() {
        let shown =
            |pages: ModelPages| (pages.shown_range(), pages.page_names().len(), pages.next());
        assert_eq!(shown(pages(8, 0, PAGE)), (String::new(), 8, None));
        assert_eq!(shown(pages(9, 1, PAGE)), (", 9 to 9 of 9".to_owned(), 1, None));
        assert_eq!(shown(pages(9, 0, PAGE)), (", 1 to 8 of 9".to_owned(), 8, Some(2)));
        assert_eq!(shown(pages(20, 0, usize::MAX)), (String::new(), 20, None));
        assert_eq!(shown(pages(0, 0, PAGE)), (String::new(), 0, None));
    }
}
