import { TEXT_LENGTH_MAX } from '../search-text/document.ts'
import { htmlWords } from './html-text.ts'
import type { ParsedMessage } from './message-parser.ts'

/** Of HTML that shows so many times more than the text, the text is a mere hint. */
const FULLER = 2

/** What a message is searched by: its text, and what its HTML shows where that says more or there is no text. */
export function searchedText({ text, html }: Pick<ParsedMessage, 'text' | 'html'>): string {
  const plain = text?.trim().slice(0, TEXT_LENGTH_MAX) ?? ''
  if (html === null) return plain
  const shown = htmlWords(html, TEXT_LENGTH_MAX).trim()
  return shown.length > plain.length * FULLER ? `${plain}\n${shown}` : plain
}
