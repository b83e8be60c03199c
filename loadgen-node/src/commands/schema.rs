//! The command `schema`: JSON Schemas of the documents that the programs write.

use anyhow::anyhow;

use super::io::{print_in, print_text};
use crate::cli::{Format, SchemaArgs};
use lon_run::exit::{Exit, OrExit as _, Outcome};
use lon_run::outputs::documents::schema_list::SchemaList;
use lon_run::outputs::documents::schemas::{KINDS, Kind};

/// Prints one schema, or what there is.
pub(crate) fn schema(args: &SchemaArgs) -> Outcome {
    let Some(name) = &args.name else {
        let list = SchemaList::new(KINDS.map(|kind| (kind.name, kind.about)));
        let form = if args.json { Format::Json } else { args.format.unwrap_or(Format::Text) };
        return print_in(form, &list, || print_text(&list.table().aligned()), || list.table());
    };
    let kind = Kind::find(name).ok_or_else(|| anyhow!("there is no document {name}")).or_exit(Exit::Usage)?;
    print_text(kind.schema)
}
