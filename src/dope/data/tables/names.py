"""Which column means what: the names that are understood, whatever their case."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from dope.data.errors import DataError

# Of several names that are there, the first one listed is taken.
ROLES: dict[str, tuple[str, ...]] = {
    "id": ("USUBJID", "ID", "SUBJID", "SUBJECT", "SUBJECTID", "PATIENT", "PATIENTID", "PTID", "PERSON", "UNIT"),
    "time": (
        "TIME", "AFRLT", "TAFD", "NFRLT", "ARRLT", "NRRLT", "HOURS", "T", "TIMESTAMP", "DATETIME", "DEVICETIMESTAMP",
        "DEVICEDTTM",
    ),
    "value": (
        "DV", "AVAL", "CONC", "CONCENTRATION", "GL", "GLUCOSE", "GLUCOSEVALUE", "SENSORGLUCOSE", "HISTORICGLUCOSE",
        "SGV", "PCSTRESN", "VALUE", "Y",
    ),
    "amount": ("AMT", "AMOUNT"),
    "rate": ("RATE",),
    "duration": ("DUR", "DURATION", "TINF", "ADOSEDUR"),
    "interval": ("II", "TAU"),
    "additional": ("ADDL",),
    "steady": ("SS",),
    "compartment": ("CMT",),
    "event": ("EVID",),
    "missing": ("MDV",),
    "dose": ("DOSEA", "DOSE", "EXDOSE", "DOSEP"),
    "blq": ("BLQ", "BLOQ", "BQL", "BLQFL", "BLQFN", "BLQFLAG", "CENS"),
    "limit": ("LLOQ", "ALLOQ", "PCLLOQ", "LOQ", "ADLOQ"),
    "comment": ("C", "COMMENT"),
    "excluded": ("NCAXFL", "EXCLF", "EXCL", "EXCLUDE"),
    "analyte": ("PARAMCD", "DVID", "DVIDN", "YTYPE", "ANALYTE", "PARAM"),
    "value unit": ("AVALU", "DVU", "CONCU", "PCSTRESU", "DVUNIT", "DVUNITS", "CONCUNIT", "CONCUNITS", "UNITS", "UNIT"),
    "dose unit": ("AMTU", "DOSEU", "DOSEAU", "EXDOSU", "AMTUNIT", "DOSEUNIT"),
    "time unit": ("TIMEU", "FRLTU", "AFRLTU", "NFRLTU", "RRLTU", "TIMEUNIT", "TIMEUNITS"),
}  # fmt: skip

_READ = frozenset(word for role in ("id", "time", "value", "dose", "value unit", "dose unit", "time unit")
                  for word in ROLES[role])  # fmt: skip

# Time since the first dose, and the same clock's time since the latest one: their difference is when that was given.
SINCE = {"AFRLT": "ARRLT", "NFRLT": "NRRLT"}
GLUCOSE = frozenset({"GL", "GLUCOSE", "GLUCOSEVALUE", "SENSORGLUCOSE", "HISTORICGLUCOSE", "SGV"})
CDISC = frozenset({"USUBJID", "AVAL", "AFRLT", "NFRLT", "ARRLT", "NRRLT", "PARAMCD"})
OCCASIONS = ("OCC", "OCCASION", "APERIOD", "PERIOD", "ATPTREF", "AVISIT", "AVISITN", "VISIT", "VISITNUM")

# Baseline covariates by their usual names; CDISC adds BL for baseline and N for a number that codes a word.
COVARIATES = frozenset(
    {
        "WT", "WEIGHT", "BW", "BWT", "LBM", "FFM", "AGE", "PMA", "PNA", "GA", "SEX", "SEXF", "SEXM", "GENDER", "MALE",
        "FEMALE", "RACE", "ETHNIC", "HT", "HEIGHT", "BMI", "BSA", "CRCL", "CLCR", "EGFR", "GFR", "CREAT", "SCR", "ALB",
        "AST", "ALT", "BILI", "TBIL", "HCT", "SMOK", "SMOKE", "SMOKER", "GENO", "GENOTYPE", "FORM", "FED", "FOOD",
        "ROUTE", "APGR", "APGAR",
    }
)  # fmt: skip
_COUNTER = re.compile(r"^(ROWNAMES?|ROW|RECORD|REC|OBS|SEQ|ASEQ|LINE|INDEX|UNNAMED\d*)$")
# Numbers that are no property of a subject: results of an earlier analysis, times, labels of places.
_NO_COVARIATE = re.compile(
    r"^(PRED|IPRED|I?RES|C?I?WRES|NPDE?|ETA\d+|"
    r"LNDV|LDV|LOGDV|ODV|LNCONC|TAD|TSLD|[AN][FPR]RLT|NTIME|NTPD|DAY|DATE|CLOCK|"
    r"STUDY|STUDYID|SITE|SITEID|CENTER|CENTRE|DOMAIN|LANALFL|.*(DTM?|TM|DTC|FL))$"
)


def normal(name: str) -> str:
    """A column's name without case, unit, punctuation and the mark of a comment."""
    return re.sub(r"[^A-Z0-9]", "", _UNIT.sub("", name.strip().lstrip("#")).upper())


def unit_in(name: str) -> str | None:
    """The unit that a header carries: "conc (mg/L)"."""
    found = _UNIT.search(name)
    return (found[1] or found[2] or "").strip() if found else None


# in brackets; of glucose also without
_UNIT = re.compile(r"\s*[(\[]([^()\[\]]*)[)\]]\s*$|[\s_](mg/dL|mmol/L)\s*$", re.IGNORECASE)


def is_covariate(name: str) -> bool:
    """Whether it is the usual name of a baseline covariate."""
    plain = normal(name)
    return any(p in COVARIATES for p in (plain, plain.removesuffix("BL"), plain.removesuffix("N"),
                                         plain.removesuffix("BLN"), plain.removesuffix("NBL")))  # fmt: skip


def is_counter(name: str) -> bool:
    """Whether a column merely numbers the rows."""
    return bool(_COUNTER.match(normal(name)))


def cannot_be_covariate(name: str) -> bool:
    """Whether it is no property of a subject: a counter, a result, a time, or a second column for what is read."""
    plain = normal(name)
    return is_counter(name) or bool(_NO_COVARIATE.match(plain)) or plain in _READ


@dataclass(frozen=True)
class Columns:
    """The columns of a table by what they mean."""

    by_role: Mapping[str, str]
    others: tuple[str, ...]

    def __getitem__(self, role: str) -> str:
        return self.by_role[role]

    def get(self, role: str) -> str | None:
        return self.by_role.get(role)

    @property
    def since_dose(self) -> str | None:
        """The column of times since the latest dose that belongs to the column of times."""
        wanted = SINCE.get(self.plain("time"))
        return next((n for n in (*self.by_role.values(), *self.others) if normal(n) == wanted), None)

    def plain(self, role: str) -> str:
        """The name of a role's column as `ROLES` writes it, empty where there is none."""
        return normal(self.by_role.get(role, ""))


def assign(names: Iterable[str], given: Mapping[str, str | None], source: str) -> Columns:
    """Columns by role: those that are `given` (None: there is none), the others by their names."""
    names = list(names)
    strange = [role for role in given if role not in ROLES]
    if strange:
        raise DataError(f"columns knows no role {strange[0]!r}: there are {', '.join(ROLES)}.")
    by_role = {role: exactly(name, names, source) for role, name in given.items() if name is not None}
    known: dict[str, list[str]] = {}
    for name in names:
        known.setdefault(normal(name), []).append(name)
    for role, synonyms in ROLES.items():
        if role in given:
            continue
        for word in synonyms:
            found = [n for n in known.get(word, ()) if n not in by_role.values()]
            if len(found) > 1:
                raise DataError(
                    f"{source}: the columns {found[0]!r} and {found[1]!r} are both read as {word}: rename one of them."
                )
            if found:
                by_role[role] = found[0]
                break
    used = set(by_role.values())
    return Columns({role: by_role[role] for role in ROLES if role in by_role}, tuple(n for n in names if n not in used))


def exactly(name: str, names: Iterable[str], source: str) -> str:
    """The column called `name`: in these letters, else whatever their case."""
    names = list(names)
    if name in names:
        return name
    same = [n for n in names if normal(n) == normal(name)]
    if len(same) == 1:
        return same[0]
    close = difflib.get_close_matches(name, names, 1)
    hint = f" Did you mean {close[0]!r}?" if close else ""
    raise DataError(f"{source}: there is no column {name!r} among {', '.join(names)}.{hint}")


def require(columns: Columns, role: str, words: str, source: str, header: str) -> str:
    """The column of a role that every table needs."""
    found = columns.get(role)
    if found is None:
        raise DataError(
            f"{source}, {header}: no column holds {words}. Known names are {', '.join(ROLES[role])}; here are "
            f'{", ".join([*columns.by_role.values(), *columns.others])}. Name the column: {role}="...".'
        )
    return found
