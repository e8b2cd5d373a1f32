"""What a rephrasing may change without changing the content tokens."""

import json
import unicodedata

import pytest

from tracemill.leakage.normalise import clean, content_tokens, differ_only_in_numbers

PLAIN = "Find a red 1000 ml mug with free shipping, priced above 425 PHP."
TOKENS = ("1000ml", "425", "freeshipping", "mug", "red")


@pytest.mark.parametrize(
    "query",
    [
        PLAIN,
        PLAIN.upper(),
        "  Find\u00a0a  red 1000 ml mug\nwith free shipping, priced above 425 PHP.  ",
        "Show me red mugs, 1,000ml, with complimentary delivery and costing more than 425.00 pesos",
        "I need a mug: 1000-ml, red, ships free, over ₱425",
        "Please help me find a RED mug (1000 millilitres) with free delivery with a price over P425",
        "Fi\u00adnd a r\u200bed 1000 ml mu\u200dg with free shipping, priced above 425 PHP.",
        "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in PLAIN),
        "1) a red mug; 2) 1000 ml; 3) free shipping; 4) above 425 PHP",
        "- red mug\n- 1000 ml\n- free shipping\n- above 425 PHP",
        "Fіnd а rеd 1000 ml мug wіth frее shірріng, рrісеd аbоvе 425 РНР.",
        "mug: rεd, 1000 ml, frεε shιρριηg, αbονε 425 PHP",
        "Find a red ١٠٠٠ ml mug with free shipping, priced above ٤٢٥ PHP.",
        "Hello! I would really appreciate your assistance: a red 1000 ml mug, free shipping, above 425 PHP."
        " Much appreciated!",
    ],
)
def test_wording_form_and_order_do_not_change_the_tokens(query):
    assert content_tokens(query) == TOKENS


def test_the_compatibility_forms_of_one_request_are_one():
    first = content_tokens("Find a ＵＳＢ‑C cable, ½ m")
    assert first == content_tokens("find a usb-c  cable 1⁄2 m") == ("1/2m", "c", "cable", "usb")


PLAIN = "Find a red mug with lid"


@pytest.mark.parametrize(
    "disguise",
    [
        *(chr(code).join for code in (0xAD, 0x34F, 0x115F, 0x1160, 0x17B4, 0x180B, 0x180E, 0x200B, 0x2060, 0x3164)),
        *(chr(code).join for code in (0xFE0F, 0xFEFF, 0xFFA0, 0x1D173, 0xE0041, 0xE0100, 0xE01EF)),
        *(chr(code).join for code in (0x336, 0x1AB0, 0x1DC4, 0x20DD, 0x20E3, 0xFE20)),
        lambda text: text.translate(dict(zip(map(ord, "edgimnluahr"), "ᴇᴅɢɪᴍɴʟᴜᴀʜʀ", strict=True))),
        lambda text: text.translate(dict(zip(map(ord, "guhn"), "ցսհո", strict=True))),
        lambda text: "".join(chr(0x1F150 + ord(c) - 97) if c.isalpha() else c for c in text.lower()),
        lambda text: "".join(chr(0x1F170 + ord(c) - 97) if c.isalpha() else c for c in text.lower()),
    ],
)
def test_what_cannot_be_seen_or_looks_the_same_hides_no_request(disguise):
    assert disguise(PLAIN) != PLAIN
    assert content_tokens(disguise(PLAIN)) == content_tokens(PLAIN) == ("lid", "mug", "red")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("women's “denim” jeans", "WOMEN’S 'denim' JEANS"),
        ("café au lait cup", unicodedata.normalize("NFD", "café au lait cup")),
        ("heavy-duty wheel", "heavy duty wheels"),
        ("12-inch pan", '12" pan'),
        ("frame 5 x 7 cm", "frame 5x7cm"),
        ("pack of 10 sponges", "10pcs sponges"),
        ("grey t-shirt, extra small", "gray tee XS"),
        ("soap, cash on delivery", "soap with COD"),
        ("lamp with LazFlash deals", "lamp with a flash sale"),
        ("weighs 0.50 kg", "weighs .5kg"),
        ("1\u202f200 beads", "1,200 beads"),
    ],
)
def test_two_ways_to_write_the_same_are_equal(one, other):
    assert content_tokens(one) == content_tokens(other)


VOUCHERS = [
    "\n\nMy budget is only `225`, but I have a voucher with the following rules:\n"
    "1. The voucher only applies to the products from the same shop.\n"
    "2. It is valid only when the total price of the products exceeds `62`.\n3. It provides a fixed discount of `15`.",
    " Please keep it under 225, using my 15 pesos off voucher (items bought in one shop, needs over 62).",
    "\nBudget: 225. Coupon: 15 pesos off, valid for items bought in one shop, minimum spend 62.",
    " I can spend 225 at most. I also hold a voucher giving 24% off (max 94) on any product once the sum is above 62.",
    " The total must not exceed 232 after applying my voucher of 21% off, max 94, minimum spend 154.",
    " I have 225 to spend and a coupon that takes 15 off orders over 62 from one store.",
]


@pytest.mark.parametrize("voucher", VOUCHERS)
def test_a_vouchers_terms_say_nothing_about_the_goods(voucher):
    assert content_tokens("Looking for a velvet ring box." + voucher) == ("box", "ring", "velvet")


def test_a_price_condition_of_its_own_sentence_is_kept():
    assert content_tokens("I want a velvet box. Priced above 310 PHP.") == ("310", "box", "velvet")


def test_a_request_is_never_worn_down_to_nothing_by_the_voucher_rule():
    assert content_tokens("Budget 100, coupon 10 off.") != ()


@pytest.mark.parametrize("query", ["", "   ", "show me what you have", "\u200b\u00ad", "!!! ???"])
def test_nothing_but_stop_words_has_no_tokens(query):
    assert content_tokens(query) == ()


def test_a_number_that_ends_a_sentence_is_no_list_marker():
    assert "10" in content_tokens("A mug priced above 10. Also a plate.")


def test_singular_and_plural_meet_without_maiming_words():
    assert content_tokens("glasses batteries dresses gps bus lens hoodies") == content_tokens(
        "glass battery dress gps bus lenses hoodie"
    )


def test_scripts_without_spaces_are_compared_by_pairs_of_characters():
    assert content_tokens("赤いマグ") == ("いマ", "マグ", "赤い")


def test_only_numbers_differ():
    ten, hundred = content_tokens("red mug under 10"), content_tokens("red mug under 100")
    assert differ_only_in_numbers(ten, hundred)
    assert not differ_only_in_numbers(ten, ten)
    assert not differ_only_in_numbers(ten, content_tokens("red cup under 10"))


def test_cleaning_keeps_line_ends_and_drops_what_cannot_be_seen():
    assert clean("A\u200bB\u00a0 C\x00\nD") == "ab c \nd"


@pytest.mark.parametrize(
    "hostile", ["(1) " * 20_000, "1,000" * 20_000, "flash " * 20_000, "5 x " * 20_000, "<" * 50_000]
)
def test_long_hostile_queries_are_read(hostile):
    assert len(content_tokens(hostile)) <= 3


def test_labelled_variants_of_the_real_problems_link_and_unrelated_ones_do_not(shared):
    lines = (shared / "data/shoppingbench/problems.jsonl").read_text(encoding="utf-8").splitlines()
    real = {row["problem_id"]: set(content_tokens(row["query"])) for row in map(json.loads, lines)}
    variants = [json.loads(x) for x in (shared / "cases/leak_variants.jsonl").read_text(encoding="utf-8").splitlines()]

    def linked(a, b):
        return 10 * len(a & b) >= 3 * (len(a) + len(b))

    hits = sum(linked(set(content_tokens(v["query"])), real[v["problem_id"]]) for v in variants)
    assert hits / len(variants) >= 0.98

    gold = {tuple(pair) for pair in json.loads((shared / "cases/gold_links.json").read_text())}
    ids = sorted(real)
    merged = [(a, b) for n, a in enumerate(ids) for b in ids[n + 1 :] if linked(real[a], real[b])]
    assert len([pair for pair in merged if pair not in gold]) <= 2
