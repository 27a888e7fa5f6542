"""HTML as markdown or text: the main part of a page, links absolute, scripts and styles gone."""

import re
import warnings
from urllib.parse import urljoin

from bs4 import BeautifulSoup, Comment, Tag, XMLParsedAsHTMLWarning
from markdownify import MarkdownConverter

DROPPED = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "canvas",
    "iframe",
    "object",
    "embed",
    "head",
    "dialog",
)
ASIDE = ("nav", "aside", "footer")
IMPLIED_END = {
    "li": ("li",),
    "p": ("p",),
    "dt": ("dt", "dd"),
    "dd": ("dt", "dd"),
    "tr": ("tr", "td", "th"),
    "td": ("td", "th"),
    "th": ("td", "th"),
}
LIFT_LIMIT = 5_000
MAIN_MIN_CHARS = 200
MAX_DEPTH = 150
_BLANK_LINES = re.compile(r"\n[ \t]*(?:\n[ \t]*){2,}")


def convert(html: str, url: str, wanted: str) -> str:
    """Give the page as "markdown" or "text", its title first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", XMLParsedAsHTMLWarning)
        soup = BeautifulSoup(html, "html.parser")
    title = " ".join(soup.title.get_text().split()) if soup.title else ""
    base = soup.find("base", href=True)
    here = urljoin(url, str(base["href"])) if isinstance(base, Tag) else url
    for comment in soup.find_all(string=lambda text: isinstance(text, Comment)):
        comment.extract()
    for tag in soup.find_all(DROPPED):
        tag.decompose()
    _close_implied(soup)
    main = _main_part(soup)
    if wanted == "text" or _is_deep(main):
        body = main.get_text("\n")
        body = "\n".join(line for line in (" ".join(line.split()) for line in body.split("\n")) if line)
        return f"{title}\n\n{body}" if title else body
    _make_absolute(main, here)
    converter = MarkdownConverter(
        heading_style="ATX", bullets="-", escape_asterisks=False, escape_underscores=False, escape_misc=False
    )
    body = _BLANK_LINES.sub("\n\n", converter.convert_soup(main)).strip()
    return f"# {title}\n\n{body}" if title and not body.startswith("# ") else body


def _close_implied(soup: BeautifulSoup) -> None:
    """Lift elements out of those that they end in HTML without an end tag, as `<li>one<li>two`."""
    tags = soup.find_all(list(IMPLIED_END))
    if len(tags) > LIFT_LIMIT:
        return  # each lift looks through its new neighbours: 20,000 of them take a minute
    for tag in tags:
        while tag.parent is not None and tag.parent.name in IMPLIED_END[tag.name]:
            tag.parent.insert_after(tag)


def _main_part(soup: BeautifulSoup) -> Tag:
    """Give what the page calls its main part if there is something in it, else the page without its margins."""
    articles = soup.find_all("article")
    candidates = [
        soup.find("main"),
        soup.find(role="main"),
        articles[0] if len(articles) == 1 else None,
    ]
    for candidate in candidates:
        if isinstance(candidate, Tag) and len(candidate.get_text(strip=True)) >= MAIN_MIN_CHARS:
            return candidate
    body = soup.body or soup
    margins = body.find_all(ASIDE)
    text = len(body.get_text(strip=True))
    if text - sum(len(margin.get_text(strip=True)) for margin in margins) >= MAIN_MIN_CHARS:
        for margin in margins:
            margin.decompose()
    return body


def _is_deep(tag: Tag) -> bool:
    """Tell whether the nesting would exhaust the converter's recursion."""
    depth = 0
    stack = [(tag, 0)]
    while stack:
        node, depth = stack.pop()
        if depth > MAX_DEPTH:
            return True
        stack.extend((child, depth + 1) for child in node.children if isinstance(child, Tag))
    return False


def _make_absolute(tag: Tag, base: str) -> None:
    for name, attribute in (("a", "href"), ("img", "src")):
        for element in tag.find_all(name):
            value = str(element.get(attribute) or "").strip()
            if not value or value.lower().startswith(("javascript:", "data:", "vbscript:")):
                del element[attribute]
                continue
            try:
                element[attribute] = urljoin(base, value)
            except ValueError:
                del element[attribute]
    for image in tag.find_all("img"):
        if not image.get("src"):
            image.decompose()
