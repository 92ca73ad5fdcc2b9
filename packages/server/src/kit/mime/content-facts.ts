import { htmlText } from './html-text.ts'
import type { ParsedMessage } from './message-parser.ts'
import { SNIPPET_LENGTH } from './snippet.ts'
import { collapseText, cutText } from './text.ts'

/** Limit of the search for the beginning of a text: blanks or a style sheet before it may be long. */
const BEGINNING_LENGTH_MAX = 1024 * 1024

/** Facts of the summary that only the whole message reveals. */
export interface ContentFacts {
  /** Null if the message was not read to its end and no attachment was found. */
  hasAttachments: boolean | null
  /** Empty if the message shows no text. */
  snippet: string
}

export function readContentFacts({ text, html, hasAttachments, isWhole }: ParsedMessage): ContentFacts {
  const shown =
    collapseText(text?.slice(0, BEGINNING_LENGTH_MAX) ?? '') ||
    htmlText(html?.slice(0, BEGINNING_LENGTH_MAX) ?? '', SNIPPET_LENGTH + 1)
  return {
    hasAttachments: isWhole || hasAttachments ? hasAttachments : null,
    snippet: cutText(shown, SNIPPET_LENGTH).trimEnd(),
  }
}
