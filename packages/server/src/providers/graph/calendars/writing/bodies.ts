import { html, trustedText } from '../../../../kit/html.ts'
import type { RemoteEvent } from '../../../calendars.ts'

type Body = NonNullable<RemoteEvent['body']>

/** The line that Exchange puts before and after the block of a meeting. */
const LINE = /_{20,}/
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
export function withoutMeeting(body: Body | null, joinUrl: string): Body | null {
  if (!body || !names(body.content, joinUrl)) return body
  if (body.contentType === 'text') {
    const at = body.content.search(LINE)
    return { contentType: 'text', content: at === -1 ? body.content : body.content.slice(0, at).trimEnd() }
  }
  const inside = insideOf(body.content)
  const at = startOfBlock(inside)
  return at === null
    ? body
    : { contentType: 'html', content: `<html><body>${inside.slice(0, at)}</body></html>` }
}

const escaped = (text: string): string => String(html`${text}`)

const names = (content: string, url: string): boolean =>
  content.includes(url) || content.includes(escaped(url))

const insideOf = (content: string): string => INSIDE.exec(content)?.[1] ?? content

const htmlOf = (text: string): string => `<p>${escaped(text).replaceAll(/\r?\n/g, '<br>')}</p>`

function startOfBlock(inside: string): number | null {
  const line = inside.search(LINE)
  if (line === -1) return null
  const tag = inside.lastIndexOf('<', line)
  return tag === -1 ? line : tag
}

function blockOf(there: Body | null, joinUrl: string): string {
  const inside = there?.contentType === 'html' ? insideOf(there.content) : ''
  const at = startOfBlock(inside)
  const block = at === null ? '' : inside.slice(at)
  if (names(block, joinUrl)) return block
  return String(html`${trustedText('<div>')}<a href="${joinUrl}">${joinUrl}</a>${trustedText('</div>')}`)
}

function blockOfText(content: string, joinUrl: string): string {
  const at = content.search(LINE)
  const block = at === -1 ? '' : content.slice(at)
  return names(block, joinUrl) ? block : joinUrl
}
