import { createHash } from 'node:crypto'
import { type ContentLine, parameterOf } from '../../../kit/content-lines/content-line.ts'
import { unescapeText } from '../../../kit/content-lines/text-value.ts'

/** The photo of a card. The version differs whenever the photo, or its address, does. */
export type CardPhoto =
  | { type: 'none' }
  | { type: 'inline'; version: string; contentType: string | null; content: Uint8Array }
  | { type: 'url'; version: string; url: string }

const DATA = /^data:([^,;]{0,100})((?:;[^,;]{0,100}){0,10}),/i
const WEB = /^https?:\/\//i
const URL_LENGTH_MAX = 2000
const NOT_BASE64 = /[^A-Za-z0-9+/_=\s-]/
/** A shorter value is no image, unless the card calls it one. */
const BASE64_LENGTH_MIN = 100
/** Bare parameters of vCard 2.1 are types as well as encodings. */
const IMAGE_WORD = /^(?:jpe?g|png|gif|webp|bmp|tiff?|heic|avif)$/i

/** The first photo of these lines that is an image in the card, or an address of the web. */
export function readPhoto(lines: readonly ContentLine[]): CardPhoto {
  for (const line of lines) {
    const photo = readPhotoLine(line)
    if (photo.type !== 'none') return photo
  }
  return { type: 'none' }
}

function readPhotoLine(line: ContentLine): CardPhoto {
  const value = line.value.trim()
  if (DATA.test(value.slice(0, URL_LENGTH_MAX).replaceAll('\\', ''))) return readDataUrl(value)
  const url = value.length > URL_LENGTH_MAX ? '' : unescapeText(value)
  if (WEB.test(url) && URL.canParse(url)) return { type: 'url', version: versionOf('url', url), url }
  const isImage = value.length >= BASE64_LENGTH_MIN || isBase64(line)
  return isImage && !NOT_BASE64.test(value) ? toInline(value, typeOf(line)) : { type: 'none' }
}

/** RFC 2397. Some writers escape the comma and the semicolon. */
function readDataUrl(value: string): CardPhoto {
  const comma = value.indexOf(',')
  const [head = '', mediaType = '', attributes = ''] =
    DATA.exec(`${value.slice(0, comma).replaceAll('\\', '')},`) ?? []
  const data = value.slice(comma + 1)
  if (head === '' || !/;base64$/i.test(attributes.trim()) || NOT_BASE64.test(data)) return { type: 'none' }
  return toInline(data, mediaType.trim().toLowerCase() || null)
}

function toInline(base64: string, contentType: string | null): CardPhoto {
  const content = Buffer.from(base64, 'base64')
  if (content.length === 0) return { type: 'none' }
  return { type: 'inline', version: versionOf('inline', content), contentType, content }
}

function isBase64(line: ContentLine): boolean {
  return line.parameters.some(
    ({ name, values }) => (name === 'ENCODING' || name === null) && /^(?:b|base64)$/i.test(values[0] ?? ''),
  )
}

function typeOf(line: ContentLine): string | null {
  const mediaType = parameterOf(line, 'MEDIATYPE')
  if (mediaType !== null) return mediaType.trim().toLowerCase() || null
  const words = line.parameters.flatMap(({ name, values }) =>
    name === 'TYPE' || name === null ? values : [],
  )
  for (const word of words.map(each => each.toLowerCase())) {
    if (word.startsWith('image/')) return word
    if (IMAGE_WORD.test(word)) return `image/${word === 'jpg' ? 'jpeg' : word}`
  }
  return null
}

function versionOf(form: string, content: string | Buffer): string {
  return createHash('sha256').update(form).update(content).digest('base64url')
}
