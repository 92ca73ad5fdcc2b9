/** What is longer is cut in the page; the saved file has it all. */
const SHOWN_CHARACTERS_MAX = 200_000

const HEADERS = [
  'X-Request-Id',
  'Content-Type',
  'RateLimit-Limit',
  'RateLimit-Remaining',
  'RateLimit-Reset',
  'Retry-After',
  'Idempotent-Replayed',
]

/** Addresses of files that were offered, by the place where they are shown. @type {WeakMap<Element, string>} */
const offered = new WeakMap()

/**
 * Shows an answer. Everything in it is text: nothing that a mail or a name holds becomes markup.
 *
 * @param {Element} place
 * @param {Response} response
 * @param {number} milliseconds
 */
export async function showAnswer(place, response, milliseconds) {
  const blob = await response.blob()
  const type = response.headers.get('content-type') ?? ''
  const disposition = response.headers.get('content-disposition')
  const isText = disposition === null && /^application\/json|^text\//.test(type)
  const status = element('p', `${response.status} ${response.statusText}`.trim(), 'status-line')
  status.dataset['kind'] = response.ok ? 'good' : 'bad'
  status.append(element('span', ` in ${Math.round(milliseconds)} ms, ${sizeOf(blob.size)}`, 'limits'))
  const shown = isText ? [bodyOf(await blob.text(), type)] : []
  const save = saveLink(place, blob, disposition === null ? 'answer.json' : fileNameIn(disposition))
  clearAnswer(place, [status, headersOf(response), ...shown, save])
  offered.set(place, save.dataset['url'] ?? '')
}

/**
 * @param {Element} place
 * @param {string} message
 */
export function showFailure(place, message) {
  const line = element('p', message, 'status-line')
  line.dataset['kind'] = 'bad'
  clearAnswer(place, [line])
}

/**
 * @param {Element} place
 * @param {Element[]} [content]
 */
export function clearAnswer(place, content = []) {
  const url = offered.get(place)
  if (url !== undefined) URL.revokeObjectURL(url)
  offered.delete(place)
  place.replaceChildren(...content)
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
  const whole = type.startsWith('application/json') ? indented(text) : text
  const isCut = whole.length > SHOWN_CHARACTERS_MAX
  const pre = element(
    'pre',
    isCut ? `${whole.slice(0, SHOWN_CHARACTERS_MAX)}\n… cut; save it to see all.` : whole,
  )
  pre.tabIndex = 0
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
 * @param {Element} place
 * @param {Blob} blob
 * @param {string} fileName
 */
function saveLink(place, blob, fileName) {
  // As octets: a browser that opened the address of HTML would run it in the origin of this page.
  const url = URL.createObjectURL(new Blob([blob], { type: 'application/octet-stream' }))
  const link = element('a', `Save ${fileName}`, 'save')
  link.href = url
  link.download = fileName
  link.dataset['url'] = url
  return link
}

/** The name as RFC 8187 has it, which the service sends beside a plain one. @param {string} disposition */
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

/**
 * @template {keyof HTMLElementTagNameMap} T
 * @param {T} name
 * @param {string} text
 * @param {string} [className]
 */
function element(name, text, className) {
  const made = document.createElement(name)
  made.textContent = text
  if (className !== undefined) made.className = className
  return made
}
