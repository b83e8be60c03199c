"""Random answers, the right ones, and the score that other packages give them. See scorers_diff.py."""

import collections
import contextlib
import dataclasses
import io
import itertools
import json
import math
import pathlib
import random
import re
import tempfile

import jiwer
import numpy as np
import tokenizers
from nltk.stem.porter import PorterStemmer
from nltk.tokenize import punkt
from pycocotools.coco import COCO
from pycocotools.cocoeval import COCOeval
from rouge_score import rouge_scorer
from sacrebleu.metrics import BLEU
from sklearn.metrics import roc_auc_score

ROUGES = ["rouge1", "rouge2", "rougeL", "rougeLsum"]
SYLLABLES = ["ba", "y", "ess", "tr", "on", "i", "yy", "ell", "ow", "ax", "c", "ee", "ut", "zz", "7", "at", "l", "bl"]
ENDINGS = (
    " s es sses ies ied eed ed ing y e ational tional enci anci izer bli alli entli eli ousli ization ation ator alism "
    "iveness fulness ousness aliti iviti biliti fulli logi logy icate ative alize iciti ical ful ness al ance ence er "
    "ic able ible ant ement ment ent ion sion tion ou ism ate iti ous ive ize ll lle"
).split(" ")
WHOLE = "the sky skies dying news innings succeed don't Straße naïve İ K 3,000 _x_ a-b".split()


@dataclasses.dataclass
class Case:
    """A case: the files that are written, and the text that must be printed."""

    metric: str
    about: str
    answers: list
    # None: there is no score.
    expected: float | None
    truths: list = dataclasses.field(default_factory=list)
    _: dataclasses.KW_ONLY
    # The part of each sample, and those that are scored; empty: all are.
    parts: list = dataclasses.field(default_factory=list)
    scored: list = dataclasses.field(default_factory=list)
    files: dict = dataclasses.field(default_factory=dict)
    outputs: str = ""
    # The numbers by which boxes name their categories.
    categories: str = "ids"

    @property
    def lines(self):
        """True when the dataset is a file of JSON lines."""
        return bool(self.truths)


def word():
    if random.random() < 0.1:
        return random.choice(WHOLE)
    made = "".join(random.choices(SYLLABLES, k=random.randint(1, 3))) + random.choice(ENDINGS)
    return made.capitalize() if random.random() < 0.1 else made


def text_like(words):
    """A text with many of these words: some in order, some not, some with other endings."""
    start = random.randrange(len(words) + 1)
    taken = words[start:start + random.randint(0, 25)]
    taken = [re.sub("(s|ed|ing|e)$", random.choice(["s", "ed", "ing", ""]), word) if random.random() < 0.3 else word
             for word in taken]
    taken += random.choices(words, k=random.randint(0, 5)) if words else []
    blank = lambda: random.choices([" ", "\n", ". ", ".\n", "  "], [20, 2, 2, 2, 1])[0]
    return "".join(word + blank() for word in taken)


def pairs(count):
    """Texts and right texts; some are empty, some equal."""
    for _ in range(count):
        words = [word() for _ in range(random.randint(0, 40))]
        right = [text_like(words) for _ in range(random.choices([1, 3], [4, 1])[0])]
        yield random.choices([text_like(words), right[0], ""], [8, 1, 1])[0], right


def best_rouge(metric, scorer, text, right):
    return scorer.score_multi(right, text)[metric].fmeasure


def rouge(count=60):
    texts, rights = zip(*pairs(count))
    scorer = rouge_scorer.RougeScorer(ROUGES, use_stemmer=True)
    for metric in ROUGES:
        expected = 100 * np.mean([best_rouge(metric, scorer, *pair) for pair in zip(texts, rights)])
        yield Case(metric, "texts", [text.encode() for text in texts], expected, truths=list(rights))


def stems(count=3000):
    """Single words against their stems, which are mostly stems of themselves, and against the same with an ending."""
    scorer, stemmer = rouge_scorer.RougeScorer(["rouge1"], use_stemmer=True), PorterStemmer()
    words = [word().lower() for _ in range(count)]
    rights = [[stemmer.stem(word) + random.choice(["", "", random.choice(ENDINGS)])] for word in words]
    expected = 100 * np.mean([best_rouge("rouge1", scorer, *pair) for pair in zip(words, rights)])
    return Case("rouge1", "stems", [word.encode() for word in words], expected, rights)


def tokenizer_json(kind):
    """A small tokenizer of one of the kinds that language models have."""
    added = [{"id": 0, "content": "</s>", "special": True}, {"id": 1, "content": "<more>", "special": False}]
    added = [{"single_word": False, "lstrip": False, "rstrip": False, "normalized": False} | token for token in added]
    pieces = ["</s>", "<more>", *SYLLABLES, *(f"<0x{byte:02X}>" for byte in range(256))]
    pieces += ["▁", "▁the", "▁▁", *(f"▁{syllable}" for syllable in SYLLABLES)]
    replaced = {"type": "Replace", "pattern": {"String": "▁"}, "content": " "}
    stripped = {"type": "Strip", "content": " ", "start": 1, "stop": 0}
    model = {"type": "BPE", "vocab": {}, "merges": []}
    if kind == "bytes":
        letters = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        pieces = ["</s>", "<more>", *sorted(letters), *(f"Ġ{syllable}" for syllable in SYLLABLES)]
        decoder = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}
    elif kind == "unigram":
        decoder = {"type": "Metaspace", "replacement": "▁", "prepend_scheme": random.choice(["always", "never"])}
        decoder["split"] = True
    else:
        decoder = {"type": "Sequence", "decoders": [replaced, {"type": "ByteFallback"}, {"type": "Fuse"}, stripped]}
    if kind == "unigram":
        model = {"type": "Unigram", "unk_id": 0, "vocab": [[piece, -1.0] for piece in pieces]}
    else:
        model["vocab"] = {piece: place for place, piece in enumerate(pieces)}
    file = {"version": "1.0", "truncation": None, "padding": None, "added_tokens": added, "normalizer": None,
            "pre_tokenizer": None, "post_processor": None, "decoder": decoder, "model": model}
    return json.dumps(file), len(pieces)


def tokens(count=40):
    """Answers of token ids. Their own texts have no wrong word, so that a blank too many shows."""
    for kind in ["bytes", "unigram", "fallback"]:
        file, size = tokenizer_json(kind)
        theirs = tokenizers.Tokenizer.from_str(file)
        rows = [[random.randrange(size) for _ in range(random.randint(0, 60))] for _ in range(count)]
        texts = [theirs.decode(row, skip_special_tokens=True) for row in rows]
        dtype, outputs = random.choice([("<i8", ""), ("<i8", "y i64[N,?]"), ("<i4", "y i32[N,?]")])
        answers = [np.array(row, dtype).tobytes() for row in rows]
        files = {"tokenizer.json": file.encode()}
        yield Case("wer", f"{kind} tokens", answers, 0.0, [[text] for text in texts], files=files,
                   outputs=outputs)
        rights = [[text_like(text.split() or ["x"])] for text in texts]
        scorer = rouge_scorer.RougeScorer(ROUGES, use_stemmer=True)
        expected = 100 * np.mean([best_rouge("rougeL", scorer, *pair) for pair in zip(texts, rights)])
        yield Case("rougeL", f"{kind} tokens", answers, expected, rights, files=files, outputs=outputs)


MARKS = [". ", ".\n", "? ", "!", "...", " . . . ", "\"", " (", ") ", "'", ", ", "; ", " -- ", "\n\n", "  ", ".)", ".\" ",
         "\x1c", ".a"]
SHORT = "Dr. Dr Mr. e.g. E.g. U.S. J. K. s. 3. 1,000. -4 No. i.e. vs.".split()


def sentence_text(words, count):
    """Words, short ones with a period, and marks. Words begin with a capital often, and some always."""
    parts = []
    for _ in range(count):
        part = random.choice(words) if random.random() < 0.8 else random.choice(SHORT)
        parts.append(part.capitalize() if random.random() < 0.3 else part)
        parts.append(" " if random.random() < 0.6 else random.choice(MARKS))
    return "".join(parts)


def sentences(count=60):
    """Texts whose sentences are found by a model that was trained on some; it is written as NLTK's data have it."""
    words = [word().lower() for _ in range(40)] + ["Bach", "the", "he", "ist"]
    trained = punkt.PunktTrainer()
    trained.INCLUDE_ALL_COLLOCS = True
    trained.train(sentence_text(words, 6000), finalize=False)
    trained.finalize_training()
    parameters = trained.get_params()
    parameters.abbrev_types |= {"dr", "e.g", "u.s"}
    parameters.collocations |= {("k", "bach"), ("##number##", random.choice(words).lower())}
    parameters.sent_starters |= {"the", random.choice(words).lower()}
    with tempfile.TemporaryDirectory() as folder:
        punkt.save_punkt_params(parameters, folder)
        files = {f"punkt_tab/english/{file.name}": file.read_bytes() for file in pathlib.Path(folder).iterdir()}
    splitter = punkt.PunktSentenceTokenizer()
    splitter._params = parameters
    texts = [random.choice(["", " ", "\n"]) + sentence_text(words, random.randint(0, 30)) for _ in range(count)]
    rights = [random.choice([text, sentence_text(words, random.randint(1, 30))]) for text in texts]
    lines = lambda text: "\n".join(splitter.tokenize(text.strip()))
    answers, truths = [text.encode() for text in texts], [[right] for right in rights]
    yield Case("gen_len", "sentences", answers, sum(len(lines(text)) for text in texts), truths, files=files)
    scorer = rouge_scorer.RougeScorer(ROUGES, use_stemmer=True)
    pairs = zip(map(lines, rights), map(lines, texts))
    expected = 100 * np.mean([scorer.score(*pair)["rougeLsum"].fmeasure for pair in pairs])
    yield Case("rougeLsum", "sentences", answers, expected, truths, files=files)


def lengths(count=50):
    """Numbers of tokens."""
    rows = [np.random.randint(0, 9, np.random.randint(0, 40)) for _ in range(count)]
    dtype, outputs = random.choice([("<i8", ""), ("<i8", "y i64[N,?]"), ("<i4", "y i32[N,?]")])
    answers = [row.astype(dtype).tobytes() for row in rows]
    expected = sum(map(len, rows)) / count
    return Case("tokens_per_sample", dtype, answers, expected, [["x"]] * count, outputs=outputs)


def number_of(text):
    """The number that counts, by the pattern of language/mixtral-8x7b/evaluate-accuracy.py."""
    text = text.split("\nQ:")[0]
    find = re.compile(r"-?[\d,]*\.?\d+").findall
    behind = find(text.split("The answer is")[-1]) if "The answer is" in text else []
    found = behind[0] if behind else (find(text) or [""])[-1]
    try:
        return float(found.replace(",", ""))
    except ValueError:
        return None


def gsm8k(count=300):
    parts = ["The answer is ", "5", "1,5", "-", ".", "05", " ", ",", "\nQ: 7", "$", "x", "The answer is5", "3.0", "15"]
    texts = ["".join(random.choices(parts, k=random.randint(0, 9))) for _ in range(count)]
    numbers = [re.findall(r"-?[0-9]+", text) or ["0"] for text in texts]
    rights = [random.choice([*found, "15", "0.5", "-5.0"]) for found in numbers]
    expected = 100 * np.mean([number_of(text) == float(right) for text, right in zip(texts, rights)])
    return Case("gsm8k", "texts", [text.encode() for text in texts], expected, [[right] for right in rights])


def in_parts(case, more=100):
    """The same case among samples of another part, which do not count."""
    size = len(case.answers)
    order = random.sample(range(size + more), size + more)
    answers, truths = case.answers + [b"x"] * more, case.truths + [["y"]] * more
    parts = (case.parts or ["GSM8K"] * size) + ["other"] * more
    scored = sorted(set(parts) - {"other"})
    picked = [[all_of_them[place] for place in order] for all_of_them in (answers, truths, parts)]
    about = f"{case.about}, in parts"
    return Case(case.metric, about, picked[0], case.expected, picked[1], parts=picked[2], scored=scored)


IDENTIFIER = re.compile(r"\w{8}(?:-\w{4}){3}-\w{12}")


def hidden_points(text, right):
    """Points for identifiers, by the rule niah_em of language/llama3.1-405b/evaluate-accuracy.py: those of both texts
    in pairs, and of each pair the share of the right one's characters that are anywhere in the other."""
    given, wanted = (IDENTIFIER.findall(one.strip()) for one in (text, right))
    shares = (sum(letter.lower() in one.lower() for letter in other) / len(other) for one, other in zip(given, wanted))
    return round(100 * sum(shares) / len(given), 2) if given else 0.0


def question_points(text, right):
    """Points for an answer, by the rule qa_em of the same script."""
    text, right = text.strip(), right.strip()
    behind = text.rpartition("Answer: ")[2]
    bare = lambda one: "".join(re.split(r"\s+", one)).lower()
    return 100.0 * (behind in right or any(bare(one) in bare(behind) for one in right.split("|")))


def long_contexts(count=150):
    identifier = lambda: "-".join("".join(random.choices("0123456789abcdefAF_é", k=size)) for size in (8, 4, 4, 4, 12))
    texts, rights, parts, points = [], [], [], []
    for _ in range(count):
        wanted = [identifier() for _ in range(random.randint(1, 3))]
        given = [random.choice([one, one.upper(), one[1:], identifier()]) for one in wanted[:random.randint(0, 3)]]
        given += [identifier()] * random.choice([0, 0, 1])
        texts.append(random.choice(["", "It is "]) + random.choice([" ", ", ", "\n", "x"]).join(given))
        rights.append(" ".join(wanted))
        parts.append("niah_em")
        points.append(hidden_points(texts[-1], rights[-1]))
    pieces = ["Answer: ", "Answer:", "The Moon", "the  moon", "Luna", " ", "\n", "\x1f", "no", "|", "moon", "Straße", "İ"]
    for _ in range(count):
        texts.append("".join(random.choices(pieces, k=random.randint(0, 6))))
        rights.append("".join(random.choices(["|", *pieces[2:]], k=random.randint(1, 4))))
        parts.append("qa_em")
        points.append(question_points(texts[-1], rights[-1]))
    answers, truths = [text.encode() for text in texts], [[right] for right in rights]
    return in_parts(Case("long_exact_match", "texts", answers, float(np.mean(points)), truths, parts=parts))


def wer(count=60):
    texts, rights = zip(*((" ".join(text.split()), " ".join(right[0].split())) for text, right in pairs(count)))
    output = jiwer.process_words(list(rights), list(texts))
    return Case("wer", "texts", [text.encode() for text in texts], 100 * output.wer, [[right] for right in rights])


MARKED = (". , - & &quot; &amp; &lt; &gt; &amp;lt; ' \" ( ) % $ @-@ ... <skipped> -\n \n \t \x1c \xa0 \u200b \u201e ß "
          "3.5 1,000 2-3 x- 5. .5 7,a [ ] ~ ^ ` { } /").split(" ")


def sentence(words, most):
    """Words and marks, with or without a blank between them."""
    picked = [random.choice(words if random.random() < 0.8 else MARKED) for _ in range(random.randint(0, most))]
    return "".join(part + random.choices([" ", "", "  "], [30, 5, 1])[0] for part in picked)


def translation(right, words):
    """The same with some words lost, replaced, twice or in another place."""
    parts = right.split(" ")
    for _ in range(random.choice([0, 1, 3, 8])):
        at = random.randrange(len(parts) + 1)
        parts[at:at + random.randint(0, 2)] = random.choices([*words, ".", ""], k=random.randint(0, 2))
    return " ".join(parts)


def sacre_bleu(texts, rights):
    """SacreBLEU's score. Of several right texts each sample may have another number."""
    references = [list(row) for row in itertools.zip_longest(*rights)]
    return BLEU().corpus_score(texts, references).score


def runs_of(words):
    return collections.Counter(tuple(words[at:at + n]) for n in range(1, 5) for at in range(len(words) - n + 1))


def words_bleu(texts, rights):
    """The formula of translation/gnmt/tensorflow/nmt/scripts/bleu.py, on the words of process_accuracy.py."""
    same, count, given_words, right_words = [0] * 4, [0] * 4, 0, 0
    for text, right in zip(texts, rights):
        given, right = text.split(" "), [re.sub("@@ ", "", one.strip()).split(" ") for one in right]
        most = collections.Counter()
        for one in right:
            most |= runs_of(one)
        for run, times in (runs_of(given) & most).items():
            same[len(run) - 1] += times
        for n in range(4):
            count[n] += max(0, len(given) - n)
        given_words, right_words = given_words + len(given), right_words + min(map(len, right))
    if 0 in same:
        return 0.0
    mean = math.exp(sum(math.log(one / all_of_them) for one, all_of_them in zip(same, count)) / 4)
    return 100 * mean * min(1.0, math.exp(1 - right_words / given_words))


def bleu_of(about, texts, rights):
    """Both scores of the same texts."""
    answers = [text.encode() for text in texts]
    yield Case("bleu", about, answers, sacre_bleu(texts, rights), rights)
    yield Case("bleu_words", about, answers, words_bleu(texts, rights), rights)


def bleu(count=60):
    """Random translations; short ones; and made by hand."""
    words = [word() for _ in range(30)] + ["de@@ r", "Haus@@", "die", "The", "the"]
    for about, count, most, others in [("texts", count, 30, [0, 0, 1, 3]), ("short texts", 20, 3, [0]), ("one", 1, 9, [0])]:
        firsts = [sentence(words, most) for _ in range(count)]
        rights = [[first, *(translation(first, words) for _ in range(random.choice(others)))] for first in firsts]
        texts = [random.choices([translation(right[0], words), right[0], ""], [8, 1, 1])[0] for right in rights]
        yield from bleu_of(about, texts, rights)
    yield from bleu_of("no text", ["", ""], [["a b c d"], [""]])
    yield from bleu_of("one empty text", ["", "a b c d e"], [["x y"], ["a b c d e"]])
    yield from bleu_of("words alone", ["a", "b", "c"], [["a"], ["x"], ["c"]])
    yield from bleu_of("nothing right", ["a b c d e"], [["v w x y z"]])
    yield from bleu_of("one run right", ["a b c x y z"], [["a b c d e f"]])
    yield from bleu_of("one run of four", ["The cat sat on mats."], [["The cat sat on the mat."]])


def dice(count=12):
    """The formula of accuracy_kits.py on one-hot arrays. Some volumes have no tumour, some not even a kidney."""
    dtype, outputs = random.choice([(np.uint8, ""), (np.uint8, "y u8[N,?]"), (np.int64, "y i64[N,?]")])
    scores, answers, files = [], [], {}
    for index in range(count):
        size, classes = random.randint(1, 3000), random.choice([1, 2, 3, 3])
        wanted = np.random.randint(0, classes, size).astype(np.uint8)
        given = np.where(np.random.rand(size) < 0.7, wanted, np.random.randint(0, 3, size)).astype(dtype)
        wanted_hot, given_hot = np.eye(3)[wanted][:, 1:], np.eye(3)[given.astype(int)][:, 1:]
        both = 2.0 * np.sum(wanted_hot * given_hot, axis=0) + 1e-6
        scores.append(np.mean(both / (np.sum(wanted_hot, axis=0) + np.sum(given_hot, axis=0) + 1e-6)))
        answers.append(given.tobytes())
        files[f"masks/{index:03}.bin"] = wanted.tobytes()
    return Case("dice", str(np.dtype(dtype)), answers, float(np.mean(scores)), files=files, outputs=outputs)


def auc(samples=200):
    """Samples of several items, with many equal scores; in some logs the label follows each score."""
    counts = np.random.randint(1, 30, samples)
    labels = [np.random.randint(0, 2, count) for count in counts]
    labels[0] = np.array([0, 1])
    decimals = random.choice([0, 1, 2, 2, 7])
    scores = [np.round(np.random.rand(len(row)) * 0.7 + row * 0.2, decimals).astype(np.float32) for row in labels]
    expected = 100 * roc_auc_score(np.concatenate(labels), np.concatenate(scores))
    has_labels = random.random() < 0.5
    rows = [np.stack([score, row.astype(np.float32)], 1) if has_labels else score for score, row in zip(scores, labels)]
    files = {"labels.txt": "".join(" ".join(map(str, row)) + "\n" for row in labels).encode()}
    answers = [row.astype(np.float32).tobytes() for row in rows]
    return Case("auc", f"{decimals} decimals", answers, expected, files=files)


def box(image):
    """A random box in an image: left, top, width and height in pixels. Small images have few places for one."""
    if image["width"] == 8:
        return np.array([*np.random.randint(0, 6, 2), *np.random.randint(1, 4, 2)], float)
    left, top, width, height = np.random.rand(4) * [0.8, 0.8, 0.2, 0.2] + [0, 0, 0.02, 0.02]
    sides = np.array([image["width"], image["height"]] * 2)
    return np.array([left, top, width, height]) * sides


def annotations(images, categories):
    """Right boxes as COCO has them. Some images and some categories have none; some boxes are around crowds."""
    numbers = random.sample(range(10 * images), images)
    sizes = [{"id": number, "height": random.randint(50, 700), "width": random.randint(50, 700)} for number in numbers]
    sizes = [size if random.random() < 0.6 else size | {"height": 8, "width": 8} for size in sizes]
    found, first = [], random.choice([0, 1])
    for image in sizes:
        for _ in range(random.choice([0, 1, 3, 12])):
            bbox = box(image)
            found.append({
                "id": first + len(found), "image_id": image["id"], "category_id": random.choice(categories[:-2]),
                "area": float(bbox[2] * bbox[3]), "bbox": bbox.tolist(), "iscrowd": int(random.random() < 0.1),
            })
    return {"images": sizes, "annotations": found, "categories": [{"id": number} for number in categories]}


def answer_of(index, image, truths, categories):
    """The boxes of an answer: right ones moved a little, some of them twice, and others. Many scores are equal."""
    rows = []
    for truth in truths * random.choice([0, 1, 1, 2]):
        near = np.array(truth["bbox"]) + np.random.randn(4) * np.random.choice([0, 0.5, 4])
        near = box(image) if image["width"] == 8 else near
        rows.append((near, truth["category_id"]))
    rows += [(box(image), random.choice(categories)) for _ in range(random.choice([0, 0, 2, 50]))]
    rows += [(box(image), categories[0])] * random.choice([0, 0, 0, 99])
    random.shuffle(rows)
    height, width = image["height"], image["width"]
    rows = [[index, top / height, left / width, (top + high) / height, (left + wide) / width,
             round(random.random(), random.choice([1, 5])), category] for (left, top, wide, high), category in rows]
    return np.array(rows, np.float32).reshape(-1, 7)


def detections(image, answer, categories, named):
    """From the numbers of an answer to boxes, step by step as accuracy-coco.py takes them. Named by places is what its
    flag --use-inv-map is for."""
    inverse = [0] + categories
    for _, top, left, bottom, right, score, category in answer:
        top, bottom = top * image["height"], bottom * image["height"]
        left, right = left * image["width"], right * image["width"]
        category = inverse[int(category)] if named == "places" else int(category)
        yield {"image_id": image["id"], "category_id": category, "score": float(score),
               "bbox": [float(left), float(top), float(right - left), float(bottom - top)]}


MAPS = ["map", "map50", "map75", "map_small", "map_medium", "map_large"]


def coco_scores(file, found):
    """The first six numbers of COCOeval; -1 where nothing counts."""
    with contextlib.redirect_stdout(io.StringIO()):
        right, none = COCO(), COCO()
        right.dataset, none.dataset = file, file | {"annotations": []}
        right.createIndex()
        none.createIndex()
        # The package cannot load an empty list.
        evaluation = COCOeval(right, right.loadRes(found) if found else none, iouType="bbox")
        evaluation.params.imgIds = [image["id"] for image in file["images"]]
        evaluation.evaluate()
        evaluation.accumulate()
        evaluation.summarize()
    return evaluation.stats[:6]


def maps_of(about, file, answers, named="ids"):
    """All six scores of the same boxes."""
    categories = [category["id"] for category in file["categories"]]
    found = [box for image, answer in zip(file["images"], answers) for box in detections(image, answer, categories, named)]
    name = random.choice(["annotations.json", "annotations/instances_val2017.json"])
    about = f"{about}: {len(file['images'])} images, {len(categories)} categories, {len(found)} boxes, {named}"
    for metric, score in zip(MAPS, coco_scores(file, found)):
        expected = None if score == -1 else 100 * score
        yield Case(metric, about, [answer.tobytes() for answer in answers], expected, categories=named,
                   files={name: json.dumps(file).encode()})


def mean_average_precision(images=60):
    categories = random.sample(range(1, 100), random.choice([3, 6, 20]))
    file = annotations(images, categories)
    truths = {image["id"]: [] for image in file["images"]}
    for truth in file["annotations"]:
        truths[truth["image_id"]].append(truth)
    answers = [answer_of(index, image, truths[image["id"]], categories) for index, image in enumerate(file["images"])]
    yield from maps_of("random", file, answers)
    for answer in answers:
        answer[:, 6] = [random.choice([0, *range(1, 4)]) if random.random() < 0.02 else categories.index(number) + 1
                        for number in answer[:, 6]] if len(answer) else []
    yield from maps_of("random", file, answers, "places")
    none = [np.zeros((0, 7), np.float32) for _ in answers]
    yield from maps_of("no boxes", file, none)
    for truth in file["annotations"]:
        truth["iscrowd"] = 1
    yield from maps_of("crowds alone", file, answers, "places")
    yield from maps_of("nothing at all", file | {"annotations": []}, none)


def all_of():
    """One case of each kind, or several."""
    yield from rouge()
    yield stems()
    yield from tokens()
    yield from sentences()
    yield lengths()
    yield gsm8k()
    yield in_parts(gsm8k())
    yield long_contexts()
    yield wer()
    yield from bleu()
    yield dice()
    yield auc()
    yield from mean_average_precision()
