"""Names of WordprocessingML: which elements and attributes lay a document out and hold no text.

Knows names.  Must not know bytes or records.  What is on no list here is refused or left out.
"""

from __future__ import annotations

from enum import Enum
from typing import Final


class Role(Enum):
    """What a part of a document is for."""

    STORY = "text"
    LAYOUT = "layout part"
    SETTINGS = "settings"


RELATIONS: Final = {
    "officeDocument": ("document.main", Role.STORY),
    "header": ("header", Role.STORY),
    "footer": ("footer", Role.STORY),
    "footnotes": ("footnotes", Role.STORY),
    "endnotes": ("endnotes", Role.STORY),
    "styles": ("styles", Role.LAYOUT),
    "numbering": ("numbering", Role.LAYOUT),
    "fontTable": ("fontTable", Role.LAYOUT),
    "theme": ("theme", Role.LAYOUT),
    "settings": ("settings", Role.SETTINGS),
}
"""Kinds of relationships, the content type of the part at their end, and what that is for."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


BARRIERS: Final = _names(
    """
    tab ptab br cr noBreakHyphen sym pgNum dayLong dayShort monthLong monthShort yearLong yearShort
    footnoteReference endnoteReference footnoteRef endnoteRef separator continuationSeparator
    fldChar instrText
    """
)
"""What stands between words inside a run."""

ELEMENTS: Final = BARRIERS | _names(
    # stories, paragraphs, runs, fields
    """
    document body hdr ftr footnotes footnote endnotes endnote p r t softHyphen lastRenderedPageBreak
    proofErr hyperlink fldSimple bookmarkStart bookmarkEnd sdt sdtContent ruby rt rubyBase rubyPr
    rubyAlign hps hpsRaise hpsBaseText lid dir bdo background
    """
    # properties of paragraphs and runs
    """
    pPr pStyle keepNext keepLines pageBreakBefore framePr widowControl numPr ilvl numId
    suppressLineNumbers pBdr top left bottom right between bar start end insideH insideV shd tabs
    suppressAutoHyphens kinsoku wordWrap overflowPunct topLinePunct autoSpaceDE autoSpaceDN bidi
    adjustRightInd snapToGrid spacing ind contextualSpacing mirrorIndents suppressOverlap jc
    textDirection textAlignment textboxTightWrap outlineLvl divId cnfStyle rPr rStyle rFonts b bCs i
    iCs caps smallCaps strike dstrike outline shadow emboss imprint noProof vanish webHidden color w
    kern position sz szCs highlight u effect bdr fitText vertAlign rtl cs em lang eastAsianLayout
    specVanish oMath
    """
    # sections and tables
    """
    sectPr headerReference footerReference footnotePr endnotePr type pgSz pgMar paperSrc pgBorders
    lnNumType pgNumType cols col formProt vAlign noEndnote titlePg rtlGutter docGrid pos numFmt
    numStart numRestart tbl tblPr tblStyle tblpPr tblOverlap bidiVisual tblStyleRowBandSize
    tblStyleColBandSize tblW tblCellSpacing tblInd tblBorders tblLayout tblCellMar tblLook tblGrid
    gridCol tr trPr gridBefore gridAfter wBefore wAfter cantSplit trHeight tblHeader hidden tblPrEx
    tc tcPr tcW gridSpan hMerge vMerge tcBorders tl2br tr2bl noWrap tcMar tcFitText hideMark
    """
    # settings
    """
    settings zoom defaultTabStop characterSpacingControl compat compatSetting evenAndOddHeaders
    mirrorMargins autoHyphenation consecutiveHyphenLimit hyphenationZone doNotHyphenateCaps
    updateFields themeFontLang clrSchemeMapping decimalSymbol listSeparator proofState
    displayBackgroundShape doNotTrackMoves useFELayout bordersDoNotSurroundHeader
    bordersDoNotSurroundFooter gutterAtTop bookFoldPrinting
    drawingGridHorizontalSpacing drawingGridVerticalSpacing displayHorizontalDrawingGridEvery
    displayVerticalDrawingGridEvery
    """
)

UNWRAPPED: Final = _names("ins moveTo smartTag customXml hyperlink fldSimple")
"""Of these the content stays where they themselves cannot."""

ATTRIBUTES: Final = _names(
    """
    val id type w h left right top bottom header footer gutter orient code space sz color fill
    themeColor themeFill themeShade themeTint themeFillTint themeFillShade ascii hAnsi cs eastAsia
    asciiTheme hAnsiTheme eastAsiaTheme cstheme hint before after line lineRule beforeAutospacing
    afterAutospacing beforeLines afterLines firstLine hanging start end firstLineChars hangingChars
    leftChars rightChars startChars endChars pos leader linePitch charSpace num equalWidth sep fmt
    hRule dropCap lines wrap vAnchor hAnchor x y xAlign yAlign hSpace vSpace anchorLock leftFromText
    rightFromText topFromText bottomFromText vertAnchor horzAnchor tblpX tblpY tblpXSpec tblpYSpec
    noHBand noVBand firstRow lastRow firstColumn lastColumn oddVBand evenVBand oddHBand evenHBand
    firstRowFirstColumn firstRowLastColumn lastRowFirstColumn lastRowLastColumn fldCharType dirty
    fldLock history char font customMarkFollows clear restart chapStyle chapSep countBy distance
    offsetFrom zOrder display frame shadow alignment relativeTo percent bidi colFirst colLast
    spelling grammar uri name anchor instr bg1 t1 bg2 t2 accent1 accent2 accent3 accent4 accent5
    accent6 hyperlink followedHyperlink vert vertCompress combine combineBrackets
    """
)
"""Attributes that pass where their value is a number, a colour or one of a few words; ``name``,
``anchor`` and ``instr`` where a program wrote them."""
