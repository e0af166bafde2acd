//! The page of the book about speed and cost: its tables between two marks, and the plots beside
//! it.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use crate::figures::BenchResult;
use crate::plot;
use crate::report::{FigureTable, conditions, tables};

const BEGIN: &str = "<!-- figures: begin; written by avocet-bench page -->";
const END: &str = "<!-- figures: end -->";

/// Writes the tables into the page and the plots beside it.
pub(crate) fn write(result: &BenchResult, page: &Path) -> Result<()> {
    ensure!(!result.quick, "the loads were small (--quick), so nothing is comparable");
    let text = fs::read_to_string(page).with_context(|| format!("no page {}", page.display()))?;
    let text = with_figures(&text, result)
        .with_context(|| format!("{} lacks a line {BEGIN} or {END}", page.display()))?;
    fs::write(page, text)?;
    for (name, plot) in plot::all(result) {
        fs::write(page.with_file_name(name), plot)?;
    }
    Ok(())
}

/// Replaces the part of a page between the marks. `None` if a mark is missing.
fn with_figures(page: &str, result: &BenchResult) -> Option<String> {
    let (before, rest) = page.split_once(BEGIN)?;
    let (_, behind) = rest.split_once(END)?;
    let tables: String = tables(result, None).iter().map(markdown).collect();
    Some(format!("{before}{BEGIN}\n\n{}\n{tables}\n{END}{behind}", conditions(result)))
}

fn markdown(table: &FigureTable) -> String {
    let row = |cells: Vec<&str>| format!("| {} |\n", cells.join(" | "));
    let rule = ["|---".to_owned(), "|---:".repeat(table.head.len() - 1), "|\n".to_owned()];
    let rows = table.rows.iter().map(|cells| row(cells.iter().map(String::as_str).collect()));
    let title = table.title;
    let head = row(table.head.clone());
    format!("\n### {title}\n\n{head}{}{}", rule.concat(), rows.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::result;

    #[test]
    fn with_figures_replaces_the_part_between_the_marks() {
        let result = result(&[("request.bytes", 3000.0)]);
        let page = format!("# Title\n\n{BEGIN}\nold\n{END}\n\nThe end.\n");
        let new = with_figures(&page, &result).unwrap();
        let (row, rule) =
            ("| Request for \"hi\" | 3,000 B | 3,000..3,001 | <= 4,000 B | yes |", "|---|---:|");
        assert!(new.contains(row) && new.contains(rule) && !new.contains("old"), "{new}");
        assert!(new.starts_with("# Title\n") && new.ends_with("\n\nThe end.\n"), "{new}");
        assert_eq!(with_figures(&new, &result), Some(new.clone()));
        assert_eq!(with_figures("# Title\n", &result), None);
    }

    #[test]
    fn the_page_of_the_book_has_the_marks_and_shows_the_plots() {
        let page = include_str!("../../../docs/src/operate/performance.md");
        assert!(with_figures(page, &result(&[])).is_some());
        for (name, _) in plot::all(&result(&[])) {
            assert!(page.contains(&format!("]({name})")), "{name}");
        }
    }
}
