"""Words that carry no meaning of their own in a shopping request, and words that mean the same.

Kept apart from the rules that use them: a change here changes clusters, so it is part of the split's version. Everything is in
the form that the rules see: casefolded, without apostrophes, hyphens already blank.
"""

from __future__ import annotations

STOP_WORDS = frozenset(
    """
    a about all also am an and any are as at available availability be been being both but by can come comes coming could do
    does each either find finding first fourth fifth for from further furthermore get give giving had has have having help her
    here heres his how i id if ill im in including includes include included interested into is it item items its ive just kindly last lastly
    let like look looking lookup made make making may me might more moreover multiple must my need needed needs next of offer
    offered offering offers on one only option options or other our plus please prefer preferable preferably preferred product
    products provide provides search searching second sell seller sellers selling sells several shop shops should show showing so some
    something sold specific specifically store stores such suggest that thats the theres their them then there these they thing things
    third this those three through to together too two up us use used uses using want wanted wants was we well were what when where
    which while who will with within would you your additionally another etc same four five six between among over under above below than
    cost costs costing price prices priced pricing range ranges ranging less least most higher lower greater minimum maximum
    peso pesos php p usd dollar dollars around approximately exceeding exceeds starting buy buying purchase purchases purchasing
    carry carries related following listed various variety different ones ideally not no isnt dont feature features featuring
    featured support supports supporting supported allow allows allowing ensure sure present type types deal deals perk perks
    benefit benefits service services special category categories suitable designed design designs
    crafted good great right named called name particular able
    """.split()
)
"""Request phrasing, ordinals, price relations and currency: present or absent at the whim of whoever phrases the request."""

VOUCHER_WORDS = frozenset(
    """
    afford applied applies apply applicable bought budget budgets cap capped caps cart checkout code coupon coupons cut discount
    discounted discounts eligible entire exceed exceeded exceeds fixed goods hits hold holding holds keep limit limited max
    min minimum off once order orders overall pay percent percentage platform reach reaches redeem reduce reduced reduces
    reduction rule rules save saves saving savings single spend spending spent subtotal sum terms conditions condition
    threshold total totalling totals totaling valid value voucher vouchers whole worth promo promotion amount amounts across
    after applying code everything exceed got note remain remains scope sitewide stay stays though although until wallet wide
    require requires required requiring qualify qualifies maximum money back get gets stay below beyond no than takes take
    """.split()
)
"""What the terms of a voucher and a budget are told in. A sentence of nothing but these, stop words and numbers says nothing
about the goods."""

VOUCHER_CUES = frozenset(
    """
    afford budget coupon coupons discount discounts discounted voucher vouchers spend spending cap capped promo rules off pay total threshold scope
    """.split()
)
"""A sentence goes only when it holds one of these: `Priced above 10.` alone is about the goods."""

PHRASES: tuple[tuple[str, str], ...] = (
    (r"(?:by )?(?:(?:cash|pay(?:ment|able)?|paid(?: for)?|payments?)(?: by cash)? (?:up)?on (?:delivery|receipt|arrival)|c\.?o\.?d)", "cod"),
    (r"(?:free|complimentary|gratis|no cost|zero cost) (?:of charge )?(?:shipping|delivery|shipment|postage)", "freeshipping"),
    (r"(?:ships?|shipped|delivered|delivers?) (?:for )?free", "freeshipping"),
    (r"(?:laz ?flash|flash)(?: (?:sales?|deals?|promos?|promotions?|offers?|discounts?|limited|time|special))*", "flashsale"),
    (r"(?:laz ?mall)(?: (?:services?|perks?|benefits?|store|verified|official))*", "lazmall"),
    (
        r"(?:100% )?(?:guaranteed )?authenticity(?: (?:guarantees?|guaranteed|promises?|assurance))*(?:,? (?:and|plus|with))?"
        r"(?:,? (?:(?:easy|quick|fast|free|hassle|return|returns|\d+ days?) )*(?:returns?|guarantees?))*",
        "lazmall",
    ),
    (r"t ?shirts?", "tee"),
    (r"extra small", "xs"),
    (r"extra large", "xl"),
    (r"(?:mobile|cell|smart) ?phones?", "phone"),
    (r"(?:make up|makeup)", "makeup"),
    (r"(?:pack|packs|bundle) of (?=\d)", ""),
    (r"(?:water proof)", "waterproof"),
)
"""Pairs of a pattern over whole words and what stands for it; the few phrases that the shopping domain words in many ways."""

SYNONYMS: dict[str, str] = {
    "colour": "color",
    "grey": "gray",
    "aluminium": "aluminum",
    "tshirt": "tee",
    "colored": "color",
    "coloured": "color",
    "sized": "size",
    "xsmall": "xs",
    "small": "s",
    "medium": "m",
    "large": "l",
    "xlarge": "xl",
    "xxlarge": "xxl",
    "2xl": "xxl",
    "kid": "child",
    "kids": "child",
    "children": "child",
    "childrens": "child",
    "mens": "man",
    "men": "man",
    "gent": "man",
    "gents": "man",
    "male": "man",
    "womens": "woman",
    "women": "woman",
    "lady": "woman",
    "ladies": "woman",
    "female": "woman",
    "trainer": "sneaker",
    "footwear": "shoe",
    "pouch": "bag",
    "scent": "fragrance",
    "scented": "fragrance",
    "perfumed": "perfume",
    "striped": "stripe",
    "embroidered": "embroidery",
    "wooden": "wood",
    "jewellery": "jewelry",
    "tyre": "tire",
    "mould": "mold",
    "metre": "meter",
    "litre": "liter",
    "fibre": "fiber",
    "pyjama": "pajama",
    "moisturising": "moisturizing",
    "specification": "spec",
    "lens": "lens",
    "lenses": "lens",
    "knives": "knife",
    "shelves": "shelf",
    "scarves": "scarf",
    "leaves": "leaf",
    "motorbike": "motorcycle",
    "cellphone": "phone",
    "handphone": "phone",
}
"""Single words that are written two ways (British and American), sized two ways, or stand for one another in this domain."""

UNITS: dict[str, str] = {
    "millilitre": "ml", "milliliter": "ml", "millilitres": "ml", "milliliters": "ml", "mls": "ml", "ml": "ml",
    "litre": "l", "liter": "l", "litres": "l", "liters": "l", "l": "l", "ltr": "l",
    "gram": "g", "grams": "g", "gr": "g", "gms": "g", "gm": "g", "g": "g",
    "kilogram": "kg", "kilograms": "kg", "kilo": "kg", "kilos": "kg", "kgs": "kg", "kg": "kg",
    "milligram": "mg", "milligrams": "mg", "mg": "mg", "mcg": "mcg", "oz": "oz", "ounce": "oz", "ounces": "oz",
    "lb": "lb", "lbs": "lb", "pound": "lb", "pounds": "lb",
    "millimetre": "mm", "millimeter": "mm", "millimetres": "mm", "millimeters": "mm", "mm": "mm",
    "centimetre": "cm", "centimeter": "cm", "centimetres": "cm", "centimeters": "cm", "cm": "cm", "cms": "cm",
    "metre": "m", "meter": "m", "metres": "m", "meters": "m", "mtr": "m", "m": "m",
    "inch": "in", "inches": "in", "foot": "ft", "feet": "ft", "ft": "ft", "yard": "yd", "yards": "yd",
    "volt": "v", "volts": "v", "v": "v", "watt": "w", "watts": "w", "w": "w", "mah": "mah", "hz": "hz",
    "gb": "gb", "tb": "tb", "mb": "mb", "pc": "", "pcs": "", "piece": "", "pieces": "", "count": "", "ct": "",
    "month": "month", "months": "month", "year": "year", "years": "year", "yr": "year", "yrs": "year",
    "pack": "", "packs": "", "pk": "",
}  # fmt: skip
"""Units of measure that may stand apart from their number: `50 ml`, `50-ml` and `50ml` are one token; a count of pieces
is its number (`10pcs`, `10-pack`, `pack of 10`)."""
