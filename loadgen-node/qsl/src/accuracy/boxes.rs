//! Boxes of objects in images: the right ones, from a file of annotations as COCO has it, and those of answers.

use std::collections::{BTreeSet, HashMap};

use serde::Deserialize;

use super::categories::Categories;
use super::elements::Elements;

/// The right boxes of all images, in the order of samples.
#[derive(Debug)]
pub struct Boxes {
    pub(super) images: Vec<Image>,
    /// The numbers of the categories, in order.
    pub(super) categories: BTreeSet<i64>,
    /// The same in the order of the file.
    listed: Vec<i64>,
}

/// The reasons why an answer is no boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OddBoxes {
    /// The number of floats is no multiple of seven, or one is infinite or a NaN.
    Form,
    /// The category is no place in the list of categories.
    Place(i64),
}

/// An image, and the right boxes in it.
#[derive(Clone, Debug)]
pub(super) struct Image {
    pub(super) id: i64,
    /// The name of its file, when the file of annotations has it.
    file_name: Option<Box<str>>,
    height: f32,
    width: f32,
    pub(super) objects: Vec<Object>,
}

/// A right box.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Object {
    pub(super) category: i64,
    pub(super) area: f64,
    pub(super) place: Place,
    /// True for a box around many objects, of which an answer may find any number.
    pub(super) is_crowd: bool,
    /// True when the number of the box in the file is 0. `pycocotools` takes 0 for a box that was not found.
    pub(super) has_id_0: bool,
}

/// A box of an answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Detection {
    pub(super) category: i64,
    pub(super) score: f64,
    pub(super) place: Place,
}

/// Where a box is, in pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Place {
    pub(super) left: f64,
    pub(super) top: f64,
    pub(super) width: f64,
    pub(super) height: f64,
}

/// The keys of the file that are read here. The file has more.
#[derive(Deserialize)]
struct File {
    images: Vec<ImageLine>,
    annotations: Vec<Annotation>,
    categories: Vec<Category>,
}

#[derive(Deserialize)]
struct ImageLine {
    id: i64,
    file_name: Option<Box<str>>,
    height: f32,
    width: f32,
}

#[derive(Deserialize)]
struct Annotation {
    id: i64,
    image_id: i64,
    category_id: i64,
    area: f64,
    /// The edges and sizes of the box: left, top, width and height, in this order.
    bbox: [f64; 4],
    #[serde(default)]
    iscrowd: u8,
}

#[derive(Deserialize)]
struct Category {
    id: i64,
}

impl Boxes {
    /// Reads the text of a file such as COCO's `instances_val2017.json`.
    ///
    /// # Errors
    /// It is no such file, or two images have one number. The error is a clause that says why.
    pub fn from_json(text: &[u8]) -> Result<Boxes, String> {
        let file: File = serde_json::from_slice(text).map_err(|error| error.to_string())?;
        let image = |ImageLine { id, file_name, height, width }: ImageLine| Image {
            id,
            file_name,
            height,
            width,
            objects: Vec::new(),
        };
        let mut images: Vec<Image> = file.images.into_iter().map(image).collect();
        let places: HashMap<i64, usize> = images.iter().enumerate().map(|(place, image)| (image.id, place)).collect();
        if places.len() != images.len() {
            return Err("two images have the same id".to_owned());
        }
        let listed: Vec<i64> = file.categories.into_iter().map(|category| category.id).collect();
        let categories: BTreeSet<i64> = listed.iter().copied().collect();
        for line in file.annotations.into_iter().filter(|line| categories.contains(&line.category_id)) {
            // As in pycocotools, objects of images that the file does not list count nowhere.
            if let Some(place) = places.get(&line.image_id) {
                images[*place].objects.push(line.object());
            }
        }
        Ok(Boxes { images, categories, listed })
    }

    /// Returns the boxes of these images alone, in this order.
    pub(super) fn of_images(&self, indices: &[usize]) -> Boxes {
        let images = indices.iter().filter_map(|index| self.images.get(*index)).cloned().collect();
        Boxes { images, categories: self.categories.clone(), listed: self.listed.clone() }
    }

    /// Returns the names of the images' files, in their order; none when an image has no name.
    pub(crate) fn file_names(&self) -> Option<Vec<&str>> {
        self.images.iter().map(|image| image.file_name.as_deref()).collect()
    }

    /// Returns the boxes of the images in these files alone, in this order. The folder of a file does not matter. None:
    /// the annotations name none of the files.
    ///
    /// # Errors
    /// The annotations name some of the files, and not all, or a file is named twice. The error is a clause that names
    /// the file.
    pub(crate) fn of_files(&self, paths: &[Box<str>]) -> Result<Option<Boxes>, String> {
        let names = self.file_names().unwrap_or_default();
        let places: HashMap<&str, usize> = names.iter().enumerate().map(|(place, name)| (last(name), place)).collect();
        if places.len() != names.len() || !paths.iter().any(|path| places.contains_key(last(path))) {
            return Ok(None);
        }
        let mut indices = Vec::with_capacity(paths.len());
        let mut is_taken = vec![false; names.len()];
        for path in paths {
            let place = *places.get(last(path)).ok_or_else(|| format!("it has no image {path}"))?;
            if std::mem::replace(&mut is_taken[place], true) {
                return Err(format!("image {} is there twice", names[place]));
            }
            indices.push(place);
        }
        Ok(Some(self.of_images(&indices)))
    }

    /// Returns the number of images.
    pub fn len(&self) -> usize {
        self.images.len()
    }

    /// Tells whether there are no images.
    pub fn is_empty(&self) -> bool {
        self.images.is_empty()
    }

    /// Reads the answer to a sample, as the SUTs of MLPerf's reference implementation log it
    /// (`vision/classification_and_detection/tools/accuracy-coco.py`): seven floats for each box. They are the number
    /// of the sample, the box (top, left, bottom, right, as shares of the image), its score and its category. An answer
    /// of fewer than seven has no boxes. The boxes become pixels in f32, as in that script with NumPy 2.
    ///
    /// # Errors
    /// The answer is no row of boxes, or a category is no place in the list; see [`OddBoxes`].
    pub(super) fn detections(
        &self,
        index: usize,
        answer: Elements<'_>,
        categories: Categories,
    ) -> Result<Vec<Detection>, OddBoxes> {
        let values: Vec<f32> = answer.floats().map(|value| value as f32).collect();
        if values.len() < 7 {
            return Ok(Vec::new());
        }
        let (boxes, remainder) = values.as_chunks::<7>();
        if !remainder.is_empty() || values.iter().any(|value| !value.is_finite()) {
            return Err(OddBoxes::Form);
        }
        let Image { height, width, .. } = self.images[index];
        let detection = |[_, top, left, bottom, right, score, category]: &[f32; 7]| {
            let (top, left, bottom, right) = (top * height, left * width, bottom * height, right * width);
            let place = Place {
                left: f64::from(left),
                top: f64::from(top),
                width: f64::from(right - left),
                height: f64::from(bottom - top),
            };
            let category = self.category(*category as i64, categories)?;
            Ok(category.map(|category| Detection { category, score: f64::from(*score), place }))
        };
        boxes.iter().map(detection).filter_map(Result::transpose).collect()
    }

    /// Returns the number that the file has for a category of an answer; none for 0, which is a place of no category.
    fn category(&self, named: i64, categories: Categories) -> Result<Option<i64>, OddBoxes> {
        match (categories, usize::try_from(named)) {
            (Categories::Ids, _) => Ok(Some(named)),
            (Categories::Places, Ok(0)) => Ok(None),
            (Categories::Places, Ok(place)) if place <= self.listed.len() => Ok(Some(self.listed[place - 1])),
            (Categories::Places, _) => Err(OddBoxes::Place(named)),
        }
    }

    /// Returns the number of categories.
    pub(super) fn category_count(&self) -> usize {
        self.listed.len()
    }
}

/// The last part of a path.
fn last(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

impl Annotation {
    fn object(self) -> Object {
        let [left, top, width, height] = self.bbox;
        Object {
            category: self.category_id,
            area: self.area,
            place: Place { left, top, width, height },
            is_crowd: self.iscrowd != 0,
            has_id_0: self.id == 0,
        }
    }
}

impl Place {
    /// The area in square pixels.
    pub(super) fn area(&self) -> f64 {
        self.width * self.height
    }

    /// The area that both have, as a share of the area that at least one has; or of this one's, in a crowd.
    pub(super) fn overlap(&self, object: &Object) -> f64 {
        let other = &object.place;
        let width = (self.left + self.width).min(other.left + other.width) - self.left.max(other.left);
        let height = (self.top + self.height).min(other.top + other.height) - self.top.max(other.top);
        if width <= 0.0 || height <= 0.0 {
            return 0.0;
        }
        let both = width * height;
        both / if object.is_crowd { self.area() } else { self.area() + other.area() - both }
    }
}

#[cfg(test)]
mod tests {
    use lon_proto::sample::DType;

    use super::*;

    const FILE: &str = r#"{"info": {}, "images": [{"id": 7, "height": 10, "width": 20, "file_name": "a"}],
        "annotations": [{"id": 1, "image_id": 7, "category_id": 3, "area": 8, "bbox": [2, 1, 4, 2], "iscrowd": 0},
            {"id": 2, "image_id": 8, "category_id": 3, "area": 1, "bbox": [0, 0, 1, 1]},
            {"id": 3, "image_id": 7, "category_id": 4, "area": 1, "bbox": [0, 0, 1, 1]}],
        "categories": [{"id": 3, "name": "cat"}]}"#;

    #[test]
    fn answers_become_pixels() {
        let boxes = Boxes::from_json(FILE.as_bytes()).unwrap();
        assert_eq!((boxes.len(), boxes.images[0].objects.len()), (1, 1));
        let detections_of = |values: &[f32]| {
            let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
            boxes.detections(0, Elements::new(DType::F32, &bytes).unwrap(), Categories::Ids)
        };
        assert_eq!(detections_of(&[0.0; 6]), Ok(vec![]));
        assert_eq!(detections_of(&[0.0; 8]), Err(OddBoxes::Form));
        assert_eq!(detections_of(&[f32::NAN; 7]), Err(OddBoxes::Form));
        let detections = detections_of(&[0.0, 0.1, 0.1, 0.3, 0.3, 0.5, 3.0]).unwrap();
        let place = Place { left: 2.0, top: 1.0, width: 4.0, height: 2.0 };
        assert_eq!(detections, [Detection { category: 3, score: 0.5, place }]);
        assert_eq!(detections[0].place.overlap(&boxes.images[0].objects[0]), 1.0);
    }

    #[test]
    fn categories_are_named_by_number_or_by_place() {
        // Places are those of the list, whatever the numbers are.
        let text = FILE.replace(r#"[{"id": 3, "name": "cat"}]"#, r#"[{"id": 30}, {"id": 3}]"#);
        let boxes = Boxes::from_json(text.as_bytes()).unwrap();
        let named = |category: f32, categories| -> Result<Option<i64>, OddBoxes> {
            let row = [0.0, 0.0, 0.0, 1.0, 1.0, 0.5, category];
            let bytes: Vec<u8> = row.iter().flat_map(|value| value.to_le_bytes()).collect();
            let detections = boxes.detections(0, Elements::new(DType::F32, &bytes).unwrap(), categories)?;
            Ok(detections.first().map(|detection| detection.category))
        };
        assert_eq!(
            [1.0, 2.0, 0.0].map(|place| named(place, Categories::Places)),
            [Ok(Some(30)), Ok(Some(3)), Ok(None)]
        );
        assert_eq!(named(3.0, Categories::Places), Err(OddBoxes::Place(3)));
        assert_eq!(named(-1.0, Categories::Places), Err(OddBoxes::Place(-1)));
        assert_eq!([30.0, 0.0, 99.0].map(|id| named(id, Categories::Ids)), [Ok(Some(30)), Ok(Some(0)), Ok(Some(99))]);
    }

    #[test]
    fn images_are_found_by_the_names_of_their_files() {
        let image = |id: u32, name: &str| format!(r#"{{"id": {id}, "height": 1, "width": 1, "file_name": "{name}"}}"#);
        let file = |images: &[String]| {
            let text = format!(r#"{{"images": [{}], "annotations": [], "categories": []}}"#, images.join(","));
            Boxes::from_json(text.as_bytes()).unwrap()
        };
        let boxes = file(&[image(7, "a.jpg"), image(8, "val/b.jpg"), image(9, "c.jpg")]);
        assert_eq!(boxes.file_names(), Some(vec!["a.jpg", "val/b.jpg", "c.jpg"]));
        let of = |names: &[&str]| -> Result<Option<Vec<i64>>, String> {
            let names: Vec<Box<str>> = names.iter().map(|name| (*name).into()).collect();
            Ok(boxes.of_files(&names)?.map(|boxes| boxes.images.iter().map(|image| image.id).collect()))
        };
        assert_eq!(of(&["other/c.jpg", "a.jpg"]), Ok(Some(vec![9, 7])));
        assert_eq!(of(&["0.jpg", "1.jpg", "2.jpg"]), Ok(None));
        assert_eq!(of(&["a.jpg", "1.jpg"]), Err("it has no image 1.jpg".to_owned()));
        assert_eq!(of(&["a.jpg", "x/a.jpg"]), Err("image a.jpg is there twice".to_owned()));
        // Names that two images have tell nothing.
        assert!(file(&[image(7, "1/a.jpg"), image(8, "2/a.jpg")]).of_files(&["a.jpg".into()]).unwrap().is_none());
    }

    #[test]
    fn a_crowd_is_overlapped_by_a_part() {
        let place = |left, width| Place { left, top: 0.0, width, height: 1.0 };
        let object = |is_crowd| Object { category: 1, area: 4.0, place: place(0.0, 4.0), is_crowd, has_id_0: false };
        assert_eq!(place(3.0, 2.0).overlap(&object(false)), 0.2);
        assert_eq!(place(3.0, 2.0).overlap(&object(true)), 0.5);
        assert_eq!(place(4.0, 2.0).overlap(&object(true)), 0.0);
    }

    #[test]
    fn what_is_no_file_of_annotations() {
        let twice = r#"{"images": [{"id": 7, "height": 1, "width": 2}, {"id": 7, "height": 1, "width": 2}],
            "annotations": [], "categories": []}"#;
        assert!(Boxes::from_json(twice.as_bytes()).unwrap_err().contains("same id"));
        assert!(Boxes::from_json(b"{}").unwrap_err().contains("images"));
    }
}
