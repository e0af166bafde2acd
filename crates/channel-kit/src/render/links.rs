//! Renders links and images. A target that can be followed becomes a link; other targets are shown
//! behind the text.

use avocet_protocol::chat::Style;
use avocet_text::sanitise;
use pulldown_cmark::LinkType;

use super::MarkdownRenderer;
use crate::link::LinkTarget;

/// An open link or image.
#[derive(Debug)]
pub(super) struct OpenLink {
    target: LinkTarget,
    /// The length of the text at the link's start.
    position: usize,
    /// The length of the table cell's text at the link's start.
    cell_length: usize,
    /// The style that began with the link.
    open: Option<Style>,
}

impl MarkdownRenderer {
    /// Begins a link or image. Inside another link it becomes text.
    pub(super) fn begin_link(&mut self, link_type: LinkType, url: &str) {
        let is_mail = link_type == LinkType::Email;
        let target = if self.is_linked {
            LinkTarget::Nowhere
        } else {
            LinkTarget::parse(&sanitise(url).text, is_mail)
        };
        let style = match &target {
            LinkTarget::Url(url) => Some(Style::Link { url: url.clone() }),
            LinkTarget::Mail(address) if is_mail => Some(mail_link(address)),
            _ => None,
        };
        let open = style.filter(|_| self.table.is_none());
        self.is_linked |= open.as_ref().is_some_and(|style| self.out.open(style.clone()));
        let cell_length = self.table.as_ref().map_or(0, |table| table.cell().len());
        self.links.push(OpenLink { target, position: self.out.position(), cell_length, open });
    }

    pub(super) fn end_link(&mut self) {
        let Some(link) = self.links.pop() else { return };
        let shown = match &self.table {
            Some(table) => table.cell()[link.cell_length..].trim(),
            None => self.out.text_since(link.position),
        };
        let is_empty = shown.is_empty();
        let (target, style) = match link.target {
            LinkTarget::Nowhere => return,
            LinkTarget::Url(target) | LinkTarget::Text(target) => (target, None),
            LinkTarget::Mail(address) => {
                let style = mail_link(&address);
                (address, Some(style))
            }
        };
        match link.open {
            Some(style) => {
                if is_empty {
                    self.out.push(&target);
                }
                self.out.close(&style);
                self.is_linked = false;
            }
            None if shown != target => self.show_target(is_empty, &target, style),
            None => {}
        }
    }

    /// Writes a link's target behind its text.
    fn show_target(&mut self, is_alone: bool, target: &str, style: Option<Style>) {
        let (before, after) = if is_alone { ("", "") } else { (" (", ")") };
        self.push_text(before);
        match style {
            Some(style) if self.table.is_none() => self.out.push_styled(target, &style),
            _ => self.push_text(target),
        }
        self.push_text(after);
    }
}

fn mail_link(address: &str) -> Style {
    Style::Link { url: format!("mailto:{address}") }
}
