import { TextDecoder } from 'node:util'
import { EXCERPT_CHARACTERS_MAX } from './limits.ts'

const TEXT_TYPE =
  /^(?:text\/|application\/(?:json|xml|javascript|x-www-form-urlencoded|[^;]+\+(?:json|xml))\s*(?:;|$))/i

/** The beginning of an answer that is text, on one line and without control characters; null for anything else. */
export function excerptOf(contentType: string | undefined, content: Buffer): string | null {
  if (content.length === 0 || contentType === undefined || !TEXT_TYPE.test(contentType)) return null
  const text = decoderOf(contentType)
    // The content may be cut within a character.
    .decode(content, { stream: true })
    .replaceAll(/[\t\n\r]+/g, ' ')
    .replaceAll(/\p{Cc}/gu, '')
  return [...text].slice(0, EXCERPT_CHARACTERS_MAX).join('') || null
}

function decoderOf(contentType: string): TextDecoder {
  const [, label = 'utf-8'] = /;\s*charset="?([\w-]+)/i.exec(contentType) ?? []
  try {
    return new TextDecoder(label)
  } catch {
    return new TextDecoder()
  }
}
