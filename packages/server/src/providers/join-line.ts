import { html } from '../kit/html.ts'
import type { RemoteEvent } from './calendars.ts'

type Body = NonNullable<RemoteEvent['body']>

/*
 * A provider that cannot hold the link to a meeting at another service shows it to people in the body of the event, on a line
 * of its own.
 */

/** A body with the link to a meeting at its end, unless it names the link already. */
export function withJoinLine({ contentType, content }: Body, url: string): Body {
  const isNamed = content.includes(url) || content.includes(String(html`${url}`))
  if (isNamed) return { contentType, content }
  const end = contentType === 'html' ? content.search(/<\/body\s*>/i) : -1
  const at = end === -1 ? content.length : end
  return { contentType, content: content.slice(0, at) + joinLine(contentType, url) + content.slice(at) }
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
