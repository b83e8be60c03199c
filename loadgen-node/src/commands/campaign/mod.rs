//! The command `campaign`: from one file to many runs, and to one table of them.
//!
//! - `run`: the runs, each a command of its own; `nodes`, `fleet_nodes`: the nodes that are started for them;
//!   `links`: the rates of links; `progress`: the lines meanwhile; `doctor`: the machines before the start; `import`:
//!   the file, made of DLI's configuration; here: the file, the plan and the table.

mod doctor;
mod fleet_nodes;
mod import;
mod links;
mod nodes;
mod progress;
mod run;

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};

use super::io::{path_text, print, print_in, print_text, write_new};
use crate::campaign::chart::ChartOf;
use crate::campaign::checked::Campaign;
use crate::campaign::dli::Performance;
use crate::campaign::render::RenderedJob;
use crate::campaign::rows::Columns;
use crate::campaign::template::TEMPLATE;
use crate::campaign::{dli, forms, page, rows, stored_plan};
use crate::cli::{CampaignArgs, CampaignCommand, Format, Scheduler, TableArgs};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::campaign::CampaignPlan;
use lon_run::outputs::run_folder::folder;

/// Does what the command asks for.
pub(crate) fn campaign(args: &CampaignArgs) -> Outcome {
    match &args.what {
        CampaignCommand::Init { file } => init(file),
        CampaignCommand::Import { file, out } => import::import(file, out.as_deref()),
        CampaignCommand::Plan { file, form } => plan(&read(file)?, form.check()),
        CampaignCommand::Doctor { file, form } => doctor::doctor(&read(file)?, form.check()),
        CampaignCommand::Run(args) => {
            let fleet =
                args.fleet.as_deref().map(std::path::absolute).transpose().context("--fleet").or_exit(Exit::Usage)?;
            run::run(&read(&args.file)?, args, fleet.as_deref())
        }
        CampaignCommand::Render { file, scheduler, image } => {
            let absolute = std::path::absolute(file).with_context(|| path_text(file)).or_exit(Exit::Usage)?;
            render(&read(file)?, &absolute, *scheduler, image)
        }
        CampaignCommand::Table(args) => {
            // From where the command was typed.
            let absolute = |path: &Option<PathBuf>| {
                path.as_deref().map(|path| std::path::absolute(path).with_context(|| path_text(path))).transpose()
            };
            let files = absolute(&args.html).and_then(|html| Ok(Files { html, parquet: absolute(&args.parquet)? }));
            let files = files.or_exit(Exit::Usage)?;
            table(args, &read(&args.file)?, &files)
        }
    }
}

/// Files that are written beside the table, by absolute paths.
struct Files {
    html: Option<PathBuf>,
    parquet: Option<PathBuf>,
}

/// Reads the file, and goes to its folder: all paths in it are from there.
fn read(file: &Path) -> Outcome<Campaign> {
    let campaign = Campaign::read(file).or_exit(Exit::Usage)?;
    if let Some(folder) = file.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let message = || format!("cannot go to {}", path_text(folder));
        std::env::set_current_dir(folder).with_context(message).or_exit(Exit::Usage)?;
    }
    Ok(campaign)
}

fn init(file: &Path) -> Outcome {
    write_new(file, TEMPLATE)?;
    print(&format!("{0} is written: change it, then loadgen-node campaign plan {0}", path_text(file)))
}

fn plan(campaign: &Campaign, form: Format) -> Outcome {
    let document = campaign.plan()?;
    print_in(form, &document, || print_text(&document.text()), || document.table())
}

/// Keeps the plan, so that all tasks have the same one, and prints the job.
fn render(campaign: &Campaign, file: &Path, scheduler: Scheduler, image: &str) -> Outcome {
    let plan = match campaign.frozen().or_exit(Exit::Usage)? {
        Some(plan) => plan,
        None => {
            let plan = campaign.plan()?;
            let out = &campaign.out;
            let cannot = || format!("cannot make {}", out.display());
            std::fs::create_dir_all(out).with_context(cannot).or_exit(Exit::Usage)?;
            campaign.freeze(&plan).or_exit(Exit::Usage)?;
            plan
        }
    };
    let job = RenderedJob::new(campaign, &plan, file).or_exit(Exit::Usage)?;
    match scheduler {
        Scheduler::Slurm => print_text(&job.slurm()),
        Scheduler::Kubernetes => print_text(&job.kubernetes(image)),
    }
}

fn table(args: &TableArgs, campaign: &Campaign, files: &Files) -> Outcome {
    let columns = Columns::named(&args.columns).context("--columns").or_exit(Exit::Usage)?;
    let plan = stored_plan(campaign)?;
    if args.dli_accuracy {
        return print_text(&dli::accuracy_csv(campaign, &plan).or_exit(Exit::Usage)?);
    }
    if args.dli {
        return dli_table(campaign, &plan, files);
    }
    let cell_table = rows::table(&campaign.out, &plan, &columns).or_exit(Exit::Usage)?;
    if let Some(path) = &files.parquet {
        if path.exists() {
            return Err(anyhow!("--parquet {}: it is there already", path_text(path))).or_exit(Exit::Usage);
        }
        folder::write_file(path, |out| forms::parquet(&cell_table, out)).or_exit(Exit::Usage)?;
    }
    if let Some(path) = &files.html {
        let of = ChartOf { x: args.x.clone(), y: args.y.clone() };
        let title = format!("Campaign {}", campaign.out.display());
        let links_from = links_from(&campaign.out, path).or_exit(Exit::Usage)?;
        let text = page::page(&title, &cell_table, &campaign.out, &links_from, &of).or_exit(Exit::Usage)?;
        write_page(path, &text)?;
    }
    match args.form.check() {
        Format::Text => print_text(&forms::text(&cell_table)),
        Format::Json => super::io::print_json_pretty(&cell_table),
        Format::Csv => print_text(&forms::csv(&cell_table)),
        Format::Md => print_text(&forms::markdown(&cell_table, &campaign.out)),
    }
}

/// Prints the table of DLI, and writes its page.
fn dli_table(campaign: &Campaign, plan: &CampaignPlan, files: &Files) -> Outcome {
    let performance = Performance::read(campaign, plan).or_exit(Exit::Usage)?;
    if let Some(path) = &files.html {
        write_page(path, &performance.page(&format!("Campaign {}: DLI", campaign.out.display())))?;
    }
    print_text(&performance.csv())
}

fn write_page(path: &Path, text: &str) -> Outcome<()> {
    folder::write_page(path, text).or_exit(Exit::Usage)?;
    tracing::info!(file = path_text(path), "the page is written");
    Ok(())
}

/// The plan of a campaign that was begun.
fn stored_plan(campaign: &Campaign) -> Outcome<CampaignPlan> {
    let plan = stored_plan::read(&campaign.out).or_exit(Exit::Usage)?;
    let error = || anyhow!("{} has no campaign.json: `campaign run` makes it", campaign.out.display());
    plan.ok_or_else(error).or_exit(Exit::Usage)
}

/// The path of the campaign's folder from a page: empty where the page lies in it.
fn links_from(out: &Path, page: &Path) -> anyhow::Result<String> {
    let real = |path: &Path| path.canonicalize().with_context(|| path_text(path));
    let (out, above) = (real(out)?, page.parent().map(real).transpose()?);
    Ok(if above.as_deref() == Some(out.as_path()) { String::new() } else { out.display().to_string() })
}
