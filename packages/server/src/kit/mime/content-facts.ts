import { htmlText } from './html-text.ts'
import type { ParsedMessage } from './message-parser.ts'
import { SNIPPET_LENGTH } from './snippet.ts'
import { collapseText, cutText } from './text.ts'

/** Limit of the search for the beginning of a text: blanks or a style sheet before it may be long. */
const BEGINNING_LENGTH_MAX = 1024 * 1024
/** Length of a text that usually contains a whole snippet. If it does not, four times as much is looked at, and so on. */
const FIRST_GLANCE = 800

/** Facts of the summary that only the whole message reveals. */
export interface ContentFacts {
  /** Null if the message was not read to its end and no attachment was found. */
  hasAttachments: boolean | null
  /** Empty if the message shows no text. */
  snippet: string
}

export function readContentFacts({ text, html, hasAttachments, isWhole }: ParsedMessage): ContentFacts {
  const shown =
    beginningOf(text ?? '') || htmlText(html?.slice(0, BEGINNING_LENGTH_MAX) ?? '', SNIPPET_LENGTH + 1)
  return {
    hasAttachments: isWhole || hasAttachments ? hasAttachments : null,
    snippet: cutText(shown, SNIPPET_LENGTH).trimEnd(),
  }
}

/** The text on one line, as far as a snippet needs it. */
function beginningOf(text: string): string {
  for (let length = FIRST_GLANCE; ; length *= 4) {
    const end = Math.min(length, BEGINNING_LENGTH_MAX)
    const shown = collapseText(text.slice(0, end))
    // One more than needed, since the last may be half a character.
    if (shown.length > SNIPPET_LENGTH || end >= Math.min(text.length, BEGINNING_LENGTH_MAX)) return shown
  }
}
