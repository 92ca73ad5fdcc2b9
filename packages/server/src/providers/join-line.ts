import { html } from '../kit/html.ts'
import type { RemoteEvent } from './calendars.ts'

type Body = NonNullable<RemoteEvent['body']>

/*
 * A provider that cannot hold the link to a meeting at another service shows it to people in the body of the event, on a line
 * of its own.
 */

/** A body with a last line that leads to a meeting, unless it has the link already. */
export function withJoinLine(body: Body, url: string): Body {
  const { contentType, content } = body
  if (content.includes(url) || content.includes(String(html`${url}`))) return body
  const line = joinLine(contentType, url)
  const end = contentType === 'text' ? -1 : content.search(/<\/body\s*>/i)
  return {
    contentType,
    content: end === -1 ? content + line : content.slice(0, end) + line + content.slice(end),
  }
}

/** A body without the line that `withJoinLine` added. Null if nothing is left. */
export function withoutJoinLine({ contentType, content }: Body, url: string): Body | null {
  const left = content.replace(joinLine(contentType, url), '')
  return left.trim() === '' ? null : { contentType, content: left }
}

function joinLine(contentType: Body['contentType'], url: string): string {
  if (contentType === 'text') return `\n\nJoin: ${url}`
  return String(html`<p>Join: <a href="${url}">${url}</a></p>`)
}
