import { html } from '../kit/html.ts'
import type { RemoteEvent } from './calendars.ts'

type Body = NonNullable<RemoteEvent['body']>

/** A body with a last line that leads to a meeting, unless it has the link already. */
export function withJoinLine(body: Body, url: string): Body {
  const { contentType, content } = body
  const link = html`<a href="${url}">${url}</a>`.toString()
  if (content.includes(url) || content.includes(link)) return body
  if (contentType === 'text') return { contentType, content: `${content}\n\nJoin: ${url}` }
  const line = `<p>Join: ${link}</p>`
  const end = content.search(/<\/body\s*>/i)
  return {
    contentType,
    content: end === -1 ? content + line : content.slice(0, end) + line + content.slice(end),
  }
}
