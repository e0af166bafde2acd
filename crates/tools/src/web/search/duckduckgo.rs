//! DuckDuckGo, which has no API: the page for browsers without scripts.

use avocet_net::Url;
use dom_query::NodeRef;

use super::{SearchParameters, SearchProvider, SearchRequest, SearchResult};
use crate::web::html::parse_tree;

pub(super) const PROVIDER: SearchProvider = SearchProvider {
    name: "duckduckgo",
    place: Some(PLACE),
    wants_key: false,
    if_refused: "it treats this request as a bot's: try later, or ask the operator to configure \
        another engine",
    request: build_request,
    parse: parse_results,
};

const PLACE: &str = "https://html.duckduckgo.com";

fn build_request(asked: &SearchParameters<'_>) -> Option<SearchRequest> {
    let url =
        Url::parse_with_params(&format!("{}/html/", asked.base), [("q", asked.query)]).ok()?;
    Some(SearchRequest { url, headers: vec![("accept", "text/html".to_owned())], body: None })
}

fn parse_results(body: &str) -> Result<Vec<SearchResult>, String> {
    let page = parse_tree(body, &|| false).ok_or("its page is nested too deeply")?;
    if page.select(".anomaly-modal__modal, #challenge-form").exists() {
        return Err(
            "it shows a bot check: try later, or ask the operator to configure another engine"
                .to_owned(),
        );
    }
    let results = page.select(".result");
    if !results.exists() && !page.select(".no-results").exists() {
        return Err("its page has neither results nor a notice that there are none".to_owned());
    }
    let organic = results.nodes().iter().filter(|node| !node.has_class("result--ad"));
    Ok(organic.filter_map(parse_result).collect())
}

fn parse_result(result: &NodeRef<'_>) -> Option<SearchResult> {
    let one = |class: &str| result.descendants().into_iter().find(|node| node.has_class(class));
    let link = one("result__a")?;
    Some(SearchResult {
        title: link.text().to_string(),
        url: target_of_link(&link.attr("href")?)?,
        snippet: one("result__snippet").map(|node| node.text().to_string()).unwrap_or_default(),
    })
}

/// The target of a link, taken from `uddg` of a redirect. `None` for an advertisement.
fn target_of_link(href: &str) -> Option<String> {
    let url = Url::parse(PLACE).ok()?.join(href).ok()?;
    let is_theirs = url
        .host_str()
        .is_some_and(|host| host == "duckduckgo.com" || host.ends_with(".duckduckgo.com"));
    match url.path() {
        "/l/" if is_theirs => {
            url.query_pairs().find(|(key, _)| key == "uddg").map(|(_, target)| target.into_owned())
        }
        "/y.js" if is_theirs => None,
        _ => Some(url.into()),
    }
}
