"""Words that carry no meaning of their own in a shopping request, and words that mean the same.

Kept apart from the rules that use them: a change here changes clusters, so it is part of the split's version. All is
in the form that the rules see: casefolded, without apostrophes, hyphens already blank.
"""

from __future__ import annotations

_STOP_WORDS = """
a able about above additionally after all allow allowing allows also am among an and another any appreciate
appreciated approximately are around as asap assist assistance assisting at availability available be been being below
benefit benefits between both but buy buying by called can carries carry categories category come comes coming cost
costing costs could crafted currently deal deals design designed designs different do does dollar dollars dont each
either ensure etc exceeding exceeds feature featured features featuring fifth find finding first five following for
four fourth from further furthermore get give given gives giving good got grateful great greater had has have having
hello help her here heres hey hi higher his hope hoping how i id ideally if ill im in include included includes
including interested into is isnt it item items its ive just kindly last lastly least less let like listed look
looking lookup love lower made make making maximum may me might minimum more moreover most much multiple must my name
named need needed needs next no not of offer offered offering offers on one ones only option options or order other
our over p particular perk perks peso pesos php please plus prefer preferable preferably preferred present price
priced prices pricing product products provide provides purchase purchases purchasing range ranges ranging really
recommend related right same search searching second sell seller sellers selling sells service services several shop
shops should show showing six so sold some something special specific specifically starting store stores such suggest
suggestions suitable support supported supporting supports sure than thank thanks that thats the their them then there
theres these they thing things third this those three through to together too two type types under up us usd use used
uses using variety various want wanted wants was we well were what when where which while who will wish with within
would you your
"""
STOP_WORDS = frozenset(_STOP_WORDS.split())
"""Request phrasing, ordinals, price relations and currency: present or absent at the whim of whoever asks."""

_VOUCHER_WORDS = """
across afford after although amount amounts applicable applied applies apply applying back below beyond bought
budget budgets cap capped caps cart checkout clear clears code condition conditions coupon coupons covers cross
crosses crossing cut discount discounted discounts eligible entire everything exceed exceeded exceeds fixed get
gets goods got hits hold holding holds keep kicks limit limited max maximum min minimum money no note off once
order orders overall pass passed passes pay percent percentage platform promo promotion qualifies qualify reach
reached reaches reaching redeem redeemable reduce reduced reduces reduction remain remains require required
requires requiring rule rules save saves saving savings scope single sitewide spend spending spends spent stay
stays subtotal sum take takes terms than though threshold total totaling totalling totals until usable valid
value voucher vouchers wallet whole wide worth
"""
VOUCHER_WORDS = frozenset(_VOUCHER_WORDS.split())
"""What the terms of a voucher and a budget are told in: a sentence of nothing but these, stop words and numbers."""

_VOUCHER_CUES = """
afford budget cap capped coupon coupons discount discounted discounts off pay promo rules scope spend spending
threshold total voucher vouchers
"""
VOUCHER_CUES = frozenset(_VOUCHER_CUES.split())
"""A sentence goes only when it holds one of these: `Priced above 10.` alone is about the goods."""

PHRASES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    (
        r"(?:by )?(?:(?:cash|pay(?:ments?|able)?|paid(?: for)?)(?: by cash)? (?:up)?on (?:delivery|receipt|arrival)|"
        r"c\.?o\.?d)",
        "cod",
        ("delivery", "receipt", "arrival", "cod", "c.o", "o.d"),
    ),
    (
        r"(?:free|complimentary|gratis|no cost|zero cost) (?:of charge )?(?:shipping|delivery|shipment|postage)",
        "freeshipping",
        ("free", "complimentary", "gratis", "cost"),
    ),
    (r"(?:shipping|delivery|shipped|delivered) (?:is |for )?free(?: of charge)?", "freeshipping", ("free",)),
    (r"(?:ships?|shipped|delivered|delivers?) (?:for )?free", "freeshipping", ("free",)),
    (
        r"(?:laz ?flash|flash (?:sales?|deals?|promos?|promotions?|offers?))"
        r"(?: (?:sales?|deals?|promos?|promotions?|offers?|discounts?|limited|time|special))*",
        "flashsale",
        ("flash",),
    ),
    (r"(?:laz ?mall)(?: (?:services?|perks?|benefits?|store|verified|official))*", "lazmall", ("laz",)),
    (
        r"(?:100% )?(?:guaranteed )?authenticity(?: (?:guarantees?|guaranteed|promises?|assurance))*"
        r"(?:,? (?:and|plus|with))?"
        r"(?:,? (?:(?:easy|quick|fast|free|hassle|return|returns|\d+ days?) )*(?:returns?|guarantees?))*",
        "lazmall",
        ("authenticity",),
    ),
    (r"t ?shirts?", "tee", ("shirt",)),
    (r"extra small", "xs", ("extra small",)),
    (r"extra large", "xl", ("extra large",)),
    (r"(?:mobile|cell|smart) ?phones?", "phone", ("phone",)),
    (r"(?:make up|makeup)", "makeup", ("make",)),
    (r"(?:pack|packs|bundle) of", "", (" of",)),
    (r"(?:water proof)", "waterproof", ("water proof",)),
)
"""A pattern over whole words, what stands for it, and texts of which every match holds one: looking for these first
saves most of the time. The few phrases that the shopping domain words in many ways."""

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
"""Single words that are written two ways (British and American), sized two ways, or stand for one another in this
domain."""

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

LOOKALIKES = str.maketrans(
    "авекмнорстухіјѕһԁԛԝѵӏ" + "αβεζηικνορτυχω" + "օսհոց" + "ıɑɡłøđħ" + "ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘꞯʀꜱᴛᴜᴠᴡʏᴢ",
    "abekmhopctyxijshdqwvl" + "abeznikvoptuxw" + "ouhng" + "iaglodh" + "abcdefghijklmnopqrstuvwyz",
) | {first + place: 97 + place for first in (0x1F150, 0x1F170) for place in range(26)}
"""Letters of other scripts, casefolded, small capitals and letters on a dark circle or square, that pass for a Latin
one: a query cannot be hidden by them."""
