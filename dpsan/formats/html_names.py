"""Names of HTML: which tags and attributes are markup, and which attributes hold no text.

Knows names.  Must not know bytes or records.  What is on no list here is text, or refused: a person
who writes ``<Gonzalez>`` or ``alt=Maria Gonzalez`` without quotes has made a tag or an attribute of
a name.
"""

from __future__ import annotations

from typing import Final


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


ELEMENTS: Final = _names(
    # HTML, also of old pages
    """
    a abbr acronym address applet area article aside audio b base basefont bdi bdo bgsound big blink
    blockquote body br button canvas caption center cite code col colgroup command content data
    datalist dd del details dfn dialog dir div dl dt element em embed fieldset figcaption figure
    font footer form frame frameset h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe image img
    input ins isindex kbd keygen label legend li link listing main map mark marquee menu menuitem
    meta meter multicol nav nextid nobr noembed noframes noscript object ol optgroup option output
    p param picture plaintext portal pre progress q rb rp rt rtc ruby s samp script search section
    select selectedcontent shadow slot small source spacer span strike strong style sub summary sup
    svg table tbody td template textarea tfoot th thead time title tr track tt u ul var video wbr
    xmp
    """
    # SVG
    """
    animate animatemotion animatetransform circle clippath defs desc ellipse feblend fecolormatrix
    fecomponenttransfer fecomposite feconvolvematrix fediffuselighting fedisplacementmap
    fedistantlight fedropshadow feflood fefunca fefuncb fefuncg fefuncr fegaussianblur feimage
    femerge femergenode femorphology feoffset fepointlight fespecularlighting fespotlight fetile
    feturbulence filter foreignobject g line lineargradient marker mask metadata mpath path pattern
    polygon polyline radialgradient rect set stop switch symbol text textpath tspan use view
    """
    # MathML
    """
    annotation annotation-xml maction math menclose merror mfenced mfrac mi mmultiscripts mn mo
    mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle msub msubsup msup mtable
    mtd mtext mtr munder munderover none semantics
    """
    # what Office puts into pages and mails
    """
    o:p o:smarttagtype o:shapedefaults o:shapelayout o:idmap o:officedocumentsettings o:allowpng
    o:pixelsperinch v:shape v:shapetype v:stroke v:formulas v:f v:path v:imagedata v:rect
    v:roundrect v:fill v:textbox v:background v:group v:line v:oval o:lock w:wrap w:anchorlock
    w:worddocument w:view w:zoom w:donotoptimizeforbrowser xml
    """
)
"""Tags that pass; those of a page's own are named by the user."""

RAW: Final = frozenset(("script", "style"))
"""Elements whose content is no text to a reader."""

TEXT_ONLY: Final = frozenset(
    ("title", "textarea", "xmp", "iframe", "noembed", "noframes", "plaintext")
)
"""Elements in which browsers read no tags; of these ``title`` and ``textarea`` have entities."""

LINKS: Final = _names(
    """
    about action archive background cite classid codebase data formaction href icon imagesrcset
    longdesc manifest ping poster profile resource src srcset usemap xlink:href
    """
)
"""Attributes that hold an address, which passes unless it is somebody's: mailto:, tel:, an @ ..."""

PICTURES: Final = frozenset(("background", "icon", "imagesrcset", "poster", "src", "srcset"))
"""Those of pictures, in which @ stands for their size."""

PASSING: Final = _names(
    """
    accept accept-charset accesskey align alink allow allowfullscreen alpha as async autocapitalize
    autocomplete autocorrect autofocus autoplay axis behavior bgcolor blocking border bordercolor
    bottommargin capture cellpadding cellspacing char charoff charset checked class clear clip
    closedby code codetype color colorspace cols colspan command commandfor compact contenteditable
    controls controlslist coords crossorigin datatype decoding declare default defer dir direction
    dirname disabled disablepictureinpicture disableremoteplayback draggable enctype enterkeyhint
    exportparts face fetchpriority for form formenctype formmethod formnovalidate formtarget frame
    frameborder framespacing headers height hidden high hreflang hspace http-equiv id imagesizes
    inert inlist
    inputmode integrity is ismap itemid itemprop itemref itemscope itemtype kind lang language
    leftmargin link list loading loop low lowsrc marginheight marginwidth max maxlength media method
    min minlength multiple muted name nohref nomodule nonce noresize noshade novalidate nowrap
    object open optimum part pattern playsinline popover popovertarget popovertargetaction prefix
    preload property readonly referrerpolicy rel required rev reversed rightmargin role rows rowspan
    rules sandbox scheme scope scrollamount scrolldelay scrolling selected shadowrootmode shape size
    sizes slot span spellcheck srclang start step style tabindex target text topmargin translate
    truespeed type typeof unselectable valign valuetype version virtualkeyboardpolicy vlink vocab
    vspace width wrap writingsuggestions xml:lang xml:space
    """
    # states of accessible elements; their labels are text
    """
    aria-activedescendant aria-atomic aria-autocomplete aria-busy aria-checked aria-colcount
    aria-colindex aria-colspan aria-controls aria-current aria-describedby aria-details
    aria-disabled aria-dropeffect aria-errormessage aria-expanded aria-flowto aria-grabbed
    aria-haspopup aria-hidden aria-invalid aria-labelledby aria-level aria-live aria-modal
    aria-multiline aria-multiselectable aria-orientation aria-owns aria-posinset aria-pressed
    aria-readonly aria-relevant aria-required aria-rowcount aria-rowindex aria-rowspan aria-selected
    aria-setsize aria-sort aria-valuemax aria-valuemin aria-valuenow
    """
    # SVG, MathML and Office
    """
    amplitude attributename attributetype azimuth basefrequency baseprofile begin bias by calcmode
    clip-path clip-rule clippathunits color-interpolation-filters cx cy d diffuseconstant divisor
    dominant-baseline dur dx dy edgemode elevation end exponent fill fill-opacity fill-rule filter
    filterunits flood-color flood-opacity font-family font-size font-style font-weight from fx fy
    gradienttransform gradientunits in in2 intercept k1 k2 k3 k4 kernelmatrix keypoints keysplines
    keytimes lengthadjust letter-spacing limitingconeangle marker-end marker-mid marker-start
    markerheight markerunits markerwidth mask maskcontentunits maskunits mode numoctaves offset
    opacity operator order orient origin overflow pathlength patterncontentunits patterntransform
    patternunits pointer-events points preservealpha preserveaspectratio primitiveunits r radius
    refx refy repeatcount repeatdur restart result rotate rx ry scale seed slope spacing
    specularconstant specularexponent spreadmethod startoffset stddeviation stitchtiles stop-color
    stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin
    stroke-miterlimit stroke-opacity stroke-width surfacescale systemlanguage tablevalues targetx
    targety text-anchor text-decoration text-rendering textlength to transform transform-origin
    values vector-effect viewbox visibility word-spacing x x1 x2 xchannelselector y y1 y2
    ychannelselector z zoomandpan
    accent accentunder columnalign columnlines columnspacing columnspan depth display displaystyle
    encoding fence form linethickness lquote lspace mathbackground mathcolor mathsize mathvariant
    maxsize minsize movablelimits notation rowalign rowlines rowspacing rquote rspace scriptlevel
    separator separators stretchy symmetric voffset xmlns xmlns:xlink xmlns:v xmlns:o xmlns:w
    xmlns:m xmlns:x xmlns:og xmlns:fb xmlns:svg
    adj coordorigin coordsize filled fillcolor o:spid o:spt o:allowincell o:allowoverlap o:button
    o:gfxdata o:connecttype o:preferrelative path stroked strokecolor strokeweight arcsize v:ext
    joinstyle aspectratio eqn gradientshapeok o:href inset
    """
)
"""Attributes whose values pass, counted; all others are text."""

ATTRIBUTES: Final = (
    PASSING
    | LINKS
    | _names(
        """
    abbr alt aria-braillelabel aria-brailleroledescription aria-description aria-label
    aria-placeholder aria-roledescription aria-valuetext caption content datetime download label
    placeholder prompt srcdoc standby summary title value
    """
    )
)
"""Attributes that HTML has; besides these there are ``data-*`` and ``on*``."""

PLAIN_META: Final = _names(
    """
    viewport robots googlebot theme-color color-scheme referrer format-detection generator progid
    content-type x-ua-compatible content-script-type content-style-type content-security-policy
    """
)
"""Names of ``<meta>`` elements whose ``content`` is for programs."""
