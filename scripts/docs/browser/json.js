import { element } from './elements.js'

/** Texts with more tokens than this are not coloured, so that the page stays responsive. */
const TOKENS_MAX = 30_000
/** Ids, times and codes up to this length do not break across lines. */
const UNBROKEN_CHARACTERS_MAX = 64

/** @typedef {{ kind: 'key' | 'string' | 'number' | 'word' | 'other', text: string }} Token */

const TOKENS = /("(?:[^"\\\n]|\\.)*")(\s*:)?|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?|\b(?:true|false|null)\b/g

/**
 * Splits a JSON text into tokens, in order and without gaps. Text that is not JSON is `other`.
 *
 * @param {string} text
 * @returns {Token[]}
 */
export function tokensOf(text) {
  /** @type {Token[]} */
  const tokens = []
  let end = 0
  for (const match of text.matchAll(TOKENS)) {
    const [whole, string, colon = ''] = match
    if (match.index > end) tokens.push({ kind: 'other', text: text.slice(end, match.index) })
    if (string === undefined) tokens.push({ kind: /^[tfn]/.test(whole) ? 'word' : 'number', text: whole })
    else tokens.push({ kind: colon === '' ? 'string' : 'key', text: string })
    if (colon !== '') tokens.push({ kind: 'other', text: colon })
    end = match.index + whole.length
  }
  if (end < text.length) tokens.push({ kind: 'other', text: text.slice(end) })
  return tokens
}

/** Colours the JSON in an element without changing its text. @param {Element} place */
export function colourJson(place) {
  const tokens = tokensOf(place.textContent)
  if (tokens.length > TOKENS_MAX) return
  /** The element that keeps an id on one line with its comma. @type {HTMLElement | undefined} */
  let unbroken
  const parts = tokens.map(({ kind, text }) => {
    if (kind === 'other') {
      const isJoined = unbroken !== undefined && text.startsWith(',')
      if (isJoined) unbroken?.append(',')
      unbroken = undefined
      return isJoined ? text.slice(1) : text
    }
    const span = element('span', text, `json-${kind}`)
    unbroken = kind === 'string' && isUnbroken(text) ? element('span', '', 'unbroken') : undefined
    unbroken?.append(span)
    return unbroken ?? span
  })
  place.replaceChildren(...parts)
}

/** Colours all JSON below an element that is not coloured yet. @param {ParentNode} parent */
export function colourAll(parent) {
  for (const place of parent.querySelectorAll('[data-language=json]')) {
    place.removeAttribute('data-language')
    colourJson(place)
  }
}

/** @param {string} text */
function isUnbroken(text) {
  return text.length <= UNBROKEN_CHARACTERS_MAX && !/\s/.test(text)
}
