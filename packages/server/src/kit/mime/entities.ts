/*
 * Character references (HTML 4.01 section 24, and a few that mail has beyond them). Blanks become a blank, and what is not
 * seen is left out.
 */

/** Names of the characters of Latin-1 in their order, from U+00A0 on. */
const LATIN_1 = (
  'nbsp iexcl cent pound curren yen brvbar sect uml copy ordf laquo not shy reg macr deg plusmn sup2 sup3 acute ' +
  'micro para middot cedil sup1 ordm raquo frac14 frac12 frac34 iquest Agrave Aacute Acirc Atilde Auml Aring ' +
  'AElig Ccedil Egrave Eacute Ecirc Euml Igrave Iacute Icirc Iuml ETH Ntilde Ograve Oacute Ocirc Otilde Ouml ' +
  'times Oslash Ugrave Uacute Ucirc Uuml Yacute THORN szlig agrave aacute acirc atilde auml aring aelig ccedil ' +
  'egrave eacute ecirc euml igrave iacute icirc iuml eth ntilde ograve oacute ocirc otilde ouml divide oslash ' +
  'ugrave uacute ucirc uuml yacute thorn yuml'
).split(' ')
const NO_BREAK_SPACE = 0xa0

/** Other names, each followed by its character. */
const OTHERS = (
  'OElig Œ oelig œ Scaron Š scaron š Yuml Ÿ fnof ƒ circ ˆ tilde ˜ Alpha Α Beta Β Gamma Γ Delta Δ Epsilon Ε Zeta ' +
  'Ζ Eta Η Theta Θ Iota Ι Kappa Κ Lambda Λ Mu Μ Nu Ν Xi Ξ Omicron Ο Pi Π Rho Ρ Sigma Σ Tau Τ Upsilon Υ Phi Φ ' +
  'Chi Χ Psi Ψ Omega Ω alpha α beta β gamma γ delta δ epsilon ε zeta ζ eta η theta θ iota ι kappa κ lambda λ mu ' +
  'μ nu ν xi ξ omicron ο pi π rho ρ sigmaf ς sigma σ tau τ upsilon υ phi φ chi χ psi ψ omega ω thetasym ϑ upsih ' +
  'ϒ piv ϖ ndash – mdash — lsquo ‘ rsquo ’ sbquo ‚ ldquo “ rdquo ” bdquo „ dagger † Dagger ‡ bull • hellip … ' +
  'permil ‰ prime ′ Prime ″ lsaquo ‹ rsaquo › oline ‾ frasl ⁄ euro € image ℑ weierp ℘ real ℜ trade ™ alefsym ℵ ' +
  'larr ← uarr ↑ rarr → darr ↓ harr ↔ crarr ↵ lArr ⇐ uArr ⇑ rArr ⇒ dArr ⇓ hArr ⇔ forall ∀ part ∂ exist ∃ empty ' +
  '∅ nabla ∇ isin ∈ notin ∉ ni ∋ prod ∏ sum ∑ minus − lowast ∗ radic √ prop ∝ infin ∞ ang ∠ and ∧ or ∨ cap ∩ ' +
  'cup ∪ int ∫ there4 ∴ sim ∼ cong ≅ asymp ≈ ne ≠ equiv ≡ le ≤ ge ≥ sub ⊂ sup ⊃ nsub ⊄ sube ⊆ supe ⊇ oplus ⊕ ' +
  'otimes ⊗ perp ⊥ sdot ⋅ lceil ⌈ rceil ⌉ lfloor ⌊ rfloor ⌋ lang 〈 rang 〉 loz ◊ spades ♠ clubs ♣ hearts ♥ diams ' +
  "♦ apos ' check ✓ star ☆"
).split(' ')

/** Names that HTML reads without a semicolon, too, for old documents. */
const OLD = new Map<string, string>([
  ...LATIN_1.map((name, index): [string, string] => [name, String.fromCodePoint(NO_BREAK_SPACE + index)]),
  ['nbsp', ' '],
  ['shy', ''],
  ['amp', '&'],
  ['lt', '<'],
  ['gt', '>'],
  ['quot', '"'],
])
const NAMED = new Map<string, string>([
  ...OLD,
  ...OTHERS.flatMap((name, index): Array<[string, string]> =>
    index % 2 === 0 ? [[name, OTHERS[index + 1]!]] : [],
  ),
  ...['ensp', 'emsp', 'thinsp'].map((name): [string, string] => [name, ' ']),
  ...['zwnj', 'zwj', 'lrm', 'rlm'].map((name): [string, string] => [name, '']),
])

/**
 * Decodes numeric character references and the named ones that mail uses; leaves unknown ones as they are. `&copy=` stays,
 * since it is more likely to be part of a link.
 */
export function decodeEntities(text: string): string {
  if (!text.includes('&')) return text
  return text.replaceAll(
    /&(?:#(\d{1,7});?|#[xX]([0-9a-fA-F]{1,6});?|([a-zA-Z][a-zA-Z0-9]{1,9})(;|(?!=)))/g,
    (whole, decimal, hex, name, end) => {
      if (name) return (end === ';' ? NAMED : OLD).get(name) ?? whole
      const code = decimal ? Number(decimal) : Number.parseInt(hex, 16)
      // Zero, surrogates and numbers beyond Unicode have no meaning.
      return code === 0 || code > 0x10ffff || (code >= 0xd800 && code <= 0xdfff)
        ? '\ufffd'
        : String.fromCodePoint(code)
    },
  )
}
