//! Line charts in SVG. They have a background of their own, so that they can be read on pages of any
//! colour.

use std::fmt::Write;

use crate::figures::{BenchResult, SeriesPoint};
use crate::units::count;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 360.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 20.0;
const TOP: f64 = 64.0;
const BOTTOM: f64 = 56.0;
/// Approximate number of labels of the vertical axis.
const LABELS: f64 = 5.0;
/// Colours that people with any colour vision can tell apart.
const COLOURS: [&str; 2] = ["#0072b2", "#d55e00"];

/// A line chart. The numbers of its points are at equal distances.
#[derive(Debug)]
struct LineChart<'a> {
    title: &'static str,
    /// Name of the horizontal axis.
    numbers: &'static str,
    /// Name and unit of the vertical axis.
    values: &'static str,
    lines: [ChartLine<'a>; 2],
}

#[derive(Debug)]
struct ChartLine<'a> {
    name: &'static str,
    points: Vec<SeriesPoint<'a>>,
}

/// Returns the names and the content of all plots.
pub(crate) fn all(result: &BenchResult) -> [(&'static str, String); 3] {
    let line = |name, before, behind| ChartLine { name, points: result.series(before, behind) };
    let latency = LineChart {
        title: "Latency of a text turn by concurrency",
        numbers: "sessions that chat at the same time",
        values: "milliseconds from question to delivery",
        lines: [
            line("95th percentile", "text.synced.", ".p95_ms"),
            line("median", "text.synced.", ".p50_ms"),
        ],
    };
    let memory = LineChart {
        title: "Memory of the daemon by sessions",
        numbers: "sessions that were used since the start",
        values: "MiB",
        lines: [
            line("resident", "memory.", ".rss_mib"),
            line("anonymous", "memory.", ".anonymous_mib"),
        ],
    };
    let length = LineChart {
        title: "Cost of a text turn by length of the conversation",
        numbers: "messages in front of the turn",
        values: "milliseconds",
        lines: [
            line("latency (median)", "length.", ".p50_ms"),
            line("CPU of the daemon", "length.", ".cpu_ms"),
        ],
    };
    [
        ("performance-latency.svg", latency.svg()),
        ("performance-memory.svg", memory.svg()),
        ("performance-length.svg", length.svg()),
    ]
}

/// The vertical axis, from 0.
#[derive(Debug, Clone, Copy, PartialEq)]
struct ValueScale {
    step: f64,
    most: f64,
}

impl ValueScale {
    /// Returns the scale with round steps that contains all values up to `largest`.
    fn new(largest: f64) -> Self {
        let rough = (if largest > 0.0 { largest } else { 1.0 }) / LABELS;
        let power = 10_f64.powf(rough.log10().floor());
        let steps = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * power);
        let step = steps.into_iter().find(|&step| step >= rough * 0.999).unwrap_or(rough);
        Self { step, most: (largest / step - 1e-9).ceil().max(1.0) * step }
    }

    fn labels(self) -> impl Iterator<Item = f64> {
        let count = (self.most / self.step).round() as usize;
        (0..=count).map(move |number| number as f64 * self.step)
    }

    /// Returns the vertical place of a value.
    fn y(self, value: f64) -> f64 {
        HEIGHT - BOTTOM - value / self.most * (HEIGHT - BOTTOM - TOP)
    }
}

impl LineChart<'_> {
    fn svg(&self) -> String {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let scale = ValueScale::new(points().map(|point| point.figures.max).fold(0.0, f64::max));
        let mut numbers: Vec<usize> = points().map(|point| point.number).collect();
        numbers.sort_unstable();
        numbers.dedup();
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" \
             font-family=\"sans-serif\" font-size=\"13\" fill=\"#333\">\n\
             <title>{title}</title>\n\
             <rect width=\"{WIDTH}\" height=\"{HEIGHT}\" rx=\"6\" fill=\"#fff\" stroke=\"#bbb\"/>\n\
             <text x=\"{LEFT}\" y=\"24\" font-size=\"15\" font-weight=\"bold\">{title}</text>\n",
            title = self.title
        );
        svg += &self.axes(scale, &numbers);
        for (place, (line, colour)) in self.lines.iter().zip(COLOURS).enumerate() {
            svg += &legend(line.name, place, colour);
            svg += &line.svg(scale, &numbers, colour);
        }
        svg + "</svg>\n"
    }

    fn axes(&self, scale: ValueScale, numbers: &[usize]) -> String {
        let mut svg = String::new();
        let end = WIDTH - RIGHT;
        for value in scale.labels() {
            let (y, label) = (scale.y(value), label(value));
            svg += &format!(
                "<line x1=\"{LEFT}\" y1=\"{y:.1}\" x2=\"{end}\" y2=\"{y:.1}\" stroke=\"#ddd\"/>\n\
                 <text x=\"{}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>\n",
                LEFT - 8.0,
                y + 4.5
            );
        }
        for &number in numbers {
            let (x, y) = (x(number, numbers), HEIGHT - BOTTOM + 20.0);
            let label = count(number);
            svg += &format!("<text x=\"{x:.1}\" y=\"{y}\" text-anchor=\"middle\">{label}</text>\n");
        }
        let (middle_x, middle_y) = (f64::midpoint(LEFT, end), f64::midpoint(TOP, HEIGHT - BOTTOM));
        let (numbers, values, below) = (self.numbers, self.values, HEIGHT - 14.0);
        write!(
            svg,
            "<text x=\"{middle_x}\" y=\"{below}\" text-anchor=\"middle\">{numbers}</text>\n\
             <text transform=\"translate(20 {middle_y}) rotate(-90)\" \
             text-anchor=\"middle\">{values}</text>\n"
        )
        .expect("a String takes any text");
        svg
    }
}

impl ChartLine<'_> {
    /// Draws the medians as a line, and smallest and largest figure as a bar.
    fn svg(&self, scale: ValueScale, numbers: &[usize], colour: &str) -> String {
        let mut svg = String::new();
        let mut places = Vec::new();
        for SeriesPoint { number, figures } in &self.points {
            let (x, y) = (x(*number, numbers), scale.y(figures.median));
            let (top, bottom) = (scale.y(figures.max), scale.y(figures.min));
            places.push(format!("{x:.1},{y:.1}"));
            svg += &format!(
                "<line x1=\"{x:.1}\" y1=\"{top:.1}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" \
                 stroke=\"{colour}\" stroke-opacity=\"0.5\" stroke-width=\"5\"/>\n\
                 <circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3.5\" fill=\"{colour}\"/>\n"
            );
        }
        let places = places.join(" ");
        svg + &format!(
            "<polyline points=\"{places}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\"/>\n"
        )
    }
}

/// Returns the horizontal place of a number.
fn x(number: usize, numbers: &[usize]) -> f64 {
    let place = numbers.iter().position(|&other| other == number).unwrap_or(0) as f64;
    let each = (WIDTH - LEFT - RIGHT) / numbers.len().max(1) as f64;
    LEFT + each * (place + 0.5)
}

fn legend(name: &str, place: usize, colour: &str) -> String {
    let x = LEFT + 190.0 * place as f64;
    format!(
        "<rect x=\"{x}\" y=\"38\" width=\"14\" height=\"10\" fill=\"{colour}\"/>\n\
         <text x=\"{}\" y=\"48\">{name}</text>\n",
        x + 20.0
    )
}

/// Formats a value of the vertical axis with as many digits as its steps need.
fn label(value: f64) -> String {
    let rounded = (value * 1e6).round() / 1e6;
    if rounded < 1000.0 { rounded.to_string() } else { count(rounded as usize) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::tests::result;

    #[test]
    fn value_scale_has_round_steps_up_to_the_largest_value() {
        let cases = [
            (0.0, 0.2, 0.2),
            (0.3, 0.1, 0.3),
            (1.0, 0.2, 1.0),
            (4.1, 1.0, 5.0),
            (43.0, 10.0, 50.0),
            (100.0, 20.0, 100.0),
        ];
        for (largest, step, most) in cases {
            let ValueScale { step: is_step, most: is_most } = ValueScale::new(largest);
            let is_near = |is: f64, expected: f64| (is - expected).abs() < 1e-9;
            assert!(
                is_near(is_step, step) && is_near(is_most, most),
                "{largest}: {is_step}, {is_most}"
            );
        }
        let labels: Vec<String> = ValueScale::new(0.3).labels().map(label).collect();
        assert_eq!(labels, ["0", "0.1", "0.2", "0.3"]);
    }

    #[test]
    fn value_scale_puts_zero_at_the_bottom_and_the_most_on_top() {
        let scale = ValueScale::new(100.0);
        assert_eq!((scale.y(0.0), scale.y(100.0)), (HEIGHT - BOTTOM, TOP));
    }

    #[test]
    fn plots_have_a_point_for_each_number() {
        let figures = [("memory.0.rss_mib", 10.0), ("memory.1000.rss_mib", 20.0)];
        let [_, (name, svg), _] = all(&result(&figures));
        assert_eq!(name, "performance-memory.svg");
        assert_eq!((svg.matches("<circle").count(), svg.contains(">1,000<")), (2, true));
    }
}
