"""Schema of the sections `arena` and `snapshots` of params.yaml."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class CatalogParams(_Section):
    """The built-in catalogue: products come in lines, and a line's members share their title."""

    seed: int = Field(default=11, ge=0)
    products: int = Field(default=4_000, ge=50)
    """Least number of products; the last line is finished."""
    shops: int = Field(default=300, ge=3)
    members: int = Field(default=3, ge=2, le=4)
    """Products of one line, where its members differ in price, service, option or shop."""
    single: float = Field(default=0.52, ge=0.0)
    """Weight of lines with one product; the weights need not sum to 1."""
    price: float = Field(default=0.16, ge=0.0)
    """Weight of lines whose members differ in price only."""
    service: float = Field(default=0.07, ge=0.0)
    """Weight of lines whose members differ in service only."""
    option: float = Field(default=0.07, ge=0.0)
    """Weight of lines whose members differ in an option that a search finds."""
    combination: float = Field(default=0.05, ge=0.0)
    """Weight of lines of two whose options differ only in combination: only a view tells them apart."""
    shop: float = Field(default=0.17, ge=0.0)
    """Weight of lines that several shops sell alike."""


class ProblemParams(_Section):
    """The built-in problems. Bucket weights decide the difficulty, variant shares the work of the leak guard."""

    seed: int = Field(default=12, ge=0)
    problems: int = Field(default=1_200, ge=10)
    """Number of problems: 60% product, 20% shop, 20% voucher."""
    single: float = Field(default=0.46, ge=0.0)
    """Product problems whose words name one product."""
    price: float = Field(default=0.15, ge=0.0)
    """Product problems that the price decides."""
    service: float = Field(default=0.15, ge=0.0)
    """Product problems that the service decides."""
    option: float = Field(default=0.15, ge=0.0)
    """Product problems that an option decides, which the search words can name."""
    combination: float = Field(default=0.09, ge=0.0)
    """Product problems that only a view of the candidates decides."""
    extra_price: float = Field(default=0.25, ge=0.0, le=1.0)
    """Chance of a price range that decides nothing, for each wanted product."""
    shop_voucher: float = Field(default=0.25, ge=0.0, le=1.0)
    """Voucher problems whose voucher holds in one shop only."""
    percentage: float = Field(default=0.3, ge=0.0, le=1.0)
    """Vouchers with a capped percentage instead of a fixed discount."""
    paraphrase: float = Field(default=0.05, ge=0.0, le=0.3)
    """Share of problems that ask for an earlier problem's reward in other words."""
    reorder: float = Field(default=0.03, ge=0.0, le=0.3)
    """Share with the same attributes or items in another order."""
    unicode: float = Field(default=0.02, ge=0.0, le=0.3)
    """Share that is an earlier problem up to compatibility forms, case and spaces."""
    numeric: float = Field(default=0.02, ge=0.0, le=0.3)
    """Share that differs from an earlier problem in numbers only, and wants another product."""
    shared_gold: float = Field(default=0.03, ge=0.0, le=0.3)
    """Share of shop and voucher problems that want the product of a product problem."""


class MinerParams(_Section):
    """Who takes part in a race, and how a snapshot of it arrives."""

    kinds: dict[str, float]
    """Weight of each kind of miner in the episodes; the names are those of arena/miners.py and arena/faults.py."""
    featured: float = Field(default=0.15, ge=0.0, le=1.0)
    """Share of episodes that play one of a few problems which everybody plays."""
    featured_problems: int = Field(default=12, ge=1)
    unjudged: float = Field(default=0.03, ge=0.0, le=1.0)
    """Share of episodes that no judge has seen."""
    damaged: float = Field(default=0.03, ge=0.0, le=0.5)
    """Broken lines beside the episodes, as a share of them."""


class ArenaParams(_Section):
    """The section as a whole."""

    catalog: CatalogParams
    problems: ProblemParams
    miners: MinerParams
