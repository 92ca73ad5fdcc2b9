import { isAttachment, ownPartsOf, partBytes, type Part } from './mime.ts'

const SNIPPET_CHARACTERS = 200
const SOURCE_BYTES_MAX = 64 * 1024

/** The first words of a message, escaped for HTML as Gmail does. */
export function snippetOf(raw: Buffer, root: Part): string {
  const words = textOf(raw, root).replaceAll(/\s+/g, ' ').trim()
  return escapeHtml(words.length > SNIPPET_CHARACTERS ? cutAtWord(words) : words)
}

/** The text that people read: the plain part, or the HTML part without its tags. Of long parts only the beginning is read. */
export function textOf(raw: Buffer, root: Part, bytesMax = SOURCE_BYTES_MAX): string {
  const texts = [...ownPartsOf(root)].filter(part => part.parts.length === 0 && !isAttachment(part))
  const chosen =
    texts.find(part => part.mimeType === 'text/plain') ?? texts.find(part => part.mimeType === 'text/html')
  if (!chosen) return ''
  const text = partBytes(raw, chosen).subarray(0, bytesMax).toString('utf8')
  return chosen.mimeType === 'text/html' ? stripTags(text) : text
}

/** The text of HTML, without tags and with the common entities decoded. */
export function stripTags(html: string): string {
  const text = html
    .replaceAll(/<(style|script|head|title)\b[^]*?<\/\1\s*>/gi, ' ')
    .replaceAll(/<[^>]*>/g, ' ')
  const named: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: ' ' }
  return text.replaceAll(/&(#\d{1,5}|[a-z]{2,4});/gi, (whole, name: string) =>
    name.startsWith('#') ? String.fromCodePoint(Number(name.slice(1))) : (named[name.toLowerCase()] ?? whole),
  )
}

function cutAtWord(words: string): string {
  const cut = words.slice(0, SNIPPET_CHARACTERS)
  return cut.slice(0, Math.max(cut.lastIndexOf(' '), SNIPPET_CHARACTERS / 2))
}

const escapeHtml = (text: string): string =>
  text.replaceAll(
    /[&<>"']/g,
    sign => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[sign] ?? sign,
  )
