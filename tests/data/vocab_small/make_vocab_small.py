"""Writes the goldens of this folder with the `tokenizers` library (0.23) and SentencePiece (0.2).

    python make_vocab_small.py

The models are trained on the lines of STRINGS, so they are small and mean nothing.
"""
import base64
import io
import json
import pathlib

import gguf
import sentencepiece
from sentencepiece import sentencepiece_model_pb2
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers,
                        pre_tokenizers, processors, trainers)

HERE = pathlib.Path(__file__).parent

STRINGS = [
    "", " ", "  two  spaces ", "Hello world", "Hello, World! It's the U.S. of A.", "hello\tthere\r\nnew  line\n",
    "don't DON'T we'll WE'LL I'm", "camelCase PascalCase SCREAMING_SNAKE", "12 of 1608, 3.14 and 1000000",
    "caf\u00e9 cafe\u0301 na\u00efve \u00c5ngstr\u00f6m \u1e9b\u0323", "\u00c4\u00d6\u00dc \u00df STRASSE",
    "\u0130stanbul I\u0131 \u03a3\u03af\u03c3\u03c5\u03c6\u03bf\u03c2 \u03a3\u0391\u03a3",
    "\u041f\u0440\u0438\u0432\u0435\u0442, \u043c\u0438\u0440!", "\u6f22\u5b57\u3068\u4eee\u540d \u4e2d\u6587abc\u4e2d", "\ud55c\uad6d\uc5b4 \ud55c\uad6d\uc5b4",
    "\u0e20\u0e32\u0e29\u0e32\u0e44\u0e17\u0e22 \u0939\u093f\u0928\u094d\u0926\u0940", "\u0645\u0631\u062d\u0628\u0627\u060c \u0639\u0627\u0644\u0645", "\U0001f600 \U0001f468\u200d\U0001f469\u200d\U0001f467 \U0001f1e9\U0001f1ea e\u200d",
    "\ufb01 \ufb03 \u2460 \u00bd \u00b2 \u2167 \uff21\uff22\uff11 \u212b \u2126", "a\u00a0b\u2003c\u3000d\u1680e\u200bf\ufeffg", "a\u0000b\u0001c\u007fd\u0085e\u00adf\u2028g\u2029h\ufffdi\ue000j",
    "x\u2581y \u2581\u2581", "<s>[CLS]</s>[SEP]<mask> <mask>[MASK]", "foo barfoo foo, foobar FOO Foo", "   leading and trailing   ",
    "a-b_c.d/e\\f|g{h}i[j]k(l)m<n>o=p+q*r&s^t%u$v#w@x!y~z`", "\u2014\u2026\u201cquoted\u201d \u00abguillemets\u00bb \u00bfque? \u3002\uff0c\u3001",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "unbelievableness antidisestablishmentarianism", "the quick brown fox jumps over the lazy dog",
    "The Quick Brown Fox Jumps Over The Lazy Dog", "low lower lowest newer newest wider widest", "\u0041\u030a \u0061\u0323\u0302 \u1ead \u0344 \u0958",
    "e\u0301\u0301\u0301 o\u0308\u0304", "\r\n\r\n\n\r \t\t", "#hash ##hash ###", "[unused1] [UNK] [PAD]", "2\u00b3 \u0664\u0665 \u0967\u0968 \u3007\u4e8c",
]
SPECIAL = ["<s>", "</s>", "<unk>", "<mask>"]


def literal(text):
    return {"type": "Replace", "pattern": {"String": text[0]}, "content": text[1]}


def sentencepiece_model(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter([s for s in STRINGS if s.strip() and "\0" not in s and "\u2581" not in s] * 3),
        model_writer=model, minloglevel=2, num_threads=1, hard_vocab_limit=False, **options)
    proto = sentencepiece_model_pb2.ModelProto()
    proto.ParseFromString(model.getvalue())
    return proto


# A character map of a few rules; the standard ones take 240 kB.
RULES = "\n".join([
    "FB01\t66 69", "FB03\t66 66 69", "2460\t31", "BD\t31 2044 32", "C5\t41 30A", "E9\t65", "65 301\t45",
    "A0\t20", "3000\t20", "9\t20", "A\t20", "D\t20", "200B\t", "1F600\t3A 29", "6F\t30", "6F 66\t66 6F",
]) + "\n"


def small_charsmap():
    rules = HERE / "rules.tsv"
    rules.write_text(RULES)
    proto = sentencepiece_model(vocab_size=400, model_type="unigram", normalization_rule_tsv=str(rules))
    rules.unlink()
    return proto.normalizer_spec.precompiled_charsmap


CHARSMAP = base64.b64encode(small_charsmap()).decode()

NORMALIZERS = [
    {"type": "BertNormalizer", "clean_text": clean, "handle_chinese_chars": chinese, "strip_accents": accents, "lowercase": lower}
    for clean, chinese, accents, lower in [
        (True, True, None, True), (True, True, None, False), (False, True, False, True), (True, False, True, False),
        (False, False, True, True)]
] + [{"type": name} for name in ["NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Nmt"]] + [
    {"type": "Strip", "strip_left": left, "strip_right": right} for left, right in [(True, True), (False, True), (True, False)]
] + [
    {"type": "Prepend", "prepend": "\u2581"}, literal((" ", "\u2581")),
    {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "},
    {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"},
    {"type": "Replace", "pattern": {"Regex": "^[a-z]|o$"}, "content": "<\\1>"},
    {"type": "Precompiled", "precompiled_charsmap": CHARSMAP},
    {"type": "Sequence", "normalizers": [{"type": "NFKD"}, {"type": "StripAccents"}, {"type": "Lowercase"},
                                         {"type": "Strip", "strip_left": True, "strip_right": True}]},
    {"type": "Sequence", "normalizers": [{"type": "Precompiled", "precompiled_charsmap": CHARSMAP},
                                         {"type": "Strip", "strip_left": False, "strip_right": True},
                                         {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": "\u2581"}]},
]

BYTE_LEVEL = {"type": "ByteLevel", "add_prefix_space": False, "trim_offsets": True, "use_regex": True}


def split(pattern, behavior="Isolated", invert=False):
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": behavior, "invert": invert}


def sequence(*steps):
    return {"type": "Sequence", "pretokenizers": list(steps)}


PRE_TOKENIZERS = [
    {"type": "BertPreTokenizer"}, {"type": "Whitespace"}, {"type": "WhitespaceSplit"},
    {"type": "CharDelimiterSplit", "delimiter": "o"}, {"type": "Digits", "individual_digits": True},
    {"type": "Digits", "individual_digits": False}, {"type": "Punctuation", "behavior": "Isolated"},
    {"type": "Punctuation", "behavior": "Contiguous"}, {"type": "Punctuation", "behavior": "MergedWithPrevious"},
    BYTE_LEVEL, BYTE_LEVEL | {"add_prefix_space": True}, BYTE_LEVEL | {"use_regex": False},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True},
    {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": False},
    {"type": "Metaspace", "replacement": "_", "prepend_scheme": "never", "split": True},
    # T5, XLM-R
    sequence({"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "always", "split": True}),
    sequence({"type": "WhitespaceSplit"}, {"type": "Metaspace", "replacement": "\u2581", "prepend_scheme": "first", "split": True}),
    # StarCoder, Cohere
    sequence({"type": "Digits", "individual_digits": True}, BYTE_LEVEL),
    # Falcon
    sequence({"type": "Punctuation", "behavior": "Contiguous"}, BYTE_LEVEL, {"type": "Digits", "individual_digits": False},
             split("[0-9][0-9][0-9]")),
    # BLOOM: a class inside a class
    sequence(split(" ?[^(\\s|[.,!?\u2026\u3002\uff0c\u3001\u0964\u06d4\u060c])]+"), BYTE_LEVEL | {"use_regex": False}),
    # CLIP
    sequence(split("'s|'t|'re|'ve|'m|'ll|'d|[\\p{L}]+|[\\p{N}]|[^\\s\\p{L}\\p{N}]+", "Removed", True), BYTE_LEVEL),
    # Gemma
    {"type": "Split", "pattern": {"String": " "}, "behavior": "MergedWithPrevious", "invert": False},
    # Llama 3, gpt-oss
    sequence(split("(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"),
             BYTE_LEVEL | {"use_regex": False}),
    sequence(split("[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]*[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\\r\\n\\p{L}\\p{N}]?[\\p{Lu}\\p{Lt}\\p{Lm}\\p{Lo}\\p{M}]+[\\p{Ll}\\p{Lm}\\p{Lo}\\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n/]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"),
             BYTE_LEVEL | {"use_regex": False}),
    # Oniguruma's ^ and $
    split("^.|x$", "MergedWithNext"),
]


def shell(model, normalizer=None, pre_tokenizer=None):
    """A Tokenizer from the JSON of its parts."""
    return Tokenizer.from_str(json.dumps({
        "version": "1.0", "truncation": None, "padding": None, "added_tokens": [], "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer, "post_processor": None, "decoder": None, "model": json.loads(model.__getstate__())}))


def trained(tokenizer, trainer):
    tokenizer.train_from_iterator(STRINGS, trainer)
    return tokenizer


def wordpiece(normalizer, longest, processor):
    tokenizer = shell(models.WordPiece(unk_token="[UNK]", max_input_chars_per_word=longest), normalizer, {"type": "BertPreTokenizer"})
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    trained(tokenizer, trainers.WordPieceTrainer(vocab_size=330, special_tokens=special, show_progress=False))
    tokenizer.post_processor = processor
    tokenizer.add_tokens([AddedToken("fox", single_word=True, normalized=True), AddedToken("NEW", normalized=True),
                          AddedToken("Old", normalized=False)])
    return tokenizer


def template(front, back, ids):
    return processors.TemplateProcessing(single=f"{front} $A {back}".strip(), special_tokens=list(ids.items()))


def byte_bpe(pre_tokenizer, normalizer=None, size=330, **options):
    tokenizer = shell(models.BPE(**options), normalizer, pre_tokenizer)
    suffix = {key: value for key, value in options.items() if key == "end_of_word_suffix"}
    return trained(tokenizer, trainers.BpeTrainer(
        vocab_size=size, special_tokens=["<s>", "</s>", "<unk>"], show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), **suffix))


def clip():
    tokenizer = byte_bpe(PRE_TOKENIZERS[20], {"type": "Sequence", "normalizers": [
        {"type": "NFC"}, {"type": "Replace", "pattern": {"Regex": "\\s+"}, "content": " "}, {"type": "Lowercase"}]},
        size=620, end_of_word_suffix="</w>", unk_token="</s>")
    # The trainer forgets that the last letter of a word has a token of its own.
    data = json.loads(tokenizer.to_str())
    vocab = data["model"]["vocab"]
    for letter in sorted(pre_tokenizers.ByteLevel.alphabet()):
        vocab.setdefault(letter + "</w>", len(vocab))
    tokenizer = Tokenizer.from_str(json.dumps(data))
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0), trim_offsets=False, add_prefix_space=False)
    return tokenizer


def roberta():
    tokenizer = byte_bpe(BYTE_LEVEL)
    tokenizer.add_special_tokens([AddedToken("<mask>", lstrip=True), AddedToken("[MASK]", rstrip=True)])
    tokenizer.add_tokens([AddedToken("foo", single_word=True), AddedToken("foobar", normalized=False), "  "])
    tokenizer.post_processor = processors.RobertaProcessing(("</s>", 1), ("<s>", 0))
    return tokenizer


def character_bpe():
    """BPE on characters with a mark inside words and fused unknowns."""
    tokenizer = shell(models.BPE(unk_token="<unk>", fuse_unk=True, continuing_subword_prefix="@@"), None, {"type": "Whitespace"})
    return trained(tokenizer, trainers.BpeTrainer(
        vocab_size=200, special_tokens=["<unk>"], continuing_subword_prefix="@@", limit_alphabet=40, show_progress=False))


def llama():
    """SentencePiece BPE as transformers writes it: no pre-tokenizer, byte tokens."""
    proto = sentencepiece_model(vocab_size=480, model_type="bpe", byte_fallback=True, character_coverage=0.98,
                                normalization_rule_name="identity", remove_extra_whitespaces=False)
    vocab = {piece.piece: i for i, piece in enumerate(proto.pieces)}
    ranked = sorted((-piece.score, piece.piece) for piece in proto.pieces if piece.type == 1 and len(piece.piece) > 1)
    merges = []
    for _, piece in ranked:
        splits = [(piece[:i], piece[i:]) for i in range(1, len(piece)) if piece[:i] in vocab and piece[i:] in vocab]
        merges += sorted(splits, key=lambda pair: (vocab[pair[0]], vocab[pair[1]]))
    model = models.BPE(vocab=vocab, merges=merges, unk_token="<unk>", fuse_unk=True, byte_fallback=True)
    tokenizer = shell(model, {"type": "Sequence", "normalizers": [{"type": "Prepend", "prepend": "\u2581"}, literal((" ", "\u2581"))]})
    tokenizer.add_special_tokens(["<unk>", "<s>", "</s>"])
    tokenizer.post_processor = template("<s>", "", {"<s>": 1})
    return tokenizer


def unigram(byte_fallback, normalizer, pre_tokenizer, back):
    proto = sentencepiece_model(vocab_size=500 if byte_fallback else 260, model_type="unigram", byte_fallback=byte_fallback,
                                character_coverage=0.98, normalization_rule_name="identity", pad_id=0, eos_id=1, unk_id=2, bos_id=-1)
    model = models.Unigram([(piece.piece, piece.score) for piece in proto.pieces], unk_id=2, byte_fallback=byte_fallback)
    tokenizer = shell(model, normalizer, pre_tokenizer)
    tokenizer.add_special_tokens(["<pad>", "</s>", "<unk>"])
    tokenizer.post_processor = template("", back, {"</s>": 1})
    return tokenizer


def tokenizers():
    bert = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    yield "bert uncased", wordpiece(NORMALIZERS[0], 100, bert)
    yield "bert cased, short words", wordpiece(NORMALIZERS[1], 12, template("[CLS]", "[SEP]", {"[CLS]": 2, "[SEP]": 3}))
    yield "clip", clip()
    yield "roberta", roberta()
    yield "falcon", byte_bpe(PRE_TOKENIZERS[18])
    yield "characters", character_bpe()
    yield "llama", llama()
    yield "t5", unigram(False, NORMALIZERS[-1], PRE_TOKENIZERS[12], "</s>")
    yield "xlm-r, byte tokens", unigram(True, {"type": "Replace", "pattern": {"Regex": " {2,}"}, "content": " "}, PRE_TOKENIZERS[15], "</s>")
    yield "unsplit, byte tokens", unigram(True, {"type": "NFKC"}, PRE_TOKENIZERS[13], "")


def ids_of(tokenizer, text, special):
    tokenizer.encode_special_tokens = not special
    ids = tokenizer.encode(text, add_special_tokens=False).ids
    # The library's Unigram finds the spelling of a special token in plain text; SentencePiece and
    # sinkscope do not, so there is no expected value.
    controls = {0, 1} if isinstance(tokenizer.model, models.Unigram) and not special else set()
    return None if controls & set(ids) else ids


def write_gguf(proto, spaces):
    """The model as llama.cpp's converter writes it."""
    writer = gguf.GGUFWriter(HERE / "unigram.gguf", "t5")
    writer.add_tokenizer_model("t5")
    writer.add_tokenizer_pre("default")
    writer.add_token_list([piece.piece for piece in proto.pieces])
    writer.add_token_scores([piece.score for piece in proto.pieces])
    writer.add_token_types([piece.type for piece in proto.pieces])
    writer.add_add_space_prefix(spaces["add_dummy_prefix"])
    writer.add_remove_extra_whitespaces(spaces["remove_extra_whitespaces"])
    writer.add_precompiled_charsmap(proto.normalizer_spec.precompiled_charsmap)
    for name, piece in [("pad", "<pad>"), ("eos", "</s>"), ("unk", "<unk>")]:
        getattr(writer, f"add_{name}_token_id")([p.piece for p in proto.pieces].index(piece))
    writer.add_add_eos_token(True)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()


def unigram_gguf():
    """A GGUF file and what SentencePiece itself gives for its model."""
    spaces = {"add_dummy_prefix": True, "remove_extra_whitespaces": True}
    rules = HERE / "rules.tsv"
    rules.write_text(RULES)
    proto = sentencepiece_model(vocab_size=320, model_type="unigram", normalization_rule_tsv=str(rules), pad_id=0, eos_id=1,
                                unk_id=2, bos_id=-1, character_coverage=0.98, **spaces)
    rules.unlink()
    write_gguf(proto, spaces)
    processor = sentencepiece.SentencePieceProcessor(model_proto=proto.SerializeToString())
    # SentencePiece ends at a zero byte, and trims U+2581 like a space; llama.cpp does neither.
    return [None if "\0" in s or "\u2581" in s else processor.encode(s) for s in STRINGS]


def ranges(characters):
    out = []
    for c in characters:
        if out and out[-1][1] == c - 1:
            out[-1][1] = c
        else:
            out.append([c, c])
    return out


def sets():
    """The characters that the library treats in a special way, as ranges of code points."""
    everything = [c for c in range(1, 0x110000) if not 0xD800 <= c <= 0xDFFF]
    normalizer = lambda **on: normalizers.BertNormalizer(**(dict(
        clean_text=False, handle_chinese_chars=False, strip_accents=False, lowercase=False) | on)).normalize_str
    clean, chinese, marks = normalizer(clean_text=True), normalizer(handle_chinese_chars=True), normalizer(strip_accents=True)
    pieces = pre_tokenizers.BertPreTokenizer().pre_tokenize_str
    accents = normalizers.StripAccents().normalize_str
    where = lambda test: ranges(c for c in everything if test(f"a{chr(c)}b"))
    return {"bert_control": where(lambda s: clean(s) == "ab" and s[1] != "\ufffd"), "bert_chinese": where(lambda s: " " in chinese(s) and s[1] != " "),
            "bert_marks": where(lambda s: marks(s) == "ab"), "bert_punctuation": where(lambda s: len(pieces(s)) == 3),
            "combining_marks": where(lambda s: accents(s) == "ab"), "white_space": where(lambda s: len(pieces(s)) == 2)}


def write(name, value):
    (HERE / name).write_text(json.dumps(value, ensure_ascii=True, separators=(",", ":")) + "\n")


def main():
    write("strings.json", STRINGS)
    write("sets.json", sets())
    write("normalizers.json", [
        {"normalizer": n, "texts": [shell(models.BPE(), n).normalizer.normalize_str(s) for s in STRINGS]} for n in NORMALIZERS])
    write("pre_tokenizers.json", [
        {"pre_tokenizer": p, "pieces": [[piece for piece, _ in shell(models.BPE(), None, p).pre_tokenizer.pre_tokenize_str(s)] for s in STRINGS]}
        for p in PRE_TOKENIZERS])
    cases = []
    for name, tokenizer in tokenizers():
        case = {"name": name, "tokenizer": json.loads(tokenizer.to_str()),
                "plain": [ids_of(tokenizer, s, False) for s in STRINGS], "special": [ids_of(tokenizer, s, True) for s in STRINGS],
                "hello_world_with_special": tokenizer.encode("Hello world").ids}
        cases.append(case)
    write("tokenizers.json", cases)
    write("unigram_gguf.json", unigram_gguf())


main()
