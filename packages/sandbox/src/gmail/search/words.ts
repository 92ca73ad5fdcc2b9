import { addressesIn, headerOf, type Header } from '../../mail/headers.ts'
import { isAttachment, parseMessage, partsOf } from '../../mail/mime.ts'
import { textOf } from '../../mail/snippet.ts'
import type { Message } from '../mailbox/message.ts'

/** Text of a message as a search sees it, in lower case. */
export interface SearchText {
  /** Every word of headers, text and file names, each after one space. */
  words: string
  subject: string
  people: Record<'from' | 'to' | 'cc' | 'bcc' | 'deliveredto' | 'list', string>
  filenames: string[]
}

const texts = new WeakMap<Message, SearchText>()

/** The text of a message for searching; it is made once. */
export function searchTextOf(message: Message): SearchText {
  const known = texts.get(message)
  if (known) return known
  const root = parseMessage(message.raw)
  const value = (name: string): string => peopleText(root.headers, name)
  const filenames = [...partsOf(root)].filter(isAttachment).map(part => part.filename.toLowerCase())
  const subject = wordsOf(headerOf(root.headers, 'Subject'))
  const people = {
    from: value('From'),
    to: value('To'),
    cc: value('Cc'),
    bcc: value('Bcc'),
    deliveredto: value('Delivered-To'),
    list: value('List-Id'),
  }
  const text: SearchText = {
    words: [
      subject,
      people.from,
      people.to,
      people.cc,
      wordsOf(textOf(message.raw, root)),
      ...filenames.map(wordsOf),
    ].join(''),
    subject,
    people,
    filenames,
  }
  texts.set(message, text)
  return text
}

function peopleText(headers: Header[], name: string): string {
  const value = headers
    .filter(header => header.name.toLowerCase() === name.toLowerCase())
    .map(header => header.value)
    .join(' ')
  return `${wordsOf(value)} ${addressesIn(value).join(' ')} `
}

/** The words of a text in lower case and without accents, with a space before each and one at the end. */
export function wordsOf(text: string): string {
  const plain = text.normalize('NFKD').replaceAll(/\p{M}/gu, '').toLowerCase()
  const words = plain.match(/[\p{L}\p{N}_]+/gu)
  return words ? ` ${words.join(' ')} ` : ' '
}
