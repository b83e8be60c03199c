//! The command `probe`: measures the fabric, prints, says what it would carry, and holds it against what it was.
//!
//! | file | what it has |
//! |---|---|
//! | `baseline` | a probe compared with an earlier one: `--against` |
//! | `matrix_lines` | the text of `--matrix` |
//! | `need_lines` | the text of `--require` |
//! | `transport_lines` | the text of `--transport all` |
//! | `watch_lines` | the text of `--watch` |
//! | `table` | a probe as one table: `--format csv` and `md` |

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, anyhow};
use lon_net::descriptors;
use lon_qsl::codec_advice::Figures;
use lon_shell::documents::of_text;

use crate::cli::{Format, ProbeArgs, ProbeRequest};
use crate::commands::io::{input_text, path_text, print, print_in, print_json};
use lon_run::exit::{Exit, Failure, OrExit as _, Outcome};
use lon_run::network::fabric::Fabric;
use lon_run::outputs::documents;
use lon_run::outputs::documents::probe::matrix::MatrixDocument;
use lon_run::outputs::documents::probe::needs::NeedsDocument;
use lon_run::outputs::documents::probe::watch::{WatchDocument, WatchSum};
use lon_run::outputs::documents::probe::{AskedDocument, CarriedDocument, FabricDocument, ProbeDocument};
use lon_run::outputs::run_folder::folder;
use lon_run::probe::capacity::Selection;
use lon_run::probe::needs::{Need, Rate};
use lon_run::probe::{ProbeError, capacity, failed, matrix, measure, needs, watch};
use lon_run::signals::{Leaves, Signals};
use lon_run::test_run::kserve;

mod baseline;
mod matrix_lines;
mod need_lines;
mod table;
mod transport_lines;
mod watch_lines;

/// The protocol whose segments the arithmetic of `--link-rate` counts.
const COUNTED: &str = "TCP";

/// Message for an error that ends a probe early.
const EARLY: &str = "the probe ended early; what it had measured was printed";

/// Measurements of the codecs beside the first one, while decompression alone decides that rates are not carried.
const CODECS_AGAIN: usize = 2;

/// `probe`: measures over each transport, prints, and judges.
pub(crate) fn probe(args: &ProbeArgs) -> Outcome {
    if let Some(bits_per_s) = args.carries.link_rate {
        return of_a_link(args, bits_per_s);
    }
    refuse(args)?;
    let baseline = args.accept.against.as_deref().map(|file| Ok((file, stored(file)?))).transpose()?;
    let signals = Signals::catch(Leaves::Nothing).context("cannot handle signals").or_exit(Exit::Bug)?;
    let request = args.check()?;
    if let Some((file, before)) = &baseline {
        let transports: Vec<&str> = request.targets.iter().map(|target| target.peers.transport().name()).collect();
        let has_matrix = args.plan.matrix.matrix;
        compared(baseline::comparable(before, &transports, has_matrix, &path_text(file)))?;
        compared(baseline::same_flags(before.asked.as_ref(), &AskedDocument::from(&request.plan), &path_text(file)))?;
    }
    if let Some(interval) = args.plan.watch {
        return watched(args, &request, interval, &signals);
    }
    if args.plan.matrix.matrix {
        request.targets.iter().try_for_each(|target| matrix::check(target, &request.plan))?;
    }
    let (fabrics, mut outcome) = measured(&request, baseline.as_ref().map(|(file, before)| (*file, before)), &signals)?;
    let mut matrices = Vec::new();
    if args.plan.matrix.matrix && outcome.is_ok() {
        (matrices, outcome) = measured_among_each_other(args, &request, &signals)?;
    }
    let early = match &args.accept.save {
        Some(path) => format!("{EARLY}, and --save wrote no {}: probe again", path_text(path)),
        None => EARLY.to_owned(),
    };
    let outcome = outcome.map_err(|error| failed(error, early));
    let Some((first, others)) = fabrics.split_first() else { return Ok(Exit::Ok) };
    let best = fabrics.iter().max_by(|a, b| a.narrower().total_cmp(&b.narrower())).unwrap_or(first);
    warn_of_missing(&fabrics);
    let decoders = best.decoders();
    if !request.selection.codecs.is_empty() && decoders > 0 {
        tracing::info!("measuring codecs, for the capacity with each of them");
    }
    let carried = capacity::table(best.together.up, best.together.down, decoders, &request.selection);
    let needs = needed(&args.carries.require, &request.selection, best)?;
    let mut document = ProbeDocument {
        asked: Some(AskedDocument::from(&request.plan)),
        fabric: FabricDocument::from(first),
        other_transports: others.iter().map(FabricDocument::from).collect(),
        carries: carried.iter().map(CarriedDocument::from).collect(),
        needs: needs.as_deref().map(|needs| NeedsDocument::new(&args.carries.require, needs)),
        matrix: matrices,
        against: None,
        ended_early: outcome.as_ref().err().map(Failure::one_line),
    };
    // A probe that ended early is no baseline, and is not compared with one.
    if let (Some((file, before)), Ok(())) = (&baseline, &outcome) {
        let against = baseline::compare(before, &document, args.accept.tolerance, &path_text(file));
        document.against = Some(compared(against)?);
    }
    if let (Some(path), Ok(())) = (&args.accept.save, &outcome) {
        folder::write_file(path, |out| documents::write(out, &document)).or_exit(Exit::Bug)?;
        warn_of_scatter(&document, args.accept.tolerance);
    }
    let is_text = args.form.check() == Format::Text;
    let left_out = capacity::left_out(&request.selection, &carried);
    if !is_text && !left_out.is_empty() {
        tracing::warn!(benchmarks = left_out.join("; "), "benchmarks have no capacity");
    }
    let text = || {
        let mut text = fabrics.iter().map(Fabric::text).collect::<Vec<_>>().join("\n");
        text.push_str(&transport_lines::text(&fabrics));
        let mut of = format!("this fabric over {}", best.transport);
        if fabrics.len() > 1 && !carried.is_empty() {
            of.push_str(", the transport with the highest goodput");
        }
        text.push_str(&capacity::text(&carried, &of, decoders, &request.selection));
        text.extend(document.needs.as_ref().map(|needs| need_lines::text(needs, best.transport)));
        text.extend(document.matrix.iter().map(matrix_lines::text));
        text.extend(document.against.as_ref().map(baseline::text));
        if let (Some(path), Ok(())) = (&args.accept.save, &outcome) {
            text.push_str(&baseline::saved(&document, args.accept.tolerance, &path_text(path)));
        }
        print(text.trim_end())
    };
    print_in(args.form.check(), &document, text, || table::table(&document))?;
    outcome?;
    Ok(judged(&document))
}

/// Refuses flags that no probe can follow.
fn refuse(args: &ProbeArgs) -> Outcome<()> {
    if args.sut.is_none() {
        let why = anyhow!("give --sut NODES, or --link-rate RATE for arithmetic without nodes");
        return Err(why).or_exit(Exit::Usage);
    }
    if let Some(other) = args.transport.each().into_iter().find(|transport| transport.peer_kind().no_probe.is_some()) {
        return Err(anyhow!(kserve::no_probe())).context(format!("--transport {other}")).or_exit(Exit::Usage);
    }
    let folder = args.accept.save.as_deref().and_then(Path::parent).filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder.filter(|folder| !folder.is_dir()) {
        return Err(anyhow!("--save: the folder {} does not exist", path_text(folder))).or_exit(Exit::Usage);
    }
    if let Some(path) = args.accept.save.as_deref().filter(|path| path.exists()) {
        let why = anyhow!("--save {}: the file exists; choose a new name, or remove it", path_text(path));
        return Err(why).or_exit(Exit::Usage);
    }
    Ok(())
}

/// The exit code of a probe that measured to its end. A failure counts before what is undecided.
fn judged(document: &ProbeDocument) -> Exit {
    let is_even = document.matrix.iter().all(|matrix| matrix.judgement.suspects.is_empty());
    let is_carried = |needs: &NeedsDocument| needs.by_codec.iter().any(|need| need.is_carried);
    let is_enough = document.needs.as_ref().is_none_or(is_carried);
    match &document.against {
        _ if !is_even || !is_enough => Exit::Invalid,
        Some(against) if against.is_undecided() => Exit::Usage,
        Some(against) if !against.passed => Exit::Invalid,
        _ => Exit::Ok,
    }
}

/// Goodputs that were tried and are not known leave the question of the probe open.
fn warn_of_missing(fabrics: &[Fabric]) {
    for fabric in fabrics {
        for (node, reason) in fabric.missing() {
            tracing::warn!(transport = fabric.transport, node, reason, "a goodput was not measured");
        }
    }
}

/// A baseline that scatters, or is that of a busy host, decides nothing later.
fn warn_of_scatter(document: &ProbeDocument, tolerance: f64) {
    let starved = baseline::starved(document);
    if !starved.is_empty() {
        let advice = "stop other programs on that host, then save it again under another name";
        tracing::warn!(ends = starved.join("; "), advice, "the baseline is that of a busy host");
    }
    let unsteady = baseline::unsteady(document, tolerance);
    if !unsteady.is_empty() {
        let advice = "longer --duration or more --repeats";
        let percent = tolerance * 100.0;
        tracing::warn!(
            goodputs = unsteady.join("; "),
            percent,
            advice,
            "the baseline scatters more than the tolerance"
        );
    }
}

/// A comparison, or the reason why there is none as a failure of `--against`.
fn compared<T>(outcome: Result<T, String>) -> Outcome<T> {
    outcome.map_err(|why| anyhow!(why)).context("--against").or_exit(Exit::Usage)
}

/// `--link-rate`: the capacity of a link, by arithmetic alone.
fn of_a_link(args: &ProbeArgs, bits_per_s: f64) -> Outcome {
    if args.form.check() != Format::Text {
        return Err(anyhow!("--link-rate prints text: without --json and --format")).or_exit(Exit::Usage);
    }
    if !args.carries.require.is_empty() {
        let why =
            anyhow!("--link-rate asks no node, and --require needs what nodes measure: give --sut NODES in its place");
        return Err(why).or_exit(Exit::Usage);
    }
    if !args.carries.codecs.is_empty() {
        let why =
            "--link-rate knows no processors that decompress: leave --codecs out, or give --sut NODES in its place";
        return Err(anyhow!(why)).or_exit(Exit::Usage);
    }
    if let Some(other) = args.transport.each().into_iter().find(|transport| transport.segments() != COUNTED) {
        let why = anyhow!("--link-rate counts {COUNTED} segments, and {other} has none: leave --transport out");
        return Err(why).or_exit(Exit::Usage);
    }
    // Codecs take processors, of which nothing is known here.
    let selection = Selection { codecs: Vec::new(), ..args.carries.check() };
    let (share, over) = needs::line(&Fabric::default());
    let payload = bits_per_s * share;
    let carried = capacity::table(Some(payload), Some(payload), 0, &selection);
    let [rate, payload] = [bits_per_s, payload].map(lon_proto::figures::bit_rate);
    let of = format!("a link of {rate} each way ({over}: payload {payload})");
    print(capacity::text(&carried, &of, 0, &selection).trim())
}

/// Fabric found over each transport, and the outcome of the probe.
type Measured = (Vec<Fabric>, Result<(), ProbeError>);

/// Measures over each transport; `baseline`: the probe with which this one is compared, and its file.
fn measured(request: &ProbeRequest, baseline: Option<(&Path, &ProbeDocument)>, signals: &Signals) -> Outcome<Measured> {
    let mut fabrics = Vec::new();
    for (at, target) in request.targets.iter().enumerate() {
        // A control connection to each node, and those that are filled.
        let each = 1 + request.plan.most_connections().get() as u64;
        descriptors::enough_for(target.peers.addresses().len(), each).or_exit(Exit::Usage)?;
        let qdl = target.connect()?;
        if let Some((file, before)) = baseline.and_then(|(file, before)| Some((file, before.fabrics().nth(at)?))) {
            let names: Vec<&str> = qdl.nodes().iter().map(|node| node.name.as_str()).collect();
            compared(baseline::same_nodes(before, &names, &path_text(file)))?;
        }
        let (fabric, outcome) = measure(&qdl, target.peers.transport().name(), &request.plan, signals)?;
        fabrics.push(fabric);
        if outcome.is_err() {
            return Ok((fabrics, outcome));
        }
    }
    Ok((fabrics, Ok(())))
}

/// Has the nodes measure each other over each transport. Returns the judged matrices and the outcome.
fn measured_among_each_other(
    args: &ProbeArgs,
    request: &ProbeRequest,
    signals: &Signals,
) -> Outcome<(Vec<MatrixDocument>, Result<(), ProbeError>)> {
    let (tolerance, mut documents, mut outcome) = (args.accept.tolerance, Vec::new(), Ok(()));
    for target in &request.targets {
        let (measurement, ended) =
            matrix::measure(target, &request.plan, args.plan.matrix.at_once, tolerance, signals)?;
        documents.push(MatrixDocument::new(&measurement, &measurement.judge(tolerance), tolerance));
        // Measurements over another transport are worth knowing all the same, unless the user wants to stop.
        let is_over = matches!(ended, Err(ProbeError::Interrupted));
        outcome = outcome.and(ended);
        if is_over {
            break;
        }
    }
    Ok((documents, outcome))
}

/// Returns the needs of the required rates; `None` when nothing is required.
fn needed(rates: &[Rate], selection: &Selection, fabric: &Fabric) -> Outcome<Option<Vec<Need>>> {
    if rates.is_empty() {
        return Ok(None);
    }
    let measured = || -> Vec<Vec<Figures>> {
        rates.iter().map(|rate| capacity::figures(rate.benchmark, &selection.codecs, selection.round)).collect()
    };
    let judged = |figures: &[Vec<Figures>]| -> Outcome<Vec<Need>> {
        let demands = needs::demands(rates, figures, &selection.codecs);
        let demands = demands.map_err(|why| anyhow!(why)).or_exit(Exit::Usage)?;
        Ok(demands.into_iter().map(|demand| needs::need(demand, fabric)).collect())
    };
    let mut figures = measured();
    let mut needs = judged(&figures)?;
    // Another program may have disturbed the measurement of a codec, which must not decide the exit code.
    for _ in 0..CODECS_AGAIN {
        if !needs::decompression_decides(&needs) {
            break;
        }
        tracing::info!("decompression alone falls short: measuring the codecs once more");
        figures = capacity::faster(figures, measured());
        needs = judged(&figures)?;
    }
    Ok(Some(needs))
}

/// A stored probe.
fn stored(file: &Path) -> Outcome<ProbeDocument> {
    let message = || format!("--against {}: it is no file of probe --save", path_text(file));
    let text =
        input_text(file).map_err(|Failure { exit, error }| Failure { exit, error: error.context("--against") })?;
    of_text(&text).map_err(|_| anyhow!(message())).or_exit(Exit::Usage)
}

/// `--watch`: a line for each interval, and the sum.
fn watched(args: &ProbeArgs, request: &ProbeRequest, interval: Duration, signals: &Signals) -> Outcome {
    let [target] = &request.targets[..] else {
        return Err(anyhow!("--watch watches one transport: name it with --transport")).or_exit(Exit::Usage);
    };
    let is_json = match args.form.check() {
        Format::Text => false,
        Format::Json => true,
        Format::Csv | Format::Md => {
            return Err(anyhow!("--watch prints a line at a time: with --format text or json")).or_exit(Exit::Usage);
        }
    };
    let qdl = target.connect()?;
    let names: Vec<String> = qdl.nodes().iter().map(|node| node.name.clone()).collect();
    let show = |interval: &watch::Interval| {
        let document = WatchDocument::new(interval, &names);
        if is_json { print_json(&document) } else { print(&watch_lines::line(&document)) }.map(drop)
    };
    let (sum, outcome) = watch::watch(&qdl, &request.plan, interval, signals, show)?;
    let outcome = outcome.map_err(|error| failed(error, "the watch ended early"));
    let sum = WatchSum::new(&sum, outcome.as_ref().err().map(Failure::one_line));
    if is_json {
        print_json(&sum)?
    } else {
        print(&watch_lines::sum(&sum))?
    };
    outcome.map(|()| Exit::Ok)
}
