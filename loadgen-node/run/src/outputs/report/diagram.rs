//! `system_diagram.svg`: LoadGen node, network and SUT nodes as a picture, drawn from `system_desc.json` and nothing
//! else.
//!
//! Switches and cables are not seen from the ends: the box between them says what the user states of them.

use std::fmt::Write as _;

use lon_machine::host::Host;
use lon_proto::figures;
use lon_proto::text::printable_within;

use crate::outputs::documents::system_desc::{SutSystem, SystemDesc};

/// Name in the run folder.
pub(crate) const FILE: &str = "system_diagram.svg";

/// Nodes that are drawn one by one; of more there is a box with their number.
const NODES: usize = 8;
/// The most characters of a line; longer ones are cut off.
const CHARS: usize = 46;
/// Sizes in pixels: the width of a box, the gap between boxes, the height of a line, and the room around text.
const WIDTH: usize = 340;
const GAP: usize = 70;
const LINE: usize = 18;
const ROOM: usize = 12;

/// A box: its title, and lines below it.
#[derive(Debug, Default)]
struct Panel {
    title: String,
    lines: Vec<String>,
}

/// The picture of a system.
pub fn svg(desc: &SystemDesc) -> String {
    let mut nodes: Vec<Panel> = desc.sut.iter().take(NODES).map(node).collect();
    if let Some(more) = desc.sut.len().checked_sub(NODES).filter(|more| *more > 0) {
        let all = format!("{} in all; system_desc.json has each of them", desc.sut.len());
        nodes.push(Panel { title: format!("and {more} more SUT nodes"), lines: vec![all] });
    }
    draw(&loadgen(desc), &network(desc), &nodes)
}

fn loadgen(desc: &SystemDesc) -> Panel {
    let mut lines = vec![desc.loadgen.software.clone()];
    lines.extend(machine(&desc.loadgen.host, &desc.loadgen.nics_used));
    Panel { title: "LoadGen node".to_owned(), lines }
}

fn node(node: &SutSystem) -> Panel {
    let mut lines = vec![node.software.clone(), format!("engine: {}", node.engine)];
    if !node.setup.model.is_empty() {
        lines.push(format!("model: {}", node.setup.model));
    }
    lines.extend(machine(&node.host, &node.nics_used));
    Panel { title: format!("SUT node {}", node.name), lines }
}

/// Returns the facts of a machine, one line each. Facts that the machine does not report are left out.
fn machine(host: &Host, used: &[String]) -> Vec<String> {
    let mut lines = Vec::new();
    if !host.hostname.is_empty() {
        lines.push(format!("host: {}", host.hostname));
    }
    let cores = if host.cores > 0 { format!("{} cores", host.cores) } else { String::new() };
    let memory = figures::gib(host.memory_bytes);
    let parts = [host.cpu.as_str(), &cores, &memory];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    if !parts.is_empty() {
        lines.push(parts.join(", "));
    }
    for nic in host.nics.iter().filter(|nic| used.contains(&nic.name)) {
        let speed = nic.speed_mbit_s.map_or(String::new(), |speed| format!(", {} Gbit/s", speed as f64 / 1e3));
        let driver = if nic.driver.is_empty() { "virtual" } else { &nic.driver };
        lines.push(format!("NIC {}: {driver}{speed}", nic.name));
    }
    if used.is_empty() {
        lines.push("no NIC: not seen, or loopback".to_owned());
    }
    lines.extend(host.accelerators.iter().map(|device| format!("accelerator: {} {}", device.device, device.driver)));
    lines
}

fn network(desc: &SystemDesc) -> Panel {
    let text = |key: &str| desc.official.get(key).and_then(|value| value.as_str()).unwrap_or_default();
    let line_of = |(what, key): (&str, &str)| Some(format!("{what}: {}", text(key))).filter(|_| !text(key).is_empty());
    let keys = [("type", "network_type"), ("rate of a link", "network_rate"), ("media", "network_media")];
    let mut lines: Vec<String> =
        text("network_protocol").replace(", layer", "; layer").split("; ").map(str::to_owned).collect();
    lines.extend(keys.into_iter().chain([("topology", "network_topology")]).filter_map(line_of));
    lines.push(format!("connections: {}", text("number_connections")));
    if text("network_topology").is_empty() {
        lines.push("topology: not stated".to_owned());
    }
    Panel { title: "Network".to_owned(), lines }
}

/// Draws the LoadGen node to the left, the network in the middle and the nodes below each other to the right.
fn draw(loadgen: &Panel, network: &Panel, nodes: &[Panel]) -> String {
    let mut below = ROOM;
    let mut places = Vec::new();
    for node in nodes {
        places.push(below);
        below += node.height() + ROOM;
    }
    let height = below.max(loadgen.height().max(network.height()) + 2 * ROOM);
    let width = 3 * WIDTH + 2 * GAP + 2 * ROOM;
    let [left, middle, right] = [0, 1, 2].map(|column| ROOM + column * (WIDTH + GAP));
    let centre = height / 2;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <title>System under test and LoadGen node</title>\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    );
    line(&mut svg, (left + WIDTH, centre), (middle, centre));
    for (node, top) in nodes.iter().zip(&places) {
        line(&mut svg, (middle + WIDTH, centre), (right, top + node.height() / 2));
    }
    loadgen.draw(&mut svg, left, centre.saturating_sub(loadgen.height() / 2), "#e3eefb");
    network.draw(&mut svg, middle, centre.saturating_sub(network.height() / 2), "#f3f3f3");
    for (node, top) in nodes.iter().zip(&places) {
        node.draw(&mut svg, right, *top, "#e6f4e6");
    }
    svg.push_str("</svg>\n");
    svg
}

impl Panel {
    fn height(&self) -> usize {
        (self.lines.len() + 1) * LINE + 2 * ROOM
    }

    fn draw(&self, svg: &mut String, x: usize, y: usize, fill: &str) {
        let height = self.height();
        let _ = writeln!(
            svg,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{WIDTH}\" height=\"{height}\" rx=\"6\" fill=\"{fill}\" \
             stroke=\"#555555\"/>"
        );
        let texts = std::iter::once(&self.title).chain(&self.lines);
        for (number, text) in texts.enumerate() {
            let (x, y) = (x + ROOM, y + ROOM + LINE * number + LINE - 4);
            let weight = if number == 0 { " font-weight=\"bold\"" } else { "" };
            let _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\"{weight}>{}</text>", escaped(text));
        }
    }
}

fn line(svg: &mut String, (x1, y1): (usize, usize), (x2, y2): (usize, usize)) {
    let _ = writeln!(svg, "<line x1=\"{x1}\" y1=\"{y1}\" x2=\"{x2}\" y2=\"{y2}\" stroke=\"#555555\"/>");
}

/// A text for XML, cut off where a box ends.
fn escaped(text: &str) -> String {
    printable_within(text, CHARS).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panel(title: &str, lines: &[&str]) -> Panel {
        Panel { title: title.to_owned(), lines: lines.iter().map(|&line| line.to_owned()).collect() }
    }

    #[test]
    fn every_box_is_drawn_once_and_linked() {
        let nodes = [panel("SUT node a", &["one"]), panel("SUT node b", &["one", "two"])];
        let svg = draw(&panel("LoadGen node", &["x"]), &panel("Network", &["TCP"]), &nodes);
        for title in ["LoadGen node", "Network", "SUT node a", "SUT node b"] {
            assert_eq!(svg.matches(&format!(">{title}<")).count(), 1, "{title}: {svg}");
        }
        assert_eq!((svg.matches("<line").count(), svg.matches("<rect").count()), (3, 5), "{svg}");
        assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"));
    }

    #[test]
    fn texts_of_others_stay_texts() {
        assert_eq!(escaped("a <b> & c"), "a &lt;b&gt; &amp; c");
        let long = escaped(&"x".repeat(100));
        assert_eq!(long.len(), CHARS + 3);
    }

    #[test]
    fn a_machine_that_tells_nothing_has_no_empty_lines() {
        let lines = machine(&Host::default(), &[]);
        assert_eq!(lines, ["no NIC: not seen, or loopback"]);
    }
}
