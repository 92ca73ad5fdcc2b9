import { html, trustedText } from '../../../../kit/html.ts'
import type { RemoteEvent } from '../../../calendars.ts'

type Body = NonNullable<RemoteEvent['body']>

/** The line that Exchange puts before and after the block of a meeting. */
const LINE = /_{20,}/g
const INSIDE = /<body[^>]*>([\s\S]*)<\/body>/i

/**
 * A body that keeps the block of the online meeting which the body there has: without the block, the meeting ends
 * (learn.microsoft.com/graph/api/event-update).
 */
export function withMeeting(body: Body | null, there: Body | null, joinUrl: string): Body {
  const given = body ?? { contentType: 'html', content: '' }
  if (names(given.content, joinUrl)) return given
  if (given.contentType === 'text' && there?.contentType === 'text')
    return { contentType: 'text', content: `${given.content}\n${blockOfText(there.content, joinUrl)}` }
  const inside = given.contentType === 'text' ? htmlOf(given.content) : insideOf(given.content)
  const content = `<html><body>${inside}${blockOf(there, joinUrl)}</body></html>`
  return { contentType: 'html', content }
}

/** A body without the block of a meeting, for a copy of the event, which has a meeting of its own. */
export function withoutMeeting(body: Body, joinUrl: string): Body {
  if (!names(body.content, joinUrl)) return body
  const inside = body.contentType === 'text' ? body.content : insideOf(body.content)
  const block = findBlock(inside, joinUrl)
  if (!block) return body
  const [before, after] = [inside.slice(0, block.start), inside.slice(block.end)]
  return body.contentType === 'text'
    ? { contentType: 'text', content: `${before.trimEnd()}${after.trimEnd()}` }
    : { contentType: 'html', content: `<html><body>${before}${after}</body></html>` }
}

const escaped = (text: string): string => String(html`${text}`)

const names = (content: string, url: string): boolean =>
  content.includes(url) || content.includes(escaped(url))

const insideOf = (content: string): string => INSIDE.exec(content)?.[1] ?? content

const htmlOf = (text: string): string => `<p>${escaped(text).replaceAll(/\r?\n/g, '<br>')}</p>`

/**
 * The block around the link of a meeting: from the line before it, with the tags around that line, up to the next line with
 * its tags. Null without a line before it. Without one after it, the block has no end.
 */
function findBlock(content: string, joinUrl: string): { start: number; end: number } | null {
  const link = Math.max(content.indexOf(joinUrl), content.indexOf(escaped(joinUrl)), 0)
  const lines = [...content.matchAll(LINE)]
  const first = lines.findLast(({ index }) => index < link)
  if (!first) return null
  const last = lines.find(({ index }) => index > link)
  return {
    start: widened(content, first).start,
    end: last ? widened(content, last).end : content.length,
  }
}

/** Characters in which a tag is looked for. */
const TAG_MAX = 1_000
const OPENED = /<(?!\/)[^<>]*>\s*$/
const CLOSED = /^\s*<\/[^<>]*>/

/** The place of a line with the tags that open right before it and close right after it. */
function widened(content: string, { 0: line, index }: RegExpExecArray): { start: number; end: number } {
  let [start, end] = [index, index + line.length]
  for (;;) {
    const opened = OPENED.exec(content.slice(Math.max(0, start - TAG_MAX), start))
    const closed = CLOSED.exec(content.slice(end, end + TAG_MAX))
    if (!opened || !closed) return { start, end }
    start -= opened[0].length
    end += closed[0].length
  }
}

function blockOf(there: Body | null, joinUrl: string): string {
  const inside = there?.contentType === 'html' ? insideOf(there.content) : ''
  const block = findBlock(inside, joinUrl)
  if (block) return inside.slice(block.start, block.end)
  return String(html`${trustedText('<div>')}<a href="${joinUrl}">${joinUrl}</a>${trustedText('</div>')}`)
}

function blockOfText(content: string, joinUrl: string): string {
  const block = findBlock(content, joinUrl)
  return block ? content.slice(block.start, block.end) : joinUrl
}
