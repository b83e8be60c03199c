//! Curves as an SVG. Values are shown where the pointer is, without a script; a table has them, too.

use std::borrow::Cow;
use std::error::Error;
use std::fmt::Write as _;

use maud::{Markup, PreEscaped, html};
use plotters::coord::Shift;
use plotters::coord::ranged1d::{DefaultFormatting, KeyPointHint};
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;

/// Pixels of a chart. It is shown as wide as there is room: 360 pixels on a telephone, where its texts can still be
/// read.
pub(super) const SIZE: (u32, u32) = (480, 280);
/// Room for the marks of the axes.
const BELOW: u32 = 44;
const BESIDE: u32 = 86;
const RIGHT: u32 = 24;
/// Size of the texts in a chart, in the unit of `plotters`, which makes 0.8 pixels of it.
const TEXT: u32 = 15;
/// A span of decades in which round numbers of a log scale are too few.
const NARROW: f64 = 0.6;
/// Most marks of an axis: texts beside each other take more room than texts above each other.
const ACROSS: f64 = 5.0;
const UP: f64 = 8.0;
/// A curve of at most so many values has a dot on each. Else a value without neighbours could not be seen.
const DOTTED: usize = 40;
/// Radius of a dot, pixels.
const DOT: i32 = 4;
/// The most curves of a chart: further ones have no colour.
pub const MOST_CURVES: usize = 5;
/// Colours that people with any kind of sight can tell apart (Okabe and Ito, 2008).
const COLOURS: [RGBColor; MOST_CURVES] = [
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(86, 180, 233),
];
/// Of lines across.
const LIMITS: [RGBColor; 5] = [
    RGBColor(200, 0, 0),
    RGBColor(122, 81, 149),
    RGBColor(150, 108, 20),
    RGBColor(110, 125, 140),
    RGBColor(0, 130, 140),
];

/// An axis: what it shows, and how its values are written.
pub struct Axis {
    /// Name of the quantity.
    pub title: Cow<'static, str>,
    /// True for a logarithmic axis.
    pub is_log: bool,
    /// True when values are whole numbers.
    pub is_whole: bool,
    /// The text of a value.
    pub text: fn(f64) -> String,
}

/// A curve. Points without a value are left out.
pub struct Curve {
    /// Name of the curve.
    pub name: String,
    /// A value for each point.
    pub values: Vec<Option<f64>>,
}

/// A chart: curves over common places.
pub struct Chart {
    /// Stands in the page's links.
    pub id: &'static str,
    /// Title of the chart.
    pub title: &'static str,
    /// Sentence that says what the chart shows.
    pub about: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The places, in increasing order.
    pub places: Vec<f64>,
    /// The curves, in the order of their colours.
    pub curves: Vec<Curve>,
    /// Lines across, with their names.
    pub limits: Vec<(String, f64)>,
    /// Places that have marks of their own; empty: they are chosen.
    pub marks: Vec<(f64, String)>,
}

/// A straight scale with marks at chosen places.
struct Scale {
    span: RangedCoordf64,
    marks: Vec<f64>,
}

impl Scale {
    fn new(low: f64, high: f64, marks: Vec<f64>) -> Scale {
        Scale { span: (low..high).into(), marks }
    }
}

impl Ranged for Scale {
    type FormatOption = DefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, pixels: (i32, i32)) -> i32 {
        self.span.map(value, pixels)
    }

    fn key_points<Hint: KeyPointHint>(&self, _: Hint) -> Vec<f64> {
        self.marks.clone()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.span.range()
    }
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Result<T> = std::result::Result<T, Box<dyn Error>>;

impl Chart {
    /// The chart with its table; a sentence where it cannot be drawn. A single place has values, and no curve.
    pub fn markup(&self) -> Markup {
        let mut svg = String::new();
        let drawing = (self.places.len() != 1).then(|| self.draw(&mut svg));
        html! {
            section id=(self.id) {
                h2 { (self.title) }
                p { (self.about) }
                @if let Some(drawing) = &drawing { @match drawing {
                    Ok(zones) => figure role="img" tabindex="0" aria-label=(format!("{}. {}", self.title, self.about)) {
                        (PreEscaped(svg.replacen("</svg>", &format!("{zones}</svg>"), 1)))
                        (self.legend())
                    },
                    Err(error) => p { "It cannot be drawn: " (error) },
                } }
                (self.table())
            }
        }
    }

    /// The names of curves and lines, each with its colour.
    pub(super) fn names(&self) -> Vec<(String, String)> {
        let curves = self.curves.iter().zip(COLOURS).map(|(curve, colour)| (curve.name.clone(), rgb(colour)));
        let limits = self.limits.iter().zip(LIMITS).map(|((name, _), colour)| (name.clone(), rgb(colour)));
        curves.chain(limits).collect()
    }

    /// The chart alone, without places for the pointer. None: it cannot be drawn, or has a single place.
    pub(super) fn svg(&self) -> Option<String> {
        let mut svg = String::new();
        if self.places.len() == 1 {
            return None;
        }
        self.draw(&mut svg).ok().map(|_| svg)
    }

    fn legend(&self) -> Markup {
        html! {
            ul class="legend" {
                @for (curve, colour) in self.curves.iter().zip(COLOURS) {
                    li { span style=(css(colour)) {} (curve.name) }
                }
                @for ((name, value), colour) in self.limits.iter().zip(LIMITS) {
                    li { span style=(css(colour)) {} (name) " " ((self.y.text)(*value)) }
                }
            }
        }
    }

    fn table(&self) -> Markup {
        html! {
            details open[self.places.len() == 1] {
                summary { "Values" }
                div class="scroll" role="region" tabindex="0" aria-label=(format!("{}: values", self.title)) { table {
                    thead { tr { th { (self.x.title) } @for curve in &self.curves { th { (curve.name) } } } }
                    tbody { @for (at, place) in self.places.iter().enumerate() {
                        tr {
                            th { (self.place_name(*place)) }
                            @for curve in &self.curves { td { (self.value(curve, at)) } }
                        }
                    } }
                } }
            }
        }
    }

    fn value(&self, curve: &Curve, at: usize) -> String {
        curve.values[at].map_or_else(|| "none".to_owned(), self.y.text)
    }

    /// Draws the chart, and returns the zones that show values.
    fn draw(&self, svg: &mut String) -> Result<String> {
        let (low, high) = self.span().ok_or("there is no value")?;
        let (first, last) = self.places.first().zip(self.places.last()).ok_or("there is no value")?;
        let (left, right) = (self.x.scaled(*first), self.x.scaled(*last));
        let root: Area<'_> = SVGBackend::with_string(svg, SIZE).into_drawing_area();
        let places: Vec<f64> = match self.marks.is_empty() {
            true => self.x.ticks(left, right, ACROSS),
            false => self.marks.iter().map(|(place, _)| self.x.scaled(*place)).collect(),
        };
        let mut chart = ChartBuilder::on(&root)
            .margin(8)
            .margin_right(RIGHT)
            .x_label_area_size(BELOW)
            .y_label_area_size(BESIDE)
            .build_cartesian_2d(Scale::new(left, right, places), Scale::new(low, high, self.y.ticks(low, high, UP)))?;
        chart
            .configure_mesh()
            .disable_x_mesh()
            .x_labels(40)
            .y_labels(40)
            .x_desc(self.x.title.as_ref())
            .label_style(("sans-serif", TEXT))
            .axis_desc_style(("sans-serif", TEXT))
            .x_label_formatter(&|scaled| self.place_text(*scaled))
            .y_label_formatter(&|scaled| (self.y.text)(self.y.unscaled(*scaled)))
            .draw()?;
        // The first on top: where the largest value is the 99th percentile, that is what is seen.
        let curves: Vec<(&Curve, RGBColor)> = self.curves.iter().zip(COLOURS).collect();
        for (curve, colour) in curves.into_iter().rev() {
            let points = self.places.iter().zip(&curve.values);
            let points = points.filter_map(|(x, y)| Some((self.x.scaled(*x), self.y.scaled((*y)?))));
            let points: Vec<(f64, f64)> = points.collect();
            if points.len() <= DOTTED {
                chart.draw_series(points.iter().map(|point| Circle::new(*point, DOT, colour.filled())))?;
            }
            chart.draw_series(LineSeries::new(points, colour.stroke_width(2)))?;
        }
        for ((_, value), colour) in self.limits.iter().zip(LIMITS) {
            let y = self.y.scaled(*value);
            chart.draw_series(LineSeries::new([(left, y), (right, y)], colour.stroke_width(2)))?;
        }
        let at = |place: &f64| chart.backend_coord(&(self.x.scaled(*place), low)).0;
        let pixels: Vec<i32> = self.places.iter().map(at).collect();
        drop(chart);
        root.present()?;
        drop(root);
        Ok(self.zones(&pixels))
    }

    /// Columns of the chart that say the values in them.
    fn zones(&self, pixels: &[i32]) -> String {
        let mut zones = String::new();
        for (at, pixel) in pixels.iter().enumerate() {
            let before = at.checked_sub(1).map_or(*pixel - 4, |before| (pixels[before] + pixel) / 2);
            let after = pixels.get(at + 1).map_or(*pixel + 4, |after| (after + pixel) / 2);
            let values: Vec<String> =
                self.curves.iter().map(|curve| format!("{}: {}", curve.name, self.value(curve, at))).collect();
            let text = html! { (self.place_name(self.places[at])) "\n" (values.join("\n")) }.into_string();
            // Writing to a String cannot fail.
            let _ = write!(
                zones,
                "<rect class=\"zone\" x=\"{before}\" y=\"8\" width=\"{}\" height=\"{}\"><title>{text}</title></rect>",
                (after - before).max(1),
                SIZE.1 - BELOW - 8
            );
        }
        zones
    }

    /// The name of a place: that of its mark, else its value.
    fn place_name(&self, place: f64) -> String {
        let own = self.marks.iter().find(|(marked, _)| *marked == place);
        own.map_or_else(|| (self.x.text)(place), |(_, text)| text.clone())
    }

    fn place_text(&self, scaled: f64) -> String {
        let own = self.marks.iter().find(|(place, _)| (self.x.scaled(*place) - scaled).abs() < 1e-9);
        own.map_or_else(|| (self.x.text)(self.x.unscaled(scaled)), |(_, text)| text.clone())
    }

    /// The least and the largest value, as they are drawn, with room around them. None: there is none.
    fn span(&self) -> Option<(f64, f64)> {
        let values = self.curves.iter().flat_map(|curve| curve.values.iter().flatten());
        let all = || values.clone().copied().chain(self.limits.iter().map(|(_, value)| *value));
        let scaled = || all().map(|value| self.y.scaled(value)).filter(|value| value.is_finite());
        let (low, high) = (scaled().reduce(f64::min)?, scaled().reduce(f64::max)?);
        if self.y.is_log {
            let room = ((high - low) * 0.05).max(0.1);
            return Some((low - room, high + room));
        }
        let low = low.min(0.0);
        // Where everything is 0 there is no scale: any will do.
        let room = if high > low { (high - low) * 0.05 } else { 1.0 };
        Some((low, high + room))
    }
}

fn css(colour: RGBColor) -> String {
    format!("background:{}", rgb(colour))
}

fn rgb(colour: RGBColor) -> String {
    format!("rgb({},{},{})", colour.0, colour.1, colour.2)
}

impl Axis {
    fn scaled(&self, value: f64) -> f64 {
        // Nothing is below 1 on such a scale: it would have hundreds of decades for a 0.
        if self.is_log { value.max(1.0).log10() } else { value }
    }

    fn unscaled(&self, scaled: f64) -> f64 {
        if self.is_log { 10f64.powf(scaled) } else { scaled }
    }

    /// Round places between two others, as they are drawn. No two say the same: where the text has too few digits for a
    /// step, the first place that it fits stands alone.
    fn ticks(&self, low: f64, high: f64, most: f64) -> Vec<f64> {
        let mut ticks = self.round(low, high, most);
        ticks.dedup_by_key(|tick| (self.text)(self.unscaled(*tick)));
        ticks
    }

    /// Round places between two others, as they are drawn; about as many as `most`.
    fn round(&self, low: f64, high: f64, most: f64) -> Vec<f64> {
        if !(low.is_finite() && high.is_finite() && high - low > 1e-6 * high.abs().max(1e-6)) {
            return vec![low];
        }
        let between = |ticks: Vec<f64>| ticks.into_iter().filter(|tick| (low..=high).contains(tick)).collect();
        if self.is_log && high - low < NARROW {
            let straight = Axis { is_log: false, title: self.title.clone(), ..*self };
            let ticks = straight.round(self.unscaled(low), self.unscaled(high), most);
            return ticks.into_iter().map(|tick| self.scaled(tick)).collect();
        }
        if self.is_log {
            let decades = (low.floor() as i32)..=(high.ceil() as i32);
            let digits: &[f64] = if high - low < 3.0 { &[1.0, 2.0, 5.0] } else { &[1.0] };
            let of = |decade: i32| digits.iter().map(move |digit| f64::from(decade) + digit.log10());
            return between(decades.flat_map(of).collect());
        }
        let rough = (high - low) / most;
        let decade = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|digit| digit * decade).into_iter().find(|step| *step >= rough);
        let step = step.unwrap_or(rough).max(if self.is_whole { 1.0 } else { f64::MIN_POSITIVE });
        let first = (low / step).floor();
        between((0..=(2.0 * most) as u32).map(|number| (first + f64::from(number)) * step).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(value: f64) -> String {
        format!("{value}")
    }

    fn axis(is_log: bool) -> Axis {
        Axis { title: "an axis".into(), is_log, is_whole: false, text: number }
    }

    fn chart(values: Vec<Option<f64>>) -> String {
        let places = (0..values.len()).map(|place| place as f64).collect();
        let curves = vec![Curve { name: "<curve>".to_owned(), values }];
        let (id, title, about) = ("a", "A", "See.".to_owned());
        let (limits, marks) = (vec![("limit".to_owned(), 5.0)], Vec::new());
        Chart { id, title, about, x: axis(false), y: axis(true), places, curves, limits, marks }.markup().into_string()
    }

    #[test]
    fn every_place_has_a_zone_and_a_row() {
        let page = chart(vec![Some(1.0), None, Some(100.0)]);
        assert_eq!((page.matches("class=\"zone\"").count(), page.matches("<tr>").count()), (3, 4));
        assert!(page.contains("&lt;curve&gt;: none") && !page.contains("<curve>"), "{page}");
        assert!(chart(vec![]).contains("cannot be drawn") && chart(vec![Some(f64::NAN); 2]).contains("<svg"));
    }

    #[test]
    fn a_single_place_has_values_and_no_curve() {
        let page = chart(vec![Some(3.0)]);
        assert!(!page.contains("<svg") && !page.contains("cannot be drawn"), "{page}");
        assert!(page.contains("<details open>") && page.contains("<td>3</td>"), "{page}");
    }

    #[test]
    fn the_first_curve_lies_on_the_others() {
        let curve = |name: &str, value| Curve { name: name.to_owned(), values: vec![Some(value); 2] };
        let (id, title, about) = ("a", "A", "See.".to_owned());
        let curves = vec![curve("p99", 5.0), curve("max", 5.0)];
        let chart = Chart {
            id,
            title,
            about,
            x: axis(false),
            y: axis(true),
            places: vec![0.0, 1.0],
            curves,
            limits: Vec::new(),
            marks: Vec::new(),
        };
        let svg = chart.svg().unwrap();
        // Colours as plotters writes them.
        let at = |colour: RGBColor| svg.rfind(&format!("#{:02X}{:02X}{:02X}", colour.0, colour.1, colour.2)).unwrap();
        assert!(at(COLOURS[0]) > at(COLOURS[1]), "what is drawn last is seen: {svg}");
    }

    #[test]
    fn ticks_are_round() {
        assert_eq!(axis(false).ticks(0.0, 73.0, UP), [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0]);
        let whole = Axis { is_whole: true, ..axis(false) };
        assert_eq!(whole.ticks(0.0, 3.2, UP), [0.0, 1.0, 2.0, 3.0]);
        assert_eq!(axis(true).ticks(0.0, 4.0, UP), [0.0, 1.0, 2.0, 3.0, 4.0]);
        assert_eq!(axis(true).ticks(0.0, 0.75, UP).len(), 3);
        assert_eq!(axis(true).ticks(0.0, 0.3, UP).len(), 5);
        assert_eq!(axis(true).scaled(0.0), 0.0);
        assert_eq!(axis(false).ticks(1e9, 1e9, UP), [1e9]);
        assert_eq!(axis(false).ticks(0.0, f64::INFINITY, UP), [0.0]);
    }

    #[test]
    fn no_two_ticks_say_the_same() {
        let tenths = Axis { text: |value| format!("{value:.1}"), ..axis(true) };
        assert!(tenths.round(0.0, 0.1, UP).len() > 3, "steps of less than a tenth");
        let texts: Vec<String> =
            tenths.ticks(0.0, 0.1, UP).into_iter().map(|tick| (tenths.text)(10f64.powf(tick))).collect();
        assert!(texts.len() >= 3 && texts.windows(2).all(|two| two[0] != two[1]), "{texts:?}");
    }
}
