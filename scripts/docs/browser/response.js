import { element, require } from './elements.js'
import { colourJson } from './json.js'

/** Longer content is cut on the page; the saved file contains all of it. */
const SHOWN_CHARACTERS_MAX = 200_000

/** The page shows what an event stream sends within this time, then closes it. */
const STREAM_SHOWN_MS = 3000

const HEADERS = [
  'X-Request-Id',
  'Content-Type',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'Idempotent-Replayed',
]

/** URLs of the files on offer, by the element that shows them. @type {WeakMap<Element, string>} */
const offered = new WeakMap()

/**
 * Shows a response, all of it as text: nothing in a message or a name becomes markup.
 *
 * @param {HTMLFormElement} form
 * @param {Response} response
 * @param {number} milliseconds
 */
export async function showResponse(form, response, milliseconds) {
  const type = response.headers.get('content-type') ?? ''
  const blob = type.startsWith('text/event-stream') ? await beginningOf(response) : await response.blob()
  const disposition = response.headers.get('content-disposition')
  const isText = disposition === null && /^application\/json|^text\//.test(type)
  const shown = isText ? [bodyOf(await blob.text(), type)] : []
  const save = saveLink(blob, disposition === null ? 'response.json' : fileNameIn(disposition))
  const place = clearResponse(form, [element('h4', 'Response'), ...shown, save, headersOf(response)])
  offered.set(place, save.href)
  const status = `${response.status} ${response.statusText}`.trim()
  const line = showStatus(form, status, response.ok ? 'good' : 'bad')
  line.append(element('span', ` in ${Math.round(milliseconds)} ms, ${sizeOf(blob.size)}`, 'limits'))
  place.querySelector('h4')?.scrollIntoView({ block: 'nearest' })
}

/**
 * The beginning of an event stream, which has no end.
 *
 * @param {Response} response
 */
async function beginningOf({ body }) {
  const pieces = []
  const reader = body?.getReader()
  const over = setTimeout(() => reader?.cancel(), STREAM_SHOWN_MS)
  for (let piece = await reader?.read(); piece?.value; piece = await reader?.read()) pieces.push(piece.value)
  clearTimeout(over)
  return new Blob(pieces)
}

/**
 * Shows the outcome of a request beside the button; screen readers announce it.
 *
 * @param {HTMLFormElement} form
 * @param {string} message
 * @param {'good' | 'bad' | ''} [kind]
 */
export function showStatus(form, message, kind = '') {
  const line = require('.status-line', HTMLElement, form)
  line.dataset['kind'] = kind
  line.textContent = message
  return line
}

/**
 * @param {HTMLFormElement} form
 * @param {Element[]} [content]
 */
export function clearResponse(form, content = []) {
  const place = require('.response', HTMLElement, form)
  const url = offered.get(place)
  if (url !== undefined) URL.revokeObjectURL(url)
  offered.delete(place)
  place.replaceChildren(...content)
  return place
}

/** @param {Response} response */
function headersOf({ headers }) {
  const list = element('dl', '', 'headers')
  for (const name of HEADERS) {
    const value = headers.get(name)
    if (value === null) continue
    const row = element('div', '')
    row.append(element('dt', name), element('dd', value))
    list.append(row)
  }
  return list
}

/**
 * @param {string} text
 * @param {string} type
 */
function bodyOf(text, type) {
  const isJson = type.startsWith('application/json')
  const whole = isJson ? indented(text) : text
  const isCut = whole.length > SHOWN_CHARACTERS_MAX
  const shown = isCut ? `${whole.slice(0, SHOWN_CHARACTERS_MAX)}\n… cut; save it to see all.` : whole
  const pre = element('pre', shown, 'body-text')
  pre.tabIndex = 0
  pre.setAttribute('role', 'region')
  pre.setAttribute('aria-label', 'Body of the response')
  if (isJson) colourJson(pre)
  return pre
}

/** @param {string} text */
function indented(text) {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/**
 * @param {Blob} blob
 * @param {string} fileName
 */
function saveLink(blob, fileName) {
  // As plain bytes: a browser that opened the URL of an HTML blob would run it in the origin of this page.
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }))
  const link = element('a', `Save ${fileName}`, 'save')
  link.href = url
  link.download = fileName
  return link
}

/**
 * The file name in the encoding of RFC 8187, which the service sends beside a plain one. @param {string} disposition
 */
function fileNameIn(disposition) {
  const [, encoded = ''] = /filename\*=UTF-8''([^;]+)/.exec(disposition) ?? []
  try {
    return decodeURIComponent(encoded) || 'download'
  } catch {
    return 'download'
  }
}

/** @param {number} size */
function sizeOf(size) {
  return size < 10_000 ? `${size} bytes` : `${Math.round(size / 1000)} kB`
}
