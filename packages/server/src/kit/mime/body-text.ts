import { TEXT_LENGTH_MAX } from '../search-text/document.ts'
import { htmlWords } from './html-text.ts'
import type { ParsedMessage } from './message-parser.ts'

/** If the HTML shows at least this many times more text than the text part, the text part is only a hint. */
const FULLER = 2

/** The text by which a message is found: its text, and the text of its HTML if that says more or there is no text. */
export function searchedText({ text, html }: Pick<ParsedMessage, 'text' | 'html'>): string {
  const plain = text?.trim().slice(0, TEXT_LENGTH_MAX) ?? ''
  if (html === null) return plain
  const shown = htmlWords(html, TEXT_LENGTH_MAX).trim()
  return shown.length > plain.length * FULLER ? `${plain}\n${shown}` : plain
}
