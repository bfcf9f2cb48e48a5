//! Offered against answered as an SVG: at each offered rate, what was answered in time, what late, what failed, one
//! upon the other, so that together they reach the diagonal.

use crate::figures::rate;
use plotters::prelude::*;
use run::capacity::Document;
use run::{RateEnding, RatePoint};
use small_sort::SmallSort;

const SIZE: (u32, u32) = (960, 600);
// Colours that are distinct without red and green (Okabe and Ito).
const IN_TIME: RGBColor = RGBColor(0, 114, 178);
const LATE: RGBColor = RGBColor(230, 159, 0);
const FAILED: RGBColor = RGBColor(204, 51, 17);
const INK: RGBColor = RGBColor(51, 51, 51);
const FAINT: RGBColor = RGBColor(225, 225, 225);

/// The chart; a plain notice where there is nothing to draw.
pub fn chart(document: &Document) -> String {
    let mut text = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut text, SIZE).into_drawing_area();
        draw(document, &area).and_then(|()| area.present().map_err(|e| e.to_string()))
    };
    // Drawing into memory fails for nothing but ranges without extent, which `draw` excludes.
    match drawn {
        Ok(()) => text,
        Err(why) => format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\"><text y=\"20\">no chart: {}</text></svg>",
            why.replace(['<', '&'], " ")
        ),
    }
}

/// Where a layer begins or ends at a rate.
type Height = fn(&RatePoint) -> f64;
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

fn draw(document: &Document, area: &Area<'_>) -> Result<(), String> {
    let told = |e: DrawingAreaErrorKind<_>| e.to_string();
    let search = &document.search;
    let mut points: Vec<&RatePoint> = search.curve.iter().filter(|p| p.seconds > 0.0).collect();
    // By what was offered in truth: chance gives a short window more or fewer requests than were asked for.
    points.small_sort_by(|a, b| a.offered_per_s.total_cmp(&b.offered_per_s));
    let most = points.iter().map(|p| p.offered_per_s).fold(0.0, f64::max);
    let marks = [search.met_per_s, search.high_per_s];
    let widest = marks.into_iter().flatten().fold(most, f64::max).max(1e-3) * 1.04;
    area.fill(&WHITE).map_err(told)?;
    let objective = search.objective;
    let kept = objective.to_string();
    let title = match search.met_per_s {
        Some(met) => format!("{} requests a second meet {kept}", rate(met)),
        None if search.ending == RateEnding::NotEven => {
            format!("No rate that was offered meets {kept}")
        }
        None => format!("Which rate meets {kept} is not decided"),
    };
    let mut chart = ChartBuilder::on(area)
        .caption(title, ("sans-serif", 24).into_font().color(&INK))
        .margin(16)
        .x_label_area_size(52)
        .y_label_area_size(70)
        .build_cartesian_2d(0.0..widest, 0.0..widest * 1.02)
        .map_err(told)?;
    chart
        .configure_mesh()
        .x_desc("offered: requests per second, at random moments")
        .y_desc("what became of them: requests per second")
        .axis_desc_style(("sans-serif", 17).into_font().color(&INK))
        .label_style(("sans-serif", 15).into_font().color(&INK))
        .light_line_style(TRANSPARENT)
        .bold_line_style(FAINT)
        .axis_style(INK)
        .x_label_formatter(&|v| short(*v))
        .y_label_formatter(&|v| short(*v))
        .draw()
        .map_err(told)?;

    // The interval lies under the series, its marks above them.
    if let (Some(low), Some(high)) = (search.low_per_s, search.high_per_s) {
        let band = Rectangle::new([(low, 0.0), (high, widest * 1.02)], FAINT.mix(0.6).filled());
        chart.draw_series([band]).map_err(told)?;
    }
    let layers: [(&str, RGBColor, Height, Height); 3] = [
        ("answered in time", IN_TIME, |_| 0.0, |p| p.in_time_per_s),
        (
            "answered late",
            LATE,
            |p| p.in_time_per_s,
            |p| p.in_time_per_s + p.late_per_s,
        ),
        (
            "failed",
            FAILED,
            |p| p.in_time_per_s + p.late_per_s,
            |p| p.offered_per_s,
        ),
    ];
    for (name, colour, from, to) in layers {
        // Nothing offered, nothing answered: every layer begins there.
        let upper = points.iter().map(|p| (p.offered_per_s, to(p)));
        let upper = std::iter::once((0.0, 0.0)).chain(upper);
        let lower = points.iter().rev().map(|p| (p.offered_per_s, from(p)));
        let outline: Vec<(f64, f64)> = upper.chain(lower).collect();
        chart
            .draw_series([Polygon::new(outline, colour.mix(0.75))])
            .map_err(told)?
            .label(name)
            .legend(move |(x, y)| {
                Rectangle::new([(x, y - 6), (x + 18, y + 6)], colour.mix(0.75).filled())
            });
    }
    let dots = points.iter().map(|p| (p.offered_per_s, p.in_time_per_s));
    let dots = dots.map(|at| Circle::new(at, 3, IN_TIME.filled()));
    chart.draw_series(dots).map_err(told)?;
    chart
        .draw_series(LineSeries::new([(0.0, 0.0), (most, most)], INK.mix(0.5)))
        .map_err(told)?
        .label("all that was offered")
        .legend(|(x, y)| PathElement::new([(x, y), (x + 18, y)], INK.mix(0.5)));
    if let Some(met) = search.met_per_s {
        let interval = match (search.low_per_s, search.high_per_s) {
            (Some(low), Some(high)) => format!(" ({} to {})", rate(low), rate(high)),
            _ => " (no interval)".to_owned(),
        };
        chart
            .draw_series(LineSeries::new(
                [(met, 0.0), (met, widest * 1.02)],
                INK.stroke_width(2),
            ))
            .map_err(told)?
            .label(format!(
                "highest that meets {kept}: {}{interval}",
                rate(met)
            ))
            .legend(|(x, y)| {
                PathElement::new([(x + 9, y - 8), (x + 9, y + 8)], INK.stroke_width(2))
            });
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperLeft)
        .background_style(WHITE.mix(0.9))
        .border_style(FAINT)
        .label_font(("sans-serif", 15).into_font().color(&INK))
        .margin(12)
        .draw()
        .map_err(told)?;
    Ok(())
}

/// An axis label: whole numbers where these are distinct.
fn short(value: f64) -> String {
    if value.fract().abs() < 1e-9 {
        format!("{value:.0}")
    } else {
        format!("{value:.1}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_is_labelled_as_shortly_as_it_can_be() {
        assert_eq!(
            (short(40.0), short(2.5)),
            ("40".to_owned(), "2.5".to_owned())
        );
    }
}
