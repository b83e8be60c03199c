"""Writes a folder like SQuAD v1.1's development set, of texts that nobody would read, with what an implementation that
is not the product's makes of it: features, and scores of logits.

    python squad.py FOLDER [BERT.onnx]

    FOLDER/dev-v1.1.json, vocab.txt   the dataset
    FOLDER/features.npz               input_ids, input_mask, segment_ids: a row for each window
    FOLDER/logits.npy                 f32[windows,2,384], start and end: near the answers, with noise and many ties
    FOLDER/bert.npy                   the same, as the model answers, if one is given
    FOLDER/expected.json              F1 and exact match of both, and how many windows and questions there are

Windows, answers and scores are as MLPerf's reference implementation of BERT defines them (language/bert in
mlcommons/inference), pieces of words are those of transformers. Needs numpy and transformers, and onnxruntime for a
model (requirements.txt). The same versions write the same files, which are never committed.
"""

import collections
import json
import re
import string
import sys
import unicodedata
from pathlib import Path

import numpy as np
from fresh import is_there
from transformers import BertTokenizer

LENGTH, QUESTION, STRIDE = 384, 64, 128
LIKELIEST, LONGEST = 20, 30

SYLLABLES = "ba co du el fi gra ho in jo ka lu mo ne or pi qu ra stu te ul va win xe yo zu the ing ed er".split()
# Texts that tokenizers get wrong: accents of one character or two, letters that lowercase oddly, scripts, joined signs.
ODD = """
Zürich Zu\u0308rich CAFÉ naïve Ångström \u212bngstro\u0308m İstanbul ΟΔΟΣ ὈΔΥΣΣΕΎΣ straße STRAẞE ﬁnal \u2126hm 100\u212a
北京 東京tower 中,国 ひらがな カタカナ 한국어 한\u0300 עברית العربية हिन्दी ไทย e\u0301\u0302 \u0301x a\u200bb so\u00adft zero\u0000less
don't rock'n'roll (1895-1943). "quoted" ‘curly’ “double” semi;colon a/b c\\d e_f 3.14 1,000 $5 50% €7 ≠ 5≠4 x² ½ №
™ ① ⓐ …
[SEP] [CLS]x [MASK][PAD] y[UNK]z [sep] [ MASK ] ## # ##ing #1 end– —start ・ 。 「句」 \u037e \u1fef \ufffd 🎉 👍🏽 \U0001f600
""".split()
BLANKS = [" "] * 60 + ["  ", "\t", "\n", "\r\n", "\u202f", "\u00a0", "\u2009", "\u3000", "\u2028", " \u200b "]


class Writer:
    """Makes texts up."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)

    def word(self):
        draw = self.random.random()
        if draw < 0.06:
            return str(self.random.choice(ODD))
        if draw < 0.065:
            return str(self.random.choice(["é", "x", "ab"])) * int(self.random.integers(45, 130))
        word = "".join(self.random.choice(SYLLABLES, self.random.integers(1, 4)))
        if draw < 0.25:
            word = word.capitalize()
        if draw > 0.85:
            word += str(self.random.choice([",", ".", "'s", ")", "!", "-" + word, "?\""]))
        return word

    def text(self, count):
        parts = []
        for _ in range(count):
            parts += [self.word(), str(self.random.choice(BLANKS))]
        return "".join(parts)

    def answers(self, context):
        """Stretches of the context, as people mark them: not always whole words."""
        spans = []
        for _ in range(int(self.random.integers(1, 4))):
            starts = [match.start() for match in re.finditer(r"\S+", context)]
            at = int(self.random.choice(starts))
            end = min(len(context), at + int(self.random.integers(2, 40)))
            if self.random.random() < 0.6:
                end = max([match.end() for match in re.finditer(r"\S+", context[:end])] + [at + 1])
            spans.append({"answer_start": at, "text": context[at:end].strip() or context[at]})
        return spans


def every_kind_of_character():
    """Words with one character each between two letters: all that Unicode 3.2 has and later versions have as it was."""
    old = unicodedata.ucd_3_2_0
    planes = list(range(0x20, 0x3400)) + list(range(0x3400, 0xD800, 97)) + list(range(0xF900, 0x10000))
    chars = [chr(code) for code in planes if unicodedata.category(chr(code)) != "Cn"]
    chars = [c for c in chars if old.category(c) == unicodedata.category(c)]
    for first in range(0, len(chars), 1500):
        yield " ".join(f"a{c}b" for c in chars[first : first + 1500])


def dataset(writer):
    """Paragraphs of one window and of several, some without a word, and questions of all lengths."""
    lengths = [30, 120, 250, 700, 1, 90, 400, 60] * 9 + [3000]
    contexts = [writer.text(count) for count in lengths]
    contexts += [*every_kind_of_character(), " \t\u202f", "\u200b\u00ad"]
    articles, number = [], 0
    for context in contexts:
        questions = []
        for _ in range(1 if len(context) > 9000 else 5):
            answers = writer.answers(context) if context.split() else [{"answer_start": 0, "text": "empty"}]
            question = writer.text(int(writer.random.choice([3, 9, 14, 80])))
            questions.append({"id": f"q{number}", "question": question, "answers": answers})
            number += 1
        articles.append({"title": f"t{number}", "paragraphs": [{"context": context, "qas": questions}]})
    return {"version": "1.1", "data": articles}


def vocabulary():
    """Below a thousand pieces: what the generated BERT has room for."""
    letters = string.ascii_lowercase + string.digits + "éßφοδσςυε한ᄒ"
    pieces = ["[PAD]", "[unused0]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    pieces += list(string.punctuation) + list("–—…“”‘’。「」・€≠≡²½№™①中国北京東ひ")
    pieces += list(letters) + ["##" + c for c in letters]
    pieces += SYLLABLES + ["##" + s for s in SYLLABLES]
    pieces += [a + b for a in SYLLABLES[:14] for b in SYLLABLES[5:24]] + ["zurich", "cafe", "naive", "istanbul", "οδοσ"]
    pieces = list(dict.fromkeys(pieces))
    assert len(pieces) < 1000
    return pieces


Window = collections.namedtuple("Window", "question ids types before start length")


class Question:
    """One question with its passage: words as blanks part them, pieces, and of which word each piece is."""

    def __init__(self, tokenizer, context, asked):
        self.words = [word for word in re.split("[ \t\r\n\u202f]", context) if word]
        pieces = [(piece, at) for at, word in enumerate(self.words) for piece in tokenizer.tokenize(word)]
        self.pieces, self.word_of = [p for p, _ in pieces], [at for _, at in pieces]
        self.asked = tokenizer.tokenize(asked["question"])[:QUESTION]
        self.right = [answer["text"] for answer in asked["answers"]]
        self.spans = self.cut(LENGTH - 3 - len(self.asked))

    def cut(self, room):
        spans, start = [], 0
        while start < len(self.pieces):
            length = min(room, len(self.pieces) - start)
            spans.append((start, length))
            if start + length == len(self.pieces):
                break
            start += min(length, STRIDE)
        return spans

    def best_window_of(self, piece):
        """The window that shows most on both sides; of equal ones the first."""
        shown = {}
        for number, (start, length) in enumerate(self.spans):
            if start <= piece < start + length:
                shown[number] = min(piece - start, start + length - 1 - piece) + 0.01 * length
        return max(shown, key=shown.get)


def windows(tokenizer, questions):
    for number, question in enumerate(questions):
        for start, length in question.spans:
            asked = ["[CLS]", *question.asked, "[SEP]"]
            ids = tokenizer.convert_tokens_to_ids(asked + question.pieces[start : start + length] + ["[SEP]"])
            yield Window(number, ids, [0] * len(asked) + [1] * (length + 1), len(asked), start, length)


def padded(rows):
    table = np.zeros((len(rows), LENGTH), np.int64)
    for place, row in enumerate(rows):
        table[place, : len(row)] = row
    return table


def near_an_answer(random, question, window):
    """The first and last piece of an answer's words in a window, or something that is not quite that."""
    right = re.split("[ \t\r\n\u202f]+", question.right[0])
    places = range(len(question.words) - len(right) + 1)
    found = [at for at in places if question.words[at : at + len(right)] == right]
    words = range(found[0], found[0] + len(right)) if found else ()
    inside = [p for p in range(window.length) if question.word_of[window.start + p] in words]
    if inside and random.random() < 0.7:
        return inside[0], inside[-1]
    start = int(random.choice(inside or range(window.length)))
    return start, max(0, start + int(random.choice([0, 1, 2, 3, 8, 29, 30, -1])))


def seeded_logits(random, questions, all_windows):
    """Noise in steps of an eighth, so that many are equal, and most of the time a peak at an answer or beside it."""
    logits = np.round(random.normal(0, 1.5, (len(all_windows), 2, LENGTH)) * 8) / 8
    for row, window in zip(logits, all_windows):
        question = questions[window.question]
        draw = random.random()
        if draw < 0.05:
            row[:] = 1.0
        elif draw < 0.9 and window.length > 2:
            start, end = near_an_answer(random, question, window)
            row[0, window.before + start] += 9
            row[1, min(window.before + end, LENGTH - 1)] += 9
    return logits.astype(np.float32)


def model_logits(path, features):
    import onnxruntime

    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    names = [tensor.name for tensor in session.get_inputs()]
    rows = []
    for at in range(0, len(features["input_ids"]), 16):
        batch = [table[at : at + 16] for table in features.values()]
        rows.append(np.stack(session.run(None, dict(zip(names, batch))), axis=1))
    return np.concatenate(rows)


def text_of(tokenizer, question, first, last):
    """The answer that these pieces point at, in the passage's own characters where they can be found in it."""
    wanted = " ".join(question.pieces[first : last + 1]).replace(" ##", "").replace("##", "")
    wanted = " ".join(wanted.split())
    words = " ".join(question.words[question.word_of[first] : question.word_of[last] + 1])
    split = " ".join(tokenizer.tokenize(words))
    at = split.find(wanted)
    kept = [place for place, c in enumerate(words) if c != " "]
    if not wanted or at < 0 or len(kept) != len(split.replace(" ", "")):
        return words
    before = len(split[:at].replace(" ", ""))
    return words[kept[before] : kept[before + len(wanted.replace(" ", "")) - 1] + 1]


def predictions(tokenizer, questions, all_windows, logits):
    """For each question the text of its best span."""
    best = {}
    for (number, _, _, before, start, length), (starts, ends) in zip(all_windows, logits.astype(np.float64)):
        question = questions[number]
        window = question.spans.index((start, length))
        likeliest = [np.argsort(-values, kind="stable")[:LIKELIEST] for values in (starts, ends)]
        for a in likeliest[0]:
            if not before <= a < before + length or question.best_window_of(start + a - before) != window:
                continue
            for b in likeliest[1]:
                if a <= b < min(a + LONGEST, before + length):
                    found = (starts[a] + ends[b], start + a - before, start + b - before)
                    if number not in best or found[0] > best[number][0]:
                        best[number] = found
    texts = {number: text_of(tokenizer, questions[number], first, last) for number, (_, first, last) in best.items()}
    return [texts.get(number, "empty") for number in range(len(questions))]


def plain(text):
    text = "".join(c for c in text.lower() if c not in string.punctuation)
    return re.sub(r"\b(?:a|an|the)\b", " ", text).split()


def f1(given, right):
    same = sum((collections.Counter(given) & collections.Counter(right)).values())
    return 0.0 if same == 0 else 2 * (same / len(given)) * (same / len(right)) / (same / len(given) + same / len(right))


def scores(tokenizer, questions, all_windows, logits):
    texts = predictions(tokenizer, questions, all_windows, logits)
    pairs = [(plain(text), [plain(r) for r in q.right]) for text, q in zip(texts, questions)]
    return {
        "f1": 100 * sum(max(f1(text, r) for r in right) for text, right in pairs) / len(pairs),
        "exact_match": 100 * sum(text in right for text, right in pairs) / len(pairs),
        "different_texts": len(set(texts)),
    }


def main():
    folder, model = Path(sys.argv[1]), sys.argv[2:]
    if is_there([folder / "expected.json", *[folder / "bert.npy" for _ in model]], *model):
        return print(f"{folder}: there already")
    folder.mkdir(parents=True, exist_ok=True)
    writer = Writer(11)
    squad = dataset(writer)
    (folder / "dev-v1.1.json").write_text(json.dumps(squad), encoding="utf-8")
    (folder / "vocab.txt").write_text("\n".join(vocabulary()) + "\n", encoding="utf-8")

    tokenizer = BertTokenizer(str(folder / "vocab.txt"))
    paragraphs = [paragraph for article in squad["data"] for paragraph in article["paragraphs"]]
    questions = [Question(tokenizer, p["context"], asked) for p in paragraphs for asked in p["qas"]]
    all_windows = list(windows(tokenizer, questions))
    features = {
        "input_ids": padded([window.ids for window in all_windows]),
        "input_mask": padded([[1] * len(window.ids) for window in all_windows]),
        "segment_ids": padded([window.types for window in all_windows]),
    }
    np.savez_compressed(folder / "features.npz", **features)

    answers = {"logits": seeded_logits(writer.random, questions, all_windows)}
    if model:
        answers["bert"] = model_logits(model[0], features)
    expected = {"windows": len(all_windows), "questions": len(questions)}
    for name, logits in answers.items():
        np.save(folder / f"{name}.npy", logits)
        expected[name] = scores(tokenizer, questions, all_windows, logits)
    (folder / "expected.json").write_text(json.dumps(expected, indent=1) + "\n")
    print(f"{folder}: {expected}")


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3) or "--help" in sys.argv:
        sys.exit(__doc__)
    main()
