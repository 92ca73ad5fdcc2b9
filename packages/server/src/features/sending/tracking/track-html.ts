import type { LinkTokens } from '../../../kit/link-token.ts'
import type { InSlices } from '../../../kit/sliced-work.ts'
import type { Links } from '../links.ts'
import { findPlaces, findPlacesSteps, type HtmlPlaces } from './html-links.ts'

/** The parts of a message that are tracked. */
export interface Tracking {
  opens: boolean
  clicks: boolean
  /** Whether a link is added that only machines follow. */
  honeypot: boolean
}

/** The HTML as its recipients get it. */
export interface TrackedHtml {
  html: string
  /** URLs of the links that were replaced, each once. The index of a link is the index of its URL. */
  urls: string[]
}

export interface TrackHtmlOptions {
  outboxId: string
  links: Links
  /** The places of the HTML that matter, if it was read before. */
  places?: HtmlPlaces
}

/** Different URLs of one message; the links of further ones are left alone. */
export const TRACKED_URLS_MAX = 1000
/** Longer HTML is not tracked: to read it would take too long. */
export const TRACKED_HTML_LENGTH_MAX = 512 * 1024
/** The index of the link that only machines follow. */
export const HONEYPOT = 0xffff

const ID_BYTES = 16
const INDEX_BYTES = 2

/** Whether HTML can be tracked. */
export function isTrackable(html: string | null | undefined): html is string {
  return !!html && html.length <= TRACKED_HTML_LENGTH_MAX
}

/** Finds the parts of a text that matter to tracking; null for a text that is not tracked. */
export type PlacesFinder = (html: string) => Promise<HtmlPlaces | null>

/**
 * Reads texts of several messages, and each that follows itself once.
 * @param lengthMax of all texts together; text beyond it is not tracked
 */
export function placesFinder(lengthMax: number, inSlices: InSlices): PlacesFinder {
  let lengthLeft = lengthMax
  let last: { html: string; places: HtmlPlaces } | null = null
  return async html => {
    if (last?.html === html) return last.places
    if (!isTrackable(html) || html.length > lengthLeft) return null
    lengthLeft -= html.length
    const places = await inSlices(findPlacesSteps(html))
    last = { html, places }
    return places
  }
}

/**
 * Replaces the links of a message by tracked ones, and adds the image that reports opens. Only the values of `href`
 * change, and the additions are in one place; all other characters stay.
 */
export function trackHtml(
  html: string,
  tracking: Tracking,
  { outboxId, links: { base, tokens }, places = findPlaces(html) }: TrackHtmlOptions,
): TrackedHtml {
  if (!base) return { html, urls: [] }
  const { links, bodyEnd } = places
  const isOwn = (url: string) => url.startsWith(`${base.url}/u/`) || url.startsWith(`${base.url}/t/`)
  /** The link that replaces each URL, in the order of their indexes. */
  const tracked = new Map<string, string>()
  const edits: Array<{ start: number; end: number; text: string }> = []
  for (const { start, end, url } of tracking.clicks ? links : []) {
    const known = tracked.get(url)
    if (isOwn(url) || (!known && tracked.size >= TRACKED_URLS_MAX)) continue
    const text = known ?? clickUrl(outboxId, tracked.size, { base, tokens })
    tracked.set(url, text)
    edits.push({ start, end, text })
  }
  const added = addedHtml(tracking, outboxId, { base, tokens })
  const before = edits.filter(({ start }) => start < bodyEnd).length
  edits.splice(before, 0, { start: bodyEnd, end: bodyEnd, text: added })
  return { html: applyEdits(html, edits), urls: [...tracked.keys()] }
}

function applyEdits(
  text: string,
  edits: ReadonlyArray<{ start: number; end: number; text: string }>,
): string {
  const pieces: string[] = []
  let at = 0
  for (const edit of edits) {
    pieces.push(text.slice(at, edit.start), edit.text)
    at = edit.end
  }
  return pieces.join('') + text.slice(at)
}

/** Links whose address is known. */
interface Reachable {
  base: NonNullable<Links['base']>
  tokens: LinkTokens
}

function addedHtml({ opens, clicks, honeypot }: Tracking, outboxId: string, links: Reachable): string {
  const trap = `<a href="${clickUrl(outboxId, HONEYPOT, links)}" ${HIDDEN_LINK}></a>`
  const pixel = `<img src="${openUrl(outboxId, links)}" ${PIXEL}>`
  return (honeypot && clicks ? trap : '') + (opens ? pixel : '')
}

const HIDDEN_LINK = 'rel="nofollow" aria-hidden="true" tabindex="-1" style="display:none"'
const PIXEL = 'width="1" height="1" alt="" style="width:1px;height:1px;border:0"'

function openUrl(outboxId: string, { base, tokens }: Reachable): string {
  return escapeUrl(`${base.url}/t/o/${tokens.make('open', idBytes(outboxId))}.gif`)
}

function clickUrl(outboxId: string, index: number, { base, tokens }: Reachable): string {
  const content = Buffer.alloc(ID_BYTES + INDEX_BYTES)
  idBytes(outboxId).copy(content)
  content.writeUInt16BE(index, ID_BYTES)
  return escapeUrl(`${base.url}/t/c/${tokens.make('click', content)}`)
}

/** For a value with quotes or without: a URL has no white space. */
function escapeUrl(url: string): string {
  return url.replaceAll(/[&"'<>`=]/g, character => `&#${character.charCodeAt(0)};`)
}

function idBytes(id: string): Buffer {
  return Buffer.from(id.replaceAll('-', ''), 'hex')
}

/** The content of the token of a tracked link. */
export interface TrackedLink {
  outboxId: string
  /** Null for the pixel. */
  index: number | null
}

/** Reads the token of an open; null if it is none. */
export function readOpenToken(tokens: LinkTokens, token: string): TrackedLink | null {
  const content = tokens.open('open', token)
  return content?.length === ID_BYTES ? { outboxId: idOf(content), index: null } : null
}

/** Reads the token of a click; null if it is none. */
export function readClickToken(tokens: LinkTokens, token: string): TrackedLink | null {
  const content = tokens.open('click', token)
  if (content?.length !== ID_BYTES + INDEX_BYTES) return null
  return { outboxId: idOf(content), index: content.readUInt16BE(ID_BYTES) }
}

function idOf(bytes: Buffer): string {
  const hex = bytes.toString('hex', 0, ID_BYTES)
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`
}
