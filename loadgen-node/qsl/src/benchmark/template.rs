//! The start of a benchmark of the user's own: a file and a dataset of the right names, types and shapes, made for the
//! model that a SUT has.

use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use lon_proto::sample::{DType, Role, Signature, TensorSpec};
use lon_proto::text::on_one_line;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use crate::dataset::formats::npy;
use crate::dataset::{Dataset, OpenOptions};
use crate::encode::inputs::Inputs;

/// The samples of the dataset that is written. They are zeros.
pub const SAMPLES: usize = 16;

/// The size that stands for a free one.
pub const FREE_SIZE: u32 = 16;

/// A benchmark and a dataset for a model.
#[derive(Clone, Debug)]
pub struct Template<'a> {
    /// The name of the model.
    pub model: &'a str,
    /// The inputs of the model.
    pub inputs: &'a Signature,
    /// The outputs of the model; empty when they are not known.
    pub outputs: &'a Signature,
}

/// The reasons why there is no template.
#[derive(Debug, thiserror::Error)]
pub enum TemplateError {
    /// The SUT takes any sample.
    #[error("the SUT takes any sample, so there is nothing to write down: --benchmark synthetic is for it")]
    NoInputs,
    /// numpy has no such type.
    #[error("numpy has no type for the input '{0}': describe its samples in a manifest of raw tensors (dataset.toml)")]
    NoType(String),
    /// A file of this name is there.
    #[error("{} is there, and nothing is overwritten: give the benchmark file another name", .0.display())]
    Exists(PathBuf),
    /// A file cannot be written.
    #[error("cannot write {path}: {source}", path = path.display())]
    Write {
        /// The path of the file.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
}

impl Template<'_> {
    /// Writes the benchmark file at `path`, which ends in `.toml`, and the dataset beside it. Returns the path of the
    /// dataset.
    ///
    /// # Errors
    /// See [`TemplateError`]. Nothing that is there is overwritten.
    pub fn write(&self, path: &Path) -> Result<PathBuf, TemplateError> {
        let inputs: Vec<&TensorSpec> = self.inputs.iter().filter(|input| !input.is_optional).collect();
        if inputs.is_empty() {
            return Err(TemplateError::NoInputs);
        }
        let varies = inputs.iter().any(|input| input.own_dims().contains(&None));
        let data = match inputs[..] {
            _ if varies => path.with_extension(""),
            [_] => path.with_extension("npy"),
            _ => path.with_extension("npz"),
        };
        let write_error = |path: &Path| {
            let path = path.to_owned();
            move |source| TemplateError::Write { path, source }
        };
        for path in [path, &data] {
            if fs::exists(path).map_err(write_error(path))? {
                return Err(TemplateError::Exists(path.to_owned()));
            }
        }
        let arrays = arrays(&inputs, (!varies).then_some(SAMPLES))?;
        match &arrays[..] {
            _ if varies => {
                fs::create_dir(&data).map_err(write_error(&data))?;
                for sample in 0..SAMPLES {
                    let file = data.join(format!("{sample:04}.npz"));
                    zipped(&arrays, &file).map_err(write_error(&file))?;
                }
            }
            [(_, only)] => {
                let outcome = File::create_new(&data).and_then(|mut file| file.write_all(only));
                outcome.map_err(write_error(&data))?;
            }
            arrays => zipped(arrays, &data).map_err(write_error(&data))?,
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let outcome = File::create_new(path).and_then(|mut file| file.write_all(self.text(&name).as_bytes()));
        outcome.map_err(write_error(path))?;
        Ok(data)
    }

    /// The text of the benchmark file.
    fn text(&self, name: &str) -> String {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        let lines: Vec<String> = self.inputs.iter().map(ToString::to_string).collect();
        let inputs = match Inputs::parse(&lines) {
            Ok(_) => format!("inputs = [{}]", lines.iter().map(|line| quoted(line)).collect::<Vec<_>>().join(", ")),
            Err(reason) => format!("# inputs cannot be written down here: {}", on_one_line(&reason)),
        };
        let kind = if Inputs::of(self.inputs).tokens().is_ok() { "token-ids" } else { "tensors" };
        let (model, outputs) = (on_one_line(self.model), on_one_line(&self.outputs.to_string()));
        format!(
            "# A benchmark for {model}. Its name is that of this file.\n\
             name = {}\n\
             about = {}\n\
             # Settings that it has unless others are given; the latency in ms.\n\
             settings = [\"Server.target_qps=100\", \"Server.target_latency=100\"]\n\
             \n\
             [dataset]\n\
             kind = \"{kind}\"\n\
             {inputs}\n\
             example = {}\n\
             \n\
             # To have answers scored: lay the right ones beside the samples (labels.txt, a whole number a line, or\n\
             # labels.npy of int32 or int64), and take the # from the last three lines. The first output is scored:\n\
             # scores of classes, or the number of a class, of: {outputs}\n\
             # [accuracy]\n\
             # metric = \"top1\"\n\
             # target = 90.0\n",
            quoted(name),
            quoted(&model),
            quoted(&self.example()),
        )
    }

    /// A description of synthetic samples of the same types and shapes.
    fn example(&self) -> String {
        let part = |input: &TensorSpec| {
            let kind = match input.dtype {
                DType::F16 | DType::Bf16 | DType::F32 | DType::F64 | DType::U8 => "",
                // Any number may be no place in a table.
                _ if Role::of(&input.name) == Role::Types => "zeros-",
                _ => "ones-",
            };
            let dims: Vec<String> = sizes(input).iter().map(ToString::to_string).collect();
            format!("{kind}{}[{}]", input.dtype, dims.join(","))
        };
        let required = self.inputs.iter().filter(|input| !input.is_optional);
        let example = format!("synthetic:{}x64", required.map(part).collect::<Vec<_>>().join("+"));
        let is_taken = Dataset::open(&example, &OpenOptions::default()).is_ok();
        if is_taken { example } else { "synthetic:u8[64]x64".to_owned() }
    }
}

/// The sizes of a sample of this input.
fn sizes(input: &TensorSpec) -> Vec<u32> {
    input.own_dims().iter().map(|dim| dim.unwrap_or(FREE_SIZE)).collect()
}

/// Files of numpy with zeros, one for each input: of one sample, or of so many along the first axis.
fn arrays<'i>(inputs: &[&'i TensorSpec], samples: Option<usize>) -> Result<Vec<(&'i str, Vec<u8>)>, TemplateError> {
    let array = |&input: &&'i TensorSpec| {
        let own = sizes(input).into_iter().map(|dim| dim as usize);
        let shape: Vec<usize> = samples.into_iter().chain(own).collect();
        let zeros = npy::zeros(input.dtype, &shape).ok_or_else(|| TemplateError::NoType(input.to_string()))?;
        Ok((input.name.as_str(), zeros))
    };
    inputs.iter().map(array).collect()
}

/// Writes a `.npz` file of these arrays.
fn zipped(arrays: &[(&str, Vec<u8>)], path: &Path) -> io::Result<()> {
    let mut zip = ZipWriter::new(File::create_new(path)?);
    for (name, array) in arrays {
        zip.start_file(format!("{name}.npy"), SimpleFileOptions::default())?;
        zip.write_all(array)?;
    }
    zip.finish()?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::benchmark::Benchmark;

    fn signature(specs: &[(&str, DType, &[i64])]) -> Signature {
        let spec = |&(name, dtype, dims): &(&str, DType, &[i64])| {
            TensorSpec::new(name, dtype, dims.iter().map(|&dim| u32::try_from(dim).ok()).collect())
        };
        Signature::new(specs.iter().map(spec).collect())
    }

    /// The files that are written are taken as they are.
    #[test]
    fn the_benchmark_takes_the_dataset_and_the_model_its_samples() {
        for (inputs, file) in [
            (signature(&[("x", DType::F32, &[-1, 3, 4])]), "mine.npy"),
            (signature(&[("ids", DType::I64, &[-1, 8]), ("limit", DType::I32, &[])]), "mine.npz"),
            (signature(&[("ids", DType::I64, &[-1, -1]), ("mask", DType::I64, &[-1, -1])]), "mine"),
        ] {
            let outputs = signature(&[("y", DType::F32, &[-1, 10])]);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("mine.toml");
            let template = Template { model: "a \"model\".onnx", inputs: &inputs, outputs: &outputs };
            let data = template.write(&path).unwrap();
            assert_eq!(data, folder.path().join(file));
            let benchmark = Benchmark::named(path.to_str().unwrap()).unwrap();
            let dataset = benchmark.open(data.to_str()).unwrap();
            assert_eq!(dataset.total_count(), SAMPLES);
            dataset.fits_model(&inputs).unwrap();
            let text = fs::read_to_string(&path).unwrap();
            assert!(text.contains("of: y f32[N,10]"), "{text}");
            let error = template.write(&path).unwrap_err().to_string();
            assert!(error.contains("mine.toml"), "{error}");
            // With the accuracy, the last three lines.
            let accuracy = text.find("# [accuracy]").unwrap();
            let scored = format!("{}{}", &text[..accuracy], text[accuracy..].replace("# ", ""));
            fs::write(&path, &scored).unwrap();
            assert!(Benchmark::named(path.to_str().unwrap()).unwrap().accuracy.is_some(), "{scored}");
        }
    }

    #[test]
    fn what_cannot_be_written_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("mine.toml");
        let (none, bf16) = (Signature::default(), signature(&[("x", DType::Bf16, &[-1, 3])]));
        let write = |inputs: &Signature| Template { model: "m", inputs, outputs: &none }.write(&path).unwrap_err();
        assert!(write(&none).to_string().contains("--benchmark synthetic"));
        assert!(write(&bf16).to_string().contains("'x bf16[N,3]'"));
        assert!(!path.exists());
    }
}
